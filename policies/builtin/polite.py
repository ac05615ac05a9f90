"""Polite: all that this device does gives way to other programs of its line.

`sluice local --congestion background` has it beside whatever policies there are.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import ROOT, Command, Event, GiveWay, SessionOpened, SessionView


class Polite:
    """Takes what others leave, and all of the link while nobody else uses it."""

    name = "polite"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield GiveWay(ROOT)
