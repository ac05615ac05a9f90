"""The default: useful content soonest, wherever the user looks.

Composed of the small ones: text of all documents first; of the rest, most to the document in front;
within each document every picture coarse before any is fine; and among pictures first what is under
the pointer or on the screen. What browsers fetch for themselves comes behind all of it. Who asks to
save data gets coarser pictures, and who wants a page's pictures within a time gets them so. Sound
and films have the rate at which they are played.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import Command, Event, Policy, Rule, SessionView, SetPlan
from policies.builtin.attention import Attention
from policies.builtin.background import Background
from policies.builtin.focus import Focus
from policies.builtin.media import SteadyMedia
from policies.builtin.save_data import SaveData
from policies.builtin.text_first import TextFirst
from policies.builtin.within import Within


class Default:
    """`share` of the link, 0 to 1, goes to the document in front."""

    name = "default"

    def __init__(self, *, share: float = 0.8) -> None:
        coarse = "low_fidelity_first"
        self._parts: tuple[Policy, ...] = (
            TextFirst(inner="wf2q_plus"),
            Focus(share=share, front=coarse, back=coarse, root=None),
            Attention(),
            Background(),
            SaveData(),
            SteadyMedia(),
            Within(seconds=None),
        )
        self._plans: dict[str, tuple[Rule, ...]] = {}

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        planned = False
        for part in self._parts:
            for command in part.react(event, view):
                if isinstance(command, SetPlan):
                    self._plans[part.name], planned = command.rules, True
                else:
                    yield command
        if planned:  # one policy has one plan
            yield SetPlan(tuple(rule for rules in self._plans.values() for rule in rules))
