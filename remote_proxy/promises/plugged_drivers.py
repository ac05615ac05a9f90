"""PluggedDrivers: import drivers of others, which find in a page what the built-in ones don't.

One has a `name` and two methods (PageReader below). It is given a page when all of it is here, on a
thread of its own, so that neither the page nor anybody else waits for it; what it finds goes
through the same rules as all finds (prefetch.py, protections.py). Where it raises, dawdles or
returns nonsense the page stays as it is, and it is asked no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Final, Protocol, runtime_checkable

from plugins.switch import Nonsense, PluginSwitch
from remote_proxy.import_drivers.found import MAX_FOUND, BrowserTraits, Found
from remote_proxy.import_drivers.urls import resolve
from transcoders.work.workers import Busy, Workers
from wire.skeleton import Kind, Use

TIMEOUT: Final = 2.0
"""Seconds for one page; later the browser has asked for its parts itself."""
WAITING: Final = 16
"""Pages of one device in line."""
MAX_LINKS: Final = 256
"""Finds of one page: as many as are promised (prefetch.py)."""
USES: Final = {
    "image": (Kind.IMAGE, Use.ELEMENT),
    "style": (Kind.STYLE, Use.BLOCKING),
    "script": (Kind.SCRIPT, Use.DEFERRED),
    "font": (Kind.FONT, Use.OTHER),
    "other": (Kind.OTHER, Use.OTHER),
}
"""What a driver may call a find, and what that is taken for."""


@runtime_checkable
class PageReader(Protocol):
    """What a plug-in's import driver is."""

    name: str

    def wants(self, content_type: str) -> bool:
        """Whether documents of that type are for it."""

    def find(self, url: str, content_type: str, data: bytes) -> Iterable[tuple[str, str]]:
        """What a browser will ask for: (address, kind), kinds as in USES, in document order."""


class PluggedDrivers:
    """All of one proxy, in the order of its settings; used from one event loop."""

    def __init__(
        self,
        readers: Sequence[tuple[PageReader, PluginSwitch]] = (),
        *,
        timeout: float = TIMEOUT,
    ) -> None:
        """`timeout`: seconds for one page."""
        self._readers = readers
        self._timeout = timeout
        self._workers = Workers(workers=1, waiting=WAITING, name="drivers")
        self._under_way: set[asyncio.Task[None]] = set()

    def wants(self, content_type: str) -> bool:
        """Whether one of them reads documents of that type."""
        return any(self._asked(content_type))

    def read(
        self,
        url: str,
        content_type: str,
        data: bytes,
        *,
        browser: BrowserTraits,
        whose: str,
        found: Callable[[list[Found]], None],
    ) -> None:
        """Begin to read a page; `found` is told later what is in it, if anything."""
        for reader, switch in self._asked(content_type):
            job = partial(reader.find, url, content_type, data)
            task = asyncio.ensure_future(
                self._read(job, switch, url=url, browser=browser, whose=whose, found=found)
            )
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """End what is under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._workers.close()

    async def _read(
        self,
        job: Callable[[], Iterable[tuple[str, str]]],
        switch: PluginSwitch,
        *,
        url: str,
        browser: BrowserTraits,
        whose: str,
        found: Callable[[list[Found]], None],
    ) -> None:
        try:
            async with self._workers.slot(whose) as slot:
                async with asyncio.timeout(self._timeout):
                    links = await slot.call(lambda: list(islice(job(), MAX_LINKS)))
            finds = _finds(links, url, browser)
        except Busy:
            return
        except Exception as error:
            late = isinstance(error, TimeoutError)
            switch.switch_off(Nonsense(f"more than {self._timeout:g} s") if late else error)
            return
        if finds:
            found(finds)

    def _asked(self, content_type: str) -> list[tuple[PageReader, PluginSwitch]]:
        return [
            (reader, switch)
            for reader, switch in self._readers
            if switch.ask(partial(reader.wants, content_type), otherwise=False) is True
        ]


def _finds(links: list[tuple[str, str]], base: str, browser: BrowserTraits) -> list[Found]:
    """The links as finds, behind all that the built-in drivers find. Raises Nonsense."""
    finds = []
    for n, link in enumerate(links):
        if not isinstance(link, list | tuple) or len(link) != len(("address", "kind")):
            raise Nonsense(f"{link!r:.100} is not (address, kind)")
        address, kind = link
        if not isinstance(address, str) or kind not in USES:
            raise Nonsense(f"{link!r:.100}: kinds are {', '.join(USES)}")
        url = resolve(base, address)
        if url is not None:
            what, use = USES[kind]
            accept = browser.accept_for(what, use)
            finds.append(Found(url, what, use, MAX_FOUND + n, accept=accept))
    return finds
