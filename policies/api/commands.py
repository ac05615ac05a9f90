"""Commands: what a policy may ask for, in the imperative.

A command is data. It changes what the multiplexer sends from the very next quantum on; those about
the policy itself (`WatchBandwidth`, `SetTimer`) stay on the device. Nodes of the transmission
hierarchy are named by their path from the root: (), ("browser",), ("browser", "7"),
("browser", "7", "12"). Applications are those of wire/applications.py; "*" stands for all
applications, or all documents of one: ("*", "*").

Sources: HATS 3.2.2 (schedulers), 3.2.3 (quantum), 3.2.4 (requests); ATP/NAI 3 (timers, ranges).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal

from policies.api.plan import Rule

Path = tuple[str, ...]
Protected = Literal["all", "peers"]
ROOT: Final[Path] = ()


@dataclass(frozen=True, slots=True)
class SetScheduler:
    """Install a scheduler at a node, or give the one that it has other parameters."""

    path: Path
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SetWeight:
    """A node's share among its siblings, 1 by default; only weighted schedulers read it."""

    path: Path
    weight: float


@dataclass(frozen=True, slots=True)
class SetQuantum:
    """Bytes sent at a time of a node's components, of all with ROOT; 0: fit it to the link."""

    path: Path
    quantum: int


@dataclass(frozen=True, slots=True)
class SetPlan:
    """Standing rules in place of those that this policy set before.

    The rules of several policies are read one after the other, in the order of the policies.
    """

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Fetch:
    """Send a component up to a level and no further, whatever the plan says about it; from priority
    2 on no scheduler holds it back either.

    A later Fetch of a finer level goes on from there: no byte is sent twice, also after minutes.
    """

    component: int
    level: str = "original"
    """That level, or the next finer one where the component does not have it."""
    priority: int = 0
    """Urgency, as in Raise."""
    timer: float | None = None
    """Seconds in which the level is wanted: FetchInTime once it is here. The remote proxy sends
    what has a timer before all else but texts, the most urgent first, then by time. If it can't be
    in time TimerExpired("fetch:COMPONENT") comes at once, or as soon as that is clear."""
    protects: Protected = "all"
    """Whose timers it must not break: "all", or "peers", those of its own urgency alone."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Nobody wants this component: stop sending it, forget it."""

    component: int


@dataclass(frozen=True, slots=True)
class Defer:
    """Send nothing of a component until it is resumed. What has come stays."""

    component: int


@dataclass(frozen=True, slots=True)
class Resume:
    """End a Defer."""

    component: int


@dataclass(frozen=True, slots=True)
class Raise:
    """Move a component ahead of its siblings: the higher `urgency` first, 0 is the usual place."""

    component: int
    urgency: int = 1


@dataclass(frozen=True, slots=True)
class Reserve:
    """Guarantee a node a rate, whatever schedulers choose: a floor, not a ceiling.

    Refused where the link does not carry it beside those that were given before, and a tenth for
    the rest. RateGuaranteed tells if the link fades, and it can't be held any more.
    """

    path: Path
    """Of an application, a document or a component; no "*"."""
    rate: float
    """Bytes/second; 0: none any more."""
    delay: float = 1.0
    """Seconds that it may be behind that rate before it goes before texts as well."""


@dataclass(frozen=True, slots=True)
class GiveWay:
    """What a node and those below it send gives way to other programs of the device's line.

    Beside a download of somebody else's a link has its share, as one more TCP would. While all that
    there is to send gives way it takes only what others leave. With ROOT, all of the device's.
    """

    path: Path
    """Of an application or a document; "*" as ever."""
    on: bool = True


@dataclass(frozen=True, slots=True)
class WatchBandwidth:
    """Tell this policy once when the estimate leaves [low, high), bytes/second.

    In place of the range watched before. Looked at when the estimate is next renewed, so a range
    that it is already outside of is reported then. To go on, watch again from BandwidthChanged.
    """

    low: float = 0.0
    high: float = inf


@dataclass(frozen=True, slots=True)
class SetTimer:
    """TimerExpired(name) `after` so many seconds or `at` a time of the view's clock.

    In place of the policy's timer of that name. Neither given: stop it.
    """

    name: str
    after: float | None = None
    at: float | None = None


Command = (
    SetScheduler | SetWeight | SetQuantum | SetPlan | Fetch | Cancel | Defer | Resume | Raise
    | Reserve | GiveWay | WatchBandwidth | SetTimer
)  # fmt: skip


def application_path(application: str) -> Path:
    """The node of an application."""
    return (application,)


def document_path(application: str, document: int) -> Path:
    """The node of a document."""
    return (application, str(document))
