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


def test_pictures_of_a_prefetched_page_come_when_somebody_goes_there(tmp_path: Path) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            FakeOrigin(tls=root.server("127.0.0.1")).running() as origin,
            slow_pair(rate=40_000, tls=root.trusted(), authority=authority) as both,
            tab_through(both, authority.spki_sha256, "--enable-http2") as tab,
        ):
            origin.serve("/", b"<!doctype html><title>here</title>" + RULES + b"<img src=/a.jpg>")
            origin.serve("/next", b"<!doctype html><title>there</title><img src=/b.jpg>")
            for name in ("/a.jpg", "/b.jpg"):
                origin.serve(name, picture(), "image/jpeg")
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            await until(lambda: origin.counts()["/next"])
            view = both.local.runtime.view
            await until(lambda: len(view.documents) == 2)
            here = next(one for one in view.documents.values() if one.url == origin.base + "/")
            assert view.front == here.id
            await both.connected()
            assert origin.counts()["/b.jpg"] == 0
            await tab.evaluate("void setTimeout(() => location.href = '/next', 50)")
            await until(lambda: origin.counts()["/b.jpg"])
            await becomes(tab, "document.title === 'there'")
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            assert origin.counts()["/next"] == origin.counts()["/b.jpg"] == 1

    run(go(), timeout=60)
