"""Shows that what scripts say crosses the link in few bytes, and gets to its origin as it was."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium
from tests.end_to_end.origin import Asked
from tests.end_to_end.pair import Pair, all_three, run
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_programs_in_pages import slow

SAID = json.dumps([{"event": "shown", "path": f"/news/{n}", "at": n} for n in range(400)]).encode()


def up(both: Pair) -> int:
    """Bytes that have gone up the link, but for those that are nobody's."""
    session = both.local.uplink.session
    assert session is not None
    statistics = session.link.statistics()
    return statistics.sent - statistics.padding_sent


@pytest.mark.parametrize(
    ("kind", "coded"),
    [("application/json", True), ("text/plain", True), ("application/octet-stream", False)],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_text_goes_up_coded_and_arrives_as_it_was(kind: str, coded: bool, chunked: bool) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            got: list[tuple[bytes, str, str]] = []

            async def take(asked: Asked) -> None:
                names = ("content-length", "content-type")
                length, what = map(asked.header, names)
                got.append((await asked.body(), length, what))
                await asked.answer(b"taken", "text/plain")

            async def in_chunks() -> AsyncIterator[bytes]:
                for at in range(0, len(SAID), 1000):
                    yield SAID[at : at + 1000]

            origin.paths["/said"] = take
            before = up(both)
            answer = await both.client.get(
                origin.base + "/said",
                method="POST",
                headers=[("content-type", kind)],
                body=in_chunks() if chunked else SAID,
            )
            assert answer.body == b"taken"
            assert got == [(SAID, "" if chunked else str(len(SAID)), kind)]
            went = up(both) - before
            assert (went < len(SAID) / 4) is (coded and not chunked)

    run(go())


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
def test_a_page_s_reports_and_questions(protocol: str, tmp_path: Path) -> None:
    """By fetch and sendBeacon, and by a form whose answer is a page."""

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            got: dict[str, bytes] = {}

            async def take(asked: Asked) -> None:
                got[asked.target] = await asked.body()
                page = f"<!doctype html><title>{len(got[asked.target])}</title>".encode()
                await asked.answer(page, "text/html")

            words = "what is new, and what is not? " * 100
            page = f"""<!doctype html><title>asks</title>
            <form method=post action=/form><textarea name=a>{words}</textarea></form><script>
            const said = JSON.stringify({SAID.decode()});
            navigator.sendBeacon("/beacon", new Blob([said], {{type: "text/plain"}}));
            fetch("/fetch", {{method: "POST", body: said,
                headers: {{"content-type": "application/json"}}}}).then(async (answer) => {{
                    document.title = (await answer.text()).length > 20 && "answered"; }});
            </script>"""
            origin.serve("/page", page.encode(), "text/html")
            for path in ("/beacon", "/fetch", "/form"):
                origin.paths[path] = take
            before = up(both)
            await tab.call("Page.navigate", url=origin.base + "/page")
            await becomes(tab, "document.title === 'answered'")
            await tab.evaluate("document.forms[0].submit()")
            await becomes(tab, "/^[0-9]+$/.test(document.title)")
            assert json.loads(got["/fetch"]) == json.loads(got["/beacon"]) == json.loads(SAID)
            assert got["/form"].startswith(b"a=what+is+new%2C+and+what+is+not%3F+")
            assert await tab.evaluate("document.title") == str(len(got["/form"]))
            assert up(both) - before < sum(map(len, got.values())) / 4

    asyncio.run(asyncio.wait_for(go(), 60))
