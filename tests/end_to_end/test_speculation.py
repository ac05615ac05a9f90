"""Pages that a browser fetches ahead take nothing from the one that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, run, until
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_chromium import picture, tab_through
from tests.end_to_end.test_https_pages import slow_pair

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
RULES = b"""<script type=speculationrules>{"prefetch": [
{"source": "list", "urls": ["/next"], "eagerness": "immediate"}]}</script>"""


@pytest.mark.parametrize("there", ["/next", "/moved"])
def test_pictures_of_a_prefetched_page_come_when_somebody_goes_there(
    there: str, tmp_path: Path
) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            FakeOrigin(tls=root.server("127.0.0.1")).running() as origin,
            slow_pair(rate=40_000, tls=root.trusted(), authority=authority) as both,
            tab_through(both, authority.spki_sha256, "--enable-http2") as tab,
        ):
            origin.serve("/", b"<!doctype html><title>here</title>" + RULES + b"<img src=/a.jpg>")
            if there != "/next":
                origin.serve("/next", b"", status=301, headers=[("location", there)])
            origin.serve(there, b"<!doctype html><title>there</title><img src=/b.jpg>")
            for name in ("/a.jpg", "/b.jpg"):
                origin.serve(name, picture(), "image/jpeg")
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            await until(lambda: origin.counts()[there])
            await until(lambda: len(both.local.runtime.view.documents) >= 2)

            def in_front(path: str) -> bool:
                view = both.local.runtime.view
                front = view.documents.get(view.front or 0)
                return front is not None and front.url == origin.base + path

            await until(lambda: in_front("/"))
            await both.connected()
            assert origin.counts()["/b.jpg"] == 0
            await tab.evaluate("void setTimeout(() => location.href = '/next', 50)")
            await until(lambda: origin.counts()["/b.jpg"])
            await becomes(tab, "document.title === 'there'")
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            await until(lambda: in_front(there))
            assert origin.counts()[there] == origin.counts()["/b.jpg"] == 1

    run(go(), timeout=60)
