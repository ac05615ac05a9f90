"""The plugin API: everything that a policy needs, under one name.

    from policies.api import DocumentOpened, SetWeight, ...

A policy is an object with a `name` and one method. It hears events (policies/api/events.py), reads
a snapshot of the session (policies/api/view.py) and answers with commands
(policies/api/commands.py). It does no input or output, keeps what state it likes, and runs outside
the event loop. If it raises, or takes longer than a second, it is switched off and what it set is
undone.

docs/policies.md walks through one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from policies.api.commands import (
    ROOT,
    Cancel,
    Command,
    Defer,
    Fetch,
    GiveWay,
    Path,
    Raise,
    Reserve,
    Resume,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetTimer,
    SetWeight,
    WatchBandwidth,
    application_path,
    document_path,
)
from policies.api.events import (
    BandwidthChanged,
    Box,
    CommandRefused,
    DocumentClosed,
    DocumentOpened,
    Event,
    FetchInTime,
    FocusChanged,
    LayoutKnown,
    LinkLost,
    LinkRestored,
    PlayingChanged,
    PointerOn,
    Progress,
    RateGuaranteed,
    ScrolledInView,
    SessionOpened,
    SkeletonGrew,
    TimeRefused,
    TimerExpired,
    VisibilityChanged,
)
from policies.api.plan import Rule
from policies.api.view import ComponentView, DocumentView, SessionView
from wire.skeleton import Kind, Use

__all__ = [
    "ROOT",
    "BandwidthChanged",
    "Box",
    "Cancel",
    "Command",
    "CommandRefused",
    "ComponentView",
    "Defer",
    "DocumentClosed",
    "DocumentOpened",
    "DocumentView",
    "Event",
    "Fetch",
    "FetchInTime",
    "FocusChanged",
    "GiveWay",
    "Kind",
    "LayoutKnown",
    "LinkLost",
    "LinkRestored",
    "Path",
    "PlayingChanged",
    "PointerOn",
    "Policy",
    "Progress",
    "Raise",
    "RateGuaranteed",
    "Reserve",
    "Resume",
    "Rule",
    "ScrolledInView",
    "SessionOpened",
    "SessionView",
    "SetPlan",
    "SetQuantum",
    "SetScheduler",
    "SetTimer",
    "SetWeight",
    "SkeletonGrew",
    "TimeRefused",
    "TimerExpired",
    "Use",
    "VisibilityChanged",
    "WatchBandwidth",
    "application_path",
    "document_path",
]


@runtime_checkable
class Policy(Protocol):
    """Decides what goes over the link, in which order and how fine."""

    name: str
    """Names it to people: in the log, on the status page."""

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        """The commands that follow from the event. Most policies ignore most events.

        Taken whole or, if this raises, not at all; and in order.
        """
