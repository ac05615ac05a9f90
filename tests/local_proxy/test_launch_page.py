"""Tests of the page at which a previewed document is opened in a program of this device."""

from __future__ import annotations

import asyncio
import re

import pytest

from local_proxy.export_drivers.preview.launch_page import (
    MAX_BODY,
    MAX_RUNNING,
    MAX_SECRETS,
    PATH,
    Launching,
)
from local_proxy.http.model import Request, Response
from tests.local_proxy.export_world import stream, turns
from tests.watched import run, until
from wire.fields import header

OWN = "http://sluice.local"
HERE = ("127.0.0.1", 8118)
URL = "https://a.test/<deck>.pptx"


class Launched:
    """The page of documents whose keys begin with k, and the programs that it has started."""

    def __init__(self, script: str = "exec sleep 60") -> None:
        self.script = script
        self.started: list[str] = []
        self.programs: list[asyncio.subprocess.Process] = []
        self.error: OSError | None = None
        self.page = Launching(
            lambda key: (URL, "<deck>.pptx") if key.startswith("k") else None, self.start
        )

    async def start(self, url: str) -> asyncio.subprocess.Process:
        if self.error is not None:
            raise self.error
        self.started.append(url)
        program = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", self.script),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self.programs.append(program)
        return program

    async def get(self, key: str = "k", reached: tuple[str, int] | None = HERE) -> Response:
        return await self.page.handle(Request("GET", OWN + PATH + key, [], reached=reached))

    async def press(
        self, secret: str, *fields: tuple[str, str], key: str = "k", origin: str = OWN
    ) -> Response:
        body = stream(f"secret={secret}".encode())
        said = [("origin", origin), *fields]
        request = Request("POST", OWN + PATH + key, said, body=body, reached=HERE)
        return await self.page.handle(request)

    async def open(self, key: str = "k") -> Response:
        """As a person does it."""
        return await self.press(secret_of(await self.get(key)), key=key)

    async def until(self, title: str, key: str = "k") -> str:
        """The page, once it says that."""
        async with asyncio.timeout(60):
            while title not in (text := text_of(await self.get(key))):  # noqa: ASYNC110 - a page
                await asyncio.sleep(0.005)
        return text

    async def close(self) -> None:
        self.page.close()
        await until(lambda: all(one.returncode is not None for one in self.programs), seconds=60.0)
        await turns()


def text_of(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


def secret_of(response: Response) -> str:
    found = re.search(r'name=secret value="([^"]+)"', text_of(response))
    assert found is not None
    return found[1]


def test_a_person_is_asked_before_anything_is_started() -> None:
    async def main() -> None:
        at = Launched()
        page = await at.get()
        assert page.status == 200
        assert "Open &lt;deck&gt;.pptx?" in text_of(page)
        assert "<b>a.test</b>" in text_of(page)
        assert header(page.headers, "x-frame-options") == "DENY"
        assert "frame-ancestors 'none'" in header(page.headers, "content-security-policy")
        assert at.started == []

    run(main())


def test_only_browsers_of_this_device_are_heard_and_only_of_open_previews() -> None:
    async def main() -> None:
        at = Launched()
        assert (await at.get(reached=("192.0.2.1", 8118))).status == 403
        assert (await at.get(reached=None)).status == 403
        assert (await at.get("other")).status == 404

    run(main())


def test_the_button_is_good_once_and_for_its_page_alone() -> None:
    async def main() -> None:
        at = Launched("exit 0")
        secret = secret_of(await at.get())
        for answer in (
            await at.press("wrong"),
            await at.press(""),
            await at.press(secret, key="k2"),
            await at.press(secret, origin="http://evil.test"),
            await at.press(secret, ("sec-fetch-site", "cross-site")),
            await at.press(secret + "&x=" + "x" * MAX_BODY),
        ):
            assert answer.status == 403
        assert at.started == []
        opened = await at.press(secret, ("sec-fetch-site", "same-origin"))
        assert (opened.status, header(opened.headers, "location")) == (303, PATH + "k")
        assert at.started == [URL]
        await at.until("It has ended")
        assert (await at.press(secret)).status == 403
        await at.close()

    run(main())


def test_a_newer_page_takes_the_button_from_the_one_before() -> None:
    async def main() -> None:
        at = Launched("exit 0")
        first, second = secret_of(await at.get()), secret_of(await at.get())
        assert (await at.press(first)).status == 403
        assert (await at.press(second)).status == 303
        await at.close()

    run(main())


def test_buttons_of_pages_long_ago_are_forgotten() -> None:
    async def main() -> None:
        at = Launched("exit 0")
        first = secret_of(await at.get("k0"))
        for number in range(1, MAX_SECRETS + 1):
            last = secret_of(await at.get(f"k{number}"))
        assert (await at.press(first, key="k0")).status == 403
        assert (await at.press(last, key=f"k{MAX_SECRETS}")).status == 303
        await at.close()

    run(main())


@pytest.mark.parametrize(
    ("script", "title"),
    [
        ("echo 'no <screen>'; exit 3", "It could not be opened"),
        ("echo 'no <screen>'", "It has ended"),
    ],
)
def test_the_page_says_what_has_come_of_it(script: str, title: str) -> None:
    async def main() -> None:
        at = Launched(script)
        await at.open()
        text = await at.until(title)
        assert "no &lt;screen&gt;" in text
        assert "refresh" not in text
        await at.close()

    run(main())


def test_a_program_that_runs_is_shown_and_not_started_again() -> None:
    async def main() -> None:
        at = Launched()
        await at.open()
        running = text_of(await at.get())
        assert "It is opening" in running
        assert "refresh" in running
        assert (await at.press("anything")).status == 200
        assert len(at.started) == 1
        await at.close()
        assert at.programs[0].returncode != 0  # it ends with the proxy

    run(main())


def test_so_many_programs_run_and_no_more() -> None:
    async def main() -> None:
        at = Launched()
        for number in range(MAX_RUNNING):
            assert (await at.open(f"k{number}")).status == 303
        assert (await at.open("k")).status == 503
        at.programs[0].kill()
        await at.until("It could not be opened", "k0")
        assert (await at.open("k")).status == 303
        await at.close()

    run(main())


def test_a_program_that_can_not_be_started_is_said() -> None:
    async def main() -> None:
        at = Launched()
        at.error = OSError(8, "Exec format error")
        answer = await at.open()
        assert answer.status == 500
        assert "Exec format error" in text_of(answer)

    run(main())
