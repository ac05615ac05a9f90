"""Windows: each browser's last one, of as many browsers as there may be."""

from __future__ import annotations

from local_proxy.http.model import Request
from local_proxy.promises.browser_caches import BrowserCaches
from local_proxy.promises.windows import MAX_CLIENTS, Windows
from wire.continuation import Kept, Window

PHONE, WIDE = Window(390, 800, 300), Window(2560, 1300, 100)


def test_the_last_window_of_each_browser_is_known() -> None:
    windows = Windows()
    windows.seen("phone", WIDE)
    windows.seen("desk", WIDE)
    windows.seen("phone", PHONE)
    assert (windows.of("phone"), windows.of("desk"), windows.of("")) == (PHONE, WIDE, None)


def test_those_that_were_seen_last_stay() -> None:
    windows = Windows()
    windows.seen("mine", PHONE)
    for number in range(MAX_CLIENTS - 1):
        windows.seen(str(number), WIDE)
    windows.seen("mine", WIDE)
    windows.seen("one more", WIDE)
    assert windows.of("mine") == WIDE
    assert windows.of("0") is None


def test_a_document_is_asked_for_with_its_browsers_window_also_where_nothing_is_kept() -> None:
    caches = BrowserCaches()
    for document, more in ((1, []), (2, [("cache-control", "no-cache")])):
        asks = Request("GET", "http://a.test/", [("user-agent", "phone"), *more])
        caches.open(document, asks, site="a.test")
        assert caches.names(document, now=0.0) is None
    caches.windows.seen("phone", PHONE)
    for document in (1, 2):
        assert caches.names(document, now=0.0) == Kept(window=PHONE)
