"""Knows of which pages scripts can read the pixels of pictures.

Where they can, a picture must not say that it has loaded before it is all there. What a script can
do is told by the names that it must use (web/script_names.py); they are looked for in all texts of
a page as they come, before a browser runs them. Of scripts that the markup names the remote proxy
tells, which has them sooner; a page's pictures wait for that, briefly. An origin whose scripts have
shown it is remembered, for they may be in the browser's cache the next time.

Must not know: how a picture is answered, what a page shows.
"""

from __future__ import annotations

from typing import Final

from local_proxy.export_drivers.markup.latest import Latest
from local_proxy.link.components import Component
from web.script_names import READERS
from wire.fields import header
from wire.skeleton import Kind

MAX_ORIGINS: Final = 2048
"""Origins remembered, the latest."""
_OVERLAP: Final = max(map(len, READERS)) - 1


def are_of_markup(component: Component) -> bool:
    """Whether scripts of a page come in this: it is the page, or a script that its markup names."""
    if component.id == component.document or component.moved:
        return component.head is not None and _runs(component)
    return component.kind is Kind.SCRIPT and component.promised


class ScriptPowers:
    """Collects what scripts can do on the pages of one local proxy, by origin, for one run."""

    def __init__(self) -> None:
        self._readers = Latest(MAX_ORIGINS)

    def read_pixels(self, origin: str) -> bool:
        """Whether scripts of its pages read pixels."""
        return origin in self._readers

    def look(self, component: Component, origin: str) -> None:
        """Look at the bytes of a component that have come since the last time.

        `origin`: of the page that it is of, or that it is; empty: of none.
        """
        if component.reads_pixels and self._new(origin):
            self._readers.add(origin)
        if component.head is None or not component.data:
            return
        if self._new(origin) and _runs(component) and _finds_reader(component):
            self._readers.add(origin)

    def _new(self, origin: str) -> bool:
        return bool(origin) and origin not in self._readers


def _finds_reader(component: Component) -> bool:
    """Whether a name is in what has come since the last time."""
    start = max(0, component.looked_at - component.trimmed)
    new = component.looked_last + component.data[start:]
    component.looked_at = component.received
    component.looked_last = new[-_OVERLAP:]
    return any(name in new for name in READERS)


def _runs(component: Component) -> bool:
    """Whether a page may run what is in it: scripts, and pages themselves."""
    if component.kind in (Kind.IMAGE, Kind.FONT, Kind.MEDIA, Kind.STYLE):
        return False
    assert component.head is not None
    content_type = header(component.head.headers, "content-type").lower()
    return component.kind is Kind.SCRIPT or any(
        word in content_type for word in ("html", "javascript", "ecmascript", "svg")
    )
