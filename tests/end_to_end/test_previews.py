"""Links to office files: a preview for a window, the origin's bytes for everybody else."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.export_drivers.preview import launch_page, previews
from tests.end_to_end.client import Browser
from tests.end_to_end.pair import (
    PLAIN,
    all_three,
    run,
    slow_three,
    until,
)
from tests.end_to_end.preview_windows import TYPE, base_of, events, served, shown
from tests.office_files import DECK, FILES, LARGE

OPENER = "http://sluice.local" + launch_page.PATH


def test_a_window_gets_a_preview_that_fills_in_and_the_file_beside_it() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            url = served(origin, headers=[("set-cookie", "id=1"), ("content-security-policy", "x")])
            headers = [*Browser.navigation(), ("cookie", "who=me"), ("authorization", "Basic eA==")]
            page = await both.client.get(url, headers)
            assert page.status == 200
            assert page.header("content-type") == "text/html; charset=utf-8"
            assert page.header("cache-control") == "no-store"
            assert not page.header("set-cookie")
            policy = page.header("content-security-policy")
            assert policy.startswith("default-src 'none'; script-src 'nonce-")
            assert "sandbox allow-scripts" in policy
            assert "allow-same-origin" not in policy
            address = origin.base + base_of(page)
            pages, pictures, word = await shown(both, address)
            assert "First of three slides" in pages[1]
            assert sorted(pages) == [1, 2, 3]
            assert pictures == {0: "full", 1: "full"}
            assert word == "complete, 44 kB"
            picture = await both.client.get(address + "picture?m=0&l=full")
            assert picture.header("content-type") == "image/png"
            assert "sandbox" in picture.header("content-security-policy")
            file = await both.client.get(address + "file")
            assert file.body == DECK
            assert file.header("content-length") == str(len(DECK))
            assert file.header("content-type") == TYPE
            assert file.header("content-disposition") == "attachment; filename*=UTF-8''deck.pptx"
            (asked,) = origin.asked
            assert asked.header("cookie") == "who=me"
            assert asked.header("authorization") == "Basic eA=="

    run(main())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_kind_has_a_preview(path: Path) -> None:
    data = path.read_bytes()

    async def main() -> None:
        async with all_three() as (origin, both):
            origin.serve(f"/{path.name}", data, "application/octet-stream")
            page = await both.browser.navigate(f"{origin.base}/{path.name}")
            pages, _, word = await shown(both, origin.base + base_of(page))
            assert all(pages.values())
            assert word.startswith("complete")

    run(main())


def test_text_is_shown_before_the_file_is_here() -> None:
    async def main() -> None:
        async with slow_three() as (origin, _, both):
            page = await both.browser.navigate(served(origin, LARGE))
            async with asyncio.timeout(60):
                async for said in events(both, origin.base + base_of(page)):
                    if said.get("p") == 1:
                        assert "First of three slides" in said["h"]
                        break
            (showing,) = both.local.previews.showings
            assert showing.incoming.received < len(LARGE) // 4
            assert not showing.incoming.complete

    run(main())


SECURE = [("sec-fetch-mode", "navigate"), ("accept", "text/html"), ("user-agent", "Chrome/1")]


@pytest.mark.parametrize(
    "fields",
    [
        PLAIN,
        [*SECURE, ("sec-fetch-dest", "iframe")],
        [*SECURE[1:], ("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")],
        [*SECURE, ("sec-fetch-dest", "document"), ("cache-control", "no-transform")],
        [*SECURE, ("sec-fetch-dest", "document"), ("sec-purpose", "prefetch")],
        [*SECURE, ("sec-fetch-dest", "document"), ("range", "bytes=0-")],
        [("accept", "text/html"), ("user-agent", "Chrome/1")],
        [
            *[("sec-fetch-mode", "navigate"), ("accept", "text/html"), ("user-agent", "Firefox/9")],
            *[("sec-fetch-dest", "document"), ("sec-fetch-site", "same-origin")],
        ],
    ],
)
def test_who_wants_the_file_gets_the_file(fields: list[tuple[str, str]]) -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            answer = await both.client.get(served(origin), fields)
            assert answer.body == DECK
            assert answer.header("content-type") == TYPE
            assert not len(both.local.previews)

    run(main())


@pytest.mark.parametrize(
    ("headers", "settings"),
    [
        ([("content-disposition", 'attachment; filename="a.pptx"')], {}),
        ([("cache-control", "no-transform")], {}),
        ([], {"sites": {"127.0.0.1": "original"}}),
    ],
)
def test_what_is_no_preview(headers: list[tuple[str, str]], settings: dict[str, Any]) -> None:
    async def main() -> None:
        async with all_three(**settings) as (origin, both):
            answer = await both.browser.navigate(served(origin, headers=headers))
            assert answer.body == DECK
            assert not len(both.local.previews)
            assert len(origin.asked) == 1

    run(main())


def test_what_can_not_be_read_is_the_file() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            for data in (b"no zip", DECK[:-30], b"", DECK + b"x"):
                answer = await both.browser.navigate(served(origin, data))
                assert answer.body == data
            origin.serve("/deck.pptx", b"<p>log in</p>", "text/html")
            answer = await both.browser.navigate(origin.base + "/deck.pptx")
            assert b"log in" in answer.body

    run(main())


def test_where_a_document_can_not_be_kept_the_file_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> str:
        raise OSError("no space left on device")

    async def main() -> None:
        async with all_three() as (origin, both):
            monkeypatch.setattr(tempfile, "mkdtemp", full)
            answer = await both.browser.navigate(served(origin))
            assert answer.body == DECK

    run(main())


def test_after_a_failure_the_file_is_asked_for_as_it_is() -> None:
    async def main() -> None:
        async with slow_three() as (origin, _, both):
            page = await both.browser.navigate(served(origin, LARGE))
            (showing,) = both.local.previews.showings
            showing.incoming.give_up("the disk is full")
            served(origin)
            address = origin.base + base_of(page)
            _, _, word = await shown(both, address)
            assert "the disk is full" in word
            file = await both.client.get(address + "file")
            assert file.body == DECK
            assert file.header("content-disposition").startswith("attachment")

    run(main(), timeout=40)


def test_a_window_that_has_gone_stops_its_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "GRACE", 0.1)

    async def main() -> None:
        async with slow_three() as (origin, remote, both):
            page = await both.browser.navigate(served(origin, LARGE))
            async for said in events(both, origin.base + base_of(page)):
                if "p" in said:
                    break
            await until(lambda: not len(both.local.previews))
            await until(lambda: not remote.sessions[0].statistics().documents)
            gone = await both.client.get(origin.base + base_of(page) + "file")
            assert gone.status == 404
            monkeypatch.setattr(previews, "FIRST", 0.2)
            await both.browser.navigate(origin.base + "/deck.pptx")  # whose channel never comes
            await until(lambda: not len(both.local.previews))

    run(main())


def test_who_leaves_before_there_is_a_page_leaves_nothing_behind() -> None:
    async def main() -> None:
        async with slow_three() as (origin, remote, both):
            going = asyncio.ensure_future(both.browser.navigate(served(origin, LARGE)))
            await until(lambda: origin.asked)
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)
            await until(lambda: not remote.sessions[0].statistics().held)
            assert not len(both.local.previews)
            assert not len(both.local.packages)

    run(main())


def test_only_the_preview_itself_is_answered() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            page = await both.browser.navigate(served(origin))
            base = base_of(page)
            key = base.split("/")[-2]
            client = both.client
            other = base.replace(key, "x" * 32)
            for url in (
                origin.base + other + "file",
                f"http://example.org{base}file",
                origin.base + base + "other",
            ):
                assert (await client.get(url)).status == 404
            (showing,) = both.local.previews.showings
            await until(lambda: showing.incoming.complete)
            assert (await client.get(origin.base + base + "picture?m=0&l=full")).status == 200
            for query in ("", "?m=-1&l=low", "?m=9&l=full", "?m=x", "?m=0&l=", "?m=" + "9" * 50):
                assert (await client.get(origin.base + base + "picture" + query)).status == 404
            for body, status in (
                (b'{"p":2,"m":[0,99,-1]}', 204),
                (b'{"p":-5}', 204),
                (b"{}", 400),
                (b"x" * 9000, 413),
            ):
                async with client.open(
                    origin.base + base + "focus", method="POST", body=body
                ) as answer:
                    assert answer.status == status

    run(main())


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
def test_curl_gets_the_file() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            proxy = "http://{}:{}".format(*both.address)
            process = await asyncio.create_subprocess_exec(
                *("curl", "-sx", proxy, "--noproxy", "", served(origin)),
                stdout=asyncio.subprocess.PIPE,
            )
            out, _ = await process.communicate()
            assert out == DECK

    run(main())


def test_the_rest_comes_after_the_remote_has_restarted() -> None:
    async def main() -> None:
        async with slow_three(patience=20.0) as (origin, remote, both):
            page = await both.browser.navigate(served(origin))
            (showing,) = both.local.previews.showings
            incoming: IncomingDocument = showing.incoming
            await until(lambda: incoming.received > 20_000)
            await remote.stop()
            await remote.start()
            file = await both.client.get(origin.base + base_of(page) + "file")
            assert file.body == DECK

    run(main(), timeout=60)
