"""Events: what a policy hears, in the past tense.

Most come from the session and the tracking drivers as they happen. `FocusChanged` also comes when
the front document follows from something else: a navigation, a hidden tab, a closed page. What a
component has received so far stands in the view; `Progress` tells only of levels and ends, so a
policy is not woken for every quantum.

Sources: HATS 3.2.4 (tracking, reconfiguration), ATP/NAI 3 (timers, bandwidth callbacks).
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.skeleton import Part


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The session with the remote proxy began, or the policy was just switched on."""


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """A page or a deck is being loaded; nothing of it is known but its address."""

    document: int
    url: str
    application: str = "browser"
    save_data: bool = False
    """Its user asks for less data (`Save-Data: on`)."""


@dataclass(frozen=True, slots=True)
class SkeletonGrew:
    """The import driver found further components, in document order."""

    document: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A component reached a level or its end."""

    component: int
    received: int
    """Bytes."""
    level: str
    """The finest level that is here in full; "" before any."""
    complete: bool = False
    length: int | None = None
    """Bytes of the whole; None: not known."""


@dataclass(frozen=True, slots=True)
class FocusChanged:
    """Another document is in front; None: none is."""

    document: int | None


@dataclass(frozen=True, slots=True)
class VisibilityChanged:
    """A document's tab or window was shown or hidden."""

    document: int
    visible: bool


@dataclass(frozen=True, slots=True)
class PointerOn:
    """The pointer rests on a component; None: on none."""

    component: int | None


@dataclass(frozen=True, slots=True)
class ScrolledInView:
    """These components of the document are on the screen now, and no others."""

    document: int
    components: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """The size of a component in the layout, CSS pixels."""

    component: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class LayoutKnown:
    """The application has laid the document out."""

    document: int
    boxes: tuple[Box, ...]


@dataclass(frozen=True, slots=True)
class BandwidthChanged:
    """The estimate left the range that the policy watched (`WatchBandwidth`). Ends the watch."""

    rate: float
    """Bytes/second towards the device."""
    confidence: float = 1.0
    """0 (a guess) to 1 (measured over several round trips while the link was busy)."""


@dataclass(frozen=True, slots=True)
class TimerExpired:
    """A timer of this policy: its own (`SetTimer`) or that of a fetch, named "fetch:COMPONENT"."""

    name: str
    early: bool = False
    """True: it is clear before the time that the fetch can't make it, at the bandwidth there is.
    The remote proxy has suspended the component: `Resume` or `Fetch` lets it go on, `Defer` leaves
    it as it is, `Cancel` ends it. A policy that says none of these lets it go on."""


@dataclass(frozen=True, slots=True)
class LinkLost:
    """The connection to the remote proxy broke. Commands wait until it is restored."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class LinkRestored:
    """The session goes on over a new connection."""


@dataclass(frozen=True, slots=True)
class DocumentClosed:
    """The document's window is gone, and with it all its components."""

    document: int


Event = (
    SessionOpened | DocumentOpened | SkeletonGrew | Progress | FocusChanged | VisibilityChanged
    | PointerOn | ScrolledInView | LayoutKnown | BandwidthChanged | TimerExpired | LinkLost
    | LinkRestored | DocumentClosed
)  # fmt: skip
