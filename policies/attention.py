"""Attention: the picture under the pointer first, then those on the screen.

Raises them among the components of their own document; how much the document gets is not touched.
What is no longer looked at goes back to its place.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    Command,
    ComponentView,
    DocumentClosed,
    Event,
    Kind,
    PointerOn,
    Raise,
    ScrolledInView,
    SessionView,
)

UNDER_POINTER = 2
ON_SCREEN = 1


class Attention:
    """Keeps the urgency that each picture was given, to say only what changes."""

    name = "attention"

    def __init__(self) -> None:
        self._raised: dict[int, int] = {}

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if not isinstance(event, PointerOn | ScrolledInView | DocumentClosed):
            return
        wanted = {
            component.id: urgency
            for component in view.components.values()
            if (urgency := _urgency(component, view.pointer))
        }
        for id in self._raised.keys() - wanted.keys():
            if id in view.components and not view.components[id].complete:
                yield Raise(id, 0)
        for id, urgency in wanted.items():
            if self._raised.get(id) != urgency:
                yield Raise(id, urgency)
        self._raised = wanted


def _urgency(component: ComponentView, pointer: int | None) -> int:
    if component.kind is not Kind.IMAGE or component.complete:
        return 0
    if component.id == pointer:
        return UNDER_POINTER
    return ON_SCREEN if component.in_view else 0
