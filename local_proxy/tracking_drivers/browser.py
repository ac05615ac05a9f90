"""Follows a page's reader, as the driver script in it reports (HATS, section 2).

Beacons are small JSON bodies that any script of the page could send as well: every field is
bounded, and what does not fit is refused whole. Must not know: sockets, policies.
"""

from __future__ import annotations

from typing import Annotated, Final, Protocol

import msgspec

from malformed import MALFORMED
from wire.messages import MAX_URL

MAX_BEACON: Final = 65536
"""Bytes; what sendBeacon itself allows (Fetch, 4.6)."""
MAX_TITLE: Final = 200
"""Characters, as the driver counts them or more."""
MAX_PICTURES: Final = 256
"""Pictures named in one beacon; the driver sends the rest in the next."""


class Tracker(Protocol):
    """Who is told. Calls must return at once and not raise."""

    def visible(self, document: int, on: bool) -> None:
        """The page can be seen, at least in part; False is the only reliable end of a page."""

    def focus(self, document: int, on: bool) -> None:
        """The page's window has the keyboard."""

    def pointer(self, document: int, url: str | None) -> None:
        """The pointer rests on this picture, or on none."""

    def original(self, document: int, url: str) -> bool:
        """The reader wants this picture's original before all else.

        False: it's neither here nor on its way, only fetching it anew can help.
        """

    def in_view(self, document: int, urls: list[str]) -> None:
        """These pictures are in the window now, all others are not."""

    def layout(self, document: int, sizes: dict[str, tuple[int, int]]) -> None:
        """Width and height in CSS pixels at which these pictures are shown."""

    def plays(self, document: int, on: bool) -> None:
        """A sound or film of the page is being played, or none."""

    def titled(self, document: int, title: str) -> None:
        """What the page calls itself, or anything that a script of it wants to be read."""

    def closed(self, document: int) -> None:
        """The page has been left and will not come back."""


_Url = Annotated[str, msgspec.Meta(max_length=MAX_URL)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=65535)]


class Beacon(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One report; None: nothing new about it. Names are short because they cross per event."""

    v: bool | None = None
    f: bool | None = None
    p: _Url | None = None
    """The picture under the pointer; "" for none."""
    o: _Url | None = None
    """The picture of which the reader wants the original now."""
    x: _Url | None = None
    """The film that the reader has tapped, which has come to nothing so far; "": something else."""
    i: Annotated[list[_Url], msgspec.Meta(max_length=MAX_PICTURES)] | None = None
    l: Annotated[dict[_Url, tuple[_Size, _Size]], msgspec.Meta(max_length=MAX_PICTURES)] | None = (  # noqa: E741
        None
    )
    n: Annotated[list[_Url], msgspec.Meta(max_length=MAX_PICTURES)] | None = None
    """Pictures of <img>s that a script has made or changed, before they have loaded."""
    m: bool | None = None
    """A sound or film plays."""
    t: Annotated[str, msgspec.Meta(max_length=MAX_TITLE)] | None = None
    w: tuple[_Size, _Size, _Size] | None = None
    """The window: width and height in CSS pixels, device pixels for a hundred of them."""
    c: bool = False


_decoder: Final = msgspec.json.Decoder(Beacon)


def parse_beacon(body: bytes) -> Beacon | None:
    """The report in a beacon's body; None if it isn't one."""
    if len(body) > MAX_BEACON:
        return None
    try:
        return _decoder.decode(body)
    except MALFORMED:
        return None


def report(beacon: Beacon, *, document: int, tracker: Tracker) -> None:
    """Tell the tracker what the beacon says, the end of the page last."""
    if beacon.v is not None:
        tracker.visible(document, beacon.v)
    if beacon.f is not None:
        tracker.focus(document, beacon.f)
    if beacon.p is not None:
        tracker.pointer(document, beacon.p or None)
    if beacon.l:
        tracker.layout(document, beacon.l)
    if beacon.i is not None:
        tracker.in_view(document, beacon.i)
    if beacon.m is not None:
        tracker.plays(document, beacon.m)
    if beacon.t is not None:
        tracker.titled(document, beacon.t)
    if beacon.c:
        tracker.closed(document)
