"""Original: no adaptation. Every byte as the origin sent it, in order, documents side by side.

The proxy pair then only multiplexes and prefetches. For sites where adaptation hurts, and for
telling whether a fault is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import Command, Event, Rule, SessionOpened, SessionView, SetPlan
from policies.builtin.equal import Equal


class Original:
    """Equal shares, and a plan that leaves every component untouched."""

    name = "original"

    def __init__(self) -> None:
        self._equal = Equal()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetPlan((Rule(untouched=True),))
        yield from self._equal.react(event, view)
