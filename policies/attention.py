"""Attention: the picture under the pointer first, then those on the screen, but coarse before fine.

Raises them among the components of their own document; how much the document gets is not touched.
A picture on the screen is raised until it is a level ahead of the document's coarsest, so that none
is refined while another shows nothing. The one under the pointer is what the reader waits for: it
is raised to its end. What is no longer looked at goes back to its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policies.api import (
    Command,
    ComponentView,
    DocumentClosed,
    Event,
    Kind,
    PointerOn,
    Progress,
    Raise,
    ScrolledInView,
    SessionView,
)
from wire.skeleton import LEVELS

UNDER_POINTER = 2
ON_SCREEN = 1


class Attention:
    """Keeps the urgency that each picture was given, to say only what changes."""

    name = "attention"

    def __init__(self) -> None:
        self._raised: dict[int, int] = {}

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if not isinstance(event, PointerOn | ScrolledInView | Progress | DocumentClosed):
            return
        wanted = dict(_urgencies(view))
        for id in self._raised.keys() - wanted.keys():
            if id in view.components and not view.components[id].complete:
                yield Raise(id, 0)
        for id, urgency in wanted.items():
            if self._raised.get(id) != urgency:
                yield Raise(id, urgency)
        self._raised = wanted


def _urgencies(view: SessionView) -> Iterator[tuple[int, int]]:
    """The pictures to raise, and how far."""
    for document in view.documents:
        pictures = [
            part for part in view.parts(document) if part.kind is Kind.IMAGE and not part.complete
        ]
        coarsest = min(map(_fidelity, pictures), default=0)
        for picture in pictures:
            if picture.id == view.pointer:
                yield picture.id, UNDER_POINTER
            elif picture.in_view and _fidelity(picture) == coarsest:
                yield picture.id, ON_SCREEN


def _fidelity(component: ComponentView) -> int:
    return LEVELS.index(component.level) + 1 if component.level in LEVELS else 0
