"""Import drivers of others: what they find is checked; one that fails is not asked again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from itertools import repeat

import pytest

from plugins.switch import PluginSwitch
from remote_proxy.import_drivers.found import MAX_FOUND, BrowserTraits, Found
from remote_proxy.promises.plugged_drivers import MAX_LINKS, PluggedDrivers
from wire.skeleton import Kind, Use

PAGE = "http://page.test/a/"


class Reader:
    """Finds what it is told to."""

    name = "reader"

    def __init__(self, links: Callable[[], Iterable[object]]) -> None:
        self.links = links

    def wants(self, content_type: str) -> bool:
        return content_type == "text/html"

    def find(self, url: str, content_type: str, data: bytes) -> Iterable[object]:
        return self.links()


def read(links: Callable[[], Iterable[object]], *, timeout: float = 2.0) -> tuple[list[Found], str]:
    """What is found in a page, and why the driver is off."""
    found: list[Found] = []

    async def go() -> str:
        over = asyncio.Event()
        switch = PluginSwitch("reader", tell=lambda *told: over.set(), clock=time.thread_time)
        drivers = PluggedDrivers([(Reader(links), switch)], timeout=timeout)  # type: ignore[list-item]
        assert drivers.wants("text/html")
        assert not drivers.wants("text/css")

        def add(finds: list[Found]) -> None:
            found.extend(finds)
            over.set()

        browser = BrowserTraits()
        drivers.read(PAGE, "text/html", b"", browser=browser, whose="phone", found=add)
        async with asyncio.timeout(60.0):
            await over.wait()
        await drivers.close()
        return switch.why_off

    return found, asyncio.run(go())


def test_addresses_become_finds_behind_all_others() -> None:
    found, why = read(lambda: [("b.jpg", "image"), ("ftp://x/", "image"), ("/s.css", "style")])
    assert why == ""
    assert [(one.url, one.kind, one.use, one.order) for one in found] == [
        ("http://page.test/a/b.jpg", Kind.IMAGE, Use.ELEMENT, MAX_FOUND),
        ("http://page.test/s.css", Kind.STYLE, Use.BLOCKING, MAX_FOUND + 2),
    ]
    assert found[0].accept.startswith("image/")


def test_one_that_never_stops_finding_is_cut_short() -> None:
    found, why = read(lambda: repeat(("b.jpg", "image")))
    assert len(found) == MAX_LINKS
    assert why == ""


@pytest.mark.parametrize(
    ("links", "why"),
    [
        (lambda: ["b"], "'b' is not (address, kind)"),
        (lambda: [("b.jpg", "film")], "kinds are image, style"),
        (lambda: [(3, "image")], "kinds are"),
        (lambda: [("b.jpg", ["image"])], "TypeError"),
        (lambda: 3, "TypeError"),
        (lambda: [1 / 0], "ZeroDivisionError"),
    ],
)
def test_nonsense_switches_it_off(links: Callable[[], Iterable[object]], why: str) -> None:
    found, told = read(links)
    assert found == []
    assert why in told


def test_one_that_dawdles_is_switched_off() -> None:
    def links() -> Iterable[object]:
        time.sleep(0.3)
        return [("b.jpg", "image")]

    assert read(links, timeout=0.05) == ([], "Nonsense: more than 0.05 s")
