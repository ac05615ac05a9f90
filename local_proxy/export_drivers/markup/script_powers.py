"""Knows of which pages scripts can read the pixels of pictures, or answer for the network.

Where they can, a picture must not say that it has loaded before it is all there, and no answer of
ours may be what a service worker puts away. What a script can do is told by the names that it must
use (web/script_names.py); they are looked for in all texts of a page as they come, before a browser
runs them. Of scripts that the markup names the remote proxy tells, which has them sooner; a page's
pictures wait for that, briefly. An origin
whose scripts have shown it is remembered, for they may be in the browser's cache the next time.
Source: Service Workers.

Must not know: how a picture is answered, what a page shows.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from local_proxy.http.model import split_url
from local_proxy.link.components import Component
from web.script_names import READERS
from wire.fields import header
from wire.skeleton import Kind

FETCHERS: Final = (b'"fetch"', b"'fetch'", b"`fetch`", b"onfetch", b"addRoutes", b"import")
"""What a service worker that answers requests has at least one of."""
MAX_ORIGINS: Final = 2048
"""Origins remembered of each kind, the latest."""
MAX_EXPECTED: Final = 64
"""Scripts of service workers that are on their way."""
_OVERLAP: Final = max(map(len, (*READERS, *FETCHERS))) - 1


def are_of_markup(component: Component) -> bool:
    """Whether scripts of a page come in this: it is the page, or a script that its markup names."""
    if component.id == component.document:
        return component.head is not None and _runs(component)
    return component.kind is Kind.SCRIPT and component.promised


class _Latest:
    """A set that forgets what was added long ago."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, one: str) -> bool:
        return one in self._known

    def add(self, one: str) -> None:
        self._known[one] = None
        self._known.move_to_end(one)
        if len(self._known) > self._limit:
            self._known.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def discard(self, one: str) -> None:
        self._known.pop(one, None)


class ScriptPowers:
    """Collects what scripts can do on the pages of one local proxy, by origin, for one run."""

    def __init__(self) -> None:
        self._readers = _Latest(MAX_ORIGINS)
        self._workers = _Latest(MAX_ORIGINS)
        self._answering = _Latest(MAX_ORIGINS)
        """Origins of which a service worker's script that answers requests has come."""
        self._expected = _Latest(MAX_EXPECTED)
        """Addresses of service workers' scripts."""

    def read_pixels(self, origin: str) -> bool:
        """Whether scripts of its pages read pixels."""
        return origin in self._readers

    def answer(self, origin: str) -> bool:
        """Whether it has a service worker that may answer what its pages ask."""
        return origin in self._workers

    def expect_worker(self, url: str) -> None:
        """A browser asks for the script of a service worker. Until it is here it can do all."""
        self._workers.add(split_url(url)[0])
        self._expected.add(url)

    def look(self, component: Component, origin: str) -> None:
        """Look at the bytes of a component that have come since the last time.

        `origin`: of the page that it is of, or that it is; empty: of none.
        """
        if component.reads_pixels and self._new(origin):
            self._readers.add(origin)
        if component.head is None or not component.data:
            return
        if component.url in self._expected:
            self._look_at_worker(component, component.head.status)
        elif self._new(origin) and _runs(component) and _finds(component, READERS):
            self._readers.add(origin)

    def _new(self, origin: str) -> bool:
        return bool(origin) and origin not in self._readers

    def _look_at_worker(self, component: Component, status: int) -> None:
        origin = split_url(component.url)[0]
        if status != 200 or _finds(component, FETCHERS):
            self._expected.discard(component.url)
            self._answering.add(origin)
        elif component.complete:  # it hears of messages and pushes at most
            self._expected.discard(component.url)
            if origin not in self._answering and not self._expects(origin):
                self._workers.discard(origin)

    def _expects(self, origin: str) -> bool:
        """Whether another worker's script of the origin is on its way: it may have several."""
        return any(one.startswith(origin + "/") for one in self._expected)


def _finds(component: Component, names: tuple[bytes, ...]) -> bool:
    """Whether one of the names is in what has come since the last time."""
    start = max(0, component.looked_at - component.trimmed)
    new = component.looked_last + component.data[start:]
    component.looked_at = component.received
    component.looked_last = new[-_OVERLAP:]
    return any(name in new for name in names)


def _runs(component: Component) -> bool:
    """Whether a page may run what is in it: scripts, and pages themselves."""
    if component.kind in (Kind.IMAGE, Kind.FONT, Kind.MEDIA, Kind.STYLE):
        return False
    assert component.head is not None
    content_type = header(component.head.headers, "content-type").lower()
    return component.kind is Kind.SCRIPT or any(
        word in content_type for word in ("html", "javascript", "ecmascript", "svg")
    )
