"""Events: what a policy hears, in the past tense.

Most come from the session and the tracking drivers as they happen. `TimerExpired`,
`BandwidthChanged` and `CommandRefused` are for one policy alone. `FocusChanged` also comes when
the front document follows from something else: a navigation, a hidden tab, a closed page. What a
component has received so far stands in the view; `Progress` tells only of levels and ends, so a
policy is not woken for every quantum.

Sources: HATS 3.2.4 (tracking, reconfiguration), ATP/NAI 3 (timers, bandwidth callbacks).
"""

from __future__ import annotations

from dataclasses import dataclass

from policies.api.commands import Command, Path
from wire.skeleton import Part


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The session with the remote proxy began, or the policy was just switched on."""


@dataclass(frozen=True, slots=True)
class DocumentOpened:
    """A page or a deck is being loaded; nothing of it is known but its address. Where its
    page has moved within its site it is closed before, and has the same number."""

    document: int
    url: str
    application: str = "browser"
    """Who shows it: "browser", or "office" where a program or `sluice open` has asked for it."""
    save_data: bool = False
    """Its user asks for less data (`Save-Data: on`)."""
    within: float | None = None
    """Seconds in which its user wants its pictures here: by the site's switch, or the request."""


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
class PlayingChanged:
    """A sound or film of the document is being played, or is to be as soon as it can; or none is
    any more."""

    document: int
    playing: bool


@dataclass(frozen=True, slots=True)
class BandwidthChanged:
    """The estimate left the range that the policy watched (`WatchBandwidth`). Ends the watch."""

    rate: float
    """Bytes/second towards the device."""
    confidence: float = 1.0
    """0 (a guess) to 1 (measured over several round trips while the link was busy)."""
    available: float | None = None
    """Bytes/second that other programs leave of it, our own share included; None: it is not
    measured (remote.available)."""


@dataclass(frozen=True, slots=True)
class TimerExpired:
    """A timer of this policy: its own (`SetTimer`) or that of a fetch, named "fetch:COMPONENT".

    The component of a fetch is suspended: `Resume` or `Fetch` lets it go on, `Defer` leaves it as
    it is, `Cancel` ends it. A policy that says none of these lets it go on.
    """

    name: str
    early: bool = False
    """True: it is clear before the time that the fetch can't make it, at the bandwidth there is."""
    refused: bool = False
    """True: it was clear at once. The fetch has changed nothing, and nothing is suspended."""
    level: str = ""
    """Of one that is early or refused: the finest level that could be here by the time; "": none
    could."""
    within: float | None = None
    """The same: seconds in which the level that was wanted could be here."""


@dataclass(frozen=True, slots=True)
class FetchInTime:
    """The level that a fetch wanted by a time is here."""

    component: int
    level: str
    """The finest level that is here."""
    left: float
    """Seconds before its time was over."""


@dataclass(frozen=True, slots=True)
class TimeRefused:
    """The time that a rule gives a document's pictures (`within`) is too short for what the link
    carries. They come as soon as they can, coarse; a rule with more time, or one that withholds
    some, changes that."""

    document: int
    earliest: float
    """Seconds from when the document was asked for; as far as is known they can be here by then."""


@dataclass(frozen=True, slots=True)
class RateGuaranteed:
    """What has become of a node's rate (`Reserve`, or a rule that is `steady`)."""

    path: Path
    rate: float
    """Bytes/second; 0: none is wanted any more."""
    held: bool
    """It is guaranteed from now on. Else the link carries too little for it: it has its share, as
    any node, until the link carries more."""


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


@dataclass(frozen=True, slots=True)
class CommandRefused:
    """A command of this policy can't be carried out: it has changed nothing and does not stand.

    Whoever refused it, the device or the remote proxy. Not told of commands that are given in
    answer to this event, so that nobody answers for ever.
    """

    command: Command
    reason: str
    """For people; its words may change."""


Event = (
    SessionOpened | DocumentOpened | SkeletonGrew | Progress | FocusChanged | VisibilityChanged
    | PointerOn | ScrolledInView | LayoutKnown | PlayingChanged | BandwidthChanged | TimerExpired
    | FetchInTime | TimeRefused | RateGuaranteed | LinkLost | LinkRestored | DocumentClosed
    | CommandRefused
)  # fmt: skip
