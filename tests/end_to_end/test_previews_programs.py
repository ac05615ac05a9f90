"""From a preview into an office program: by the proxy's own page alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from local_proxy.export_drivers.preview import launch_page
from tests.end_to_end.client import Answer
from tests.end_to_end.pair import (
    Pair,
    all_three,
    run,
    until,
)
from tests.end_to_end.preview_windows import base_of, served
from tests.office_files import DECK

OPENER = "http://sluice.local" + launch_page.PATH


@asynccontextmanager
async def pressing(both: Pair, key: str, body: bytes, **fields: str) -> AsyncIterator[Answer]:
    headers = [(name.replace("_", "-"), value) for name, value in fields.items()]
    async with both.client.open(OPENER + key, headers, method="POST", body=body) as answer:
        yield answer


def test_a_document_opens_in_a_program_by_the_proxy_s_own_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Downloads").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))

    async def main() -> None:
        async with all_three() as (origin, both):
            page = await both.browser.navigate(served(origin))
            key = base_of(page).split("/")[-2]
            assert (OPENER + key).encode() in page.body
            question = await both.client.get(OPENER + key)
            assert "frame-ancestors 'none'" in question.header("content-security-policy")
            assert question.header("access-control-allow-origin") == ""
            found = re.search(rb'name=secret value="([^"]+)"', question.body)
            assert found
            body = b"secret=" + found[1]
            own = "http://sluice.local"
            for wrong, fields in (
                (b"", {"origin": own}),
                (b"secret=" + b"x" * 32, {"origin": own}),
                (body, {"origin": origin.base}),
                (body, {"origin": "null"}),
                (body, {}),
                (body, {"origin": own, "sec_fetch_site": "cross-site"}),
            ):
                async with pressing(both, key, wrong, **fields) as answer:
                    assert answer.status == 403
            assert not both.local.launching.running
            async with pressing(both, key, body, origin=own) as answer:
                assert answer.status == 303
                assert answer.header("location") == launch_page.PATH + key
            started = both.local.launching.running[key]
            await until(lambda: started.code is not None)
            state = await both.client.get(OPENER + key)
            assert started.code == 0, started.lines
            assert b"kept as deck.pptx" in state.body
            assert (tmp_path / "Downloads" / "deck.pptx").read_bytes() == DECK
            async with pressing(both, key, body, origin=own) as answer:  # it was good once
                assert answer.status == 403

    run(main(), timeout=40)


def test_a_program_that_fails_says_why() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            page = await both.browser.navigate(served(origin))
            key = base_of(page).split("/")[-2]

            async def start(url: str) -> asyncio.subprocess.Process:
                return await asyncio.create_subprocess_exec(
                    *("sh", "-c", "echo no office suite; exit 3"),
                    stdout=asyncio.subprocess.PIPE,
                )

            both.local.launching.start = start
            question = await both.client.get(OPENER + key)
            found = re.search(rb'name=secret value="([^"]+)"', question.body)
            assert found
            body = b"secret=" + found[1]
            async with pressing(both, key, body, origin="http://sluice.local") as answer:
                assert answer.status == 303
            await until(lambda: both.local.launching.running[key].code == 3)
            state = await both.client.get(OPENER + key)
            assert b"could not be opened" in state.body
            assert b"no office suite" in state.body
            assert (await both.client.get(OPENER + "x" * 32)).status == 404

    run(main())
