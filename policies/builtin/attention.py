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
        self._raised: dict[int, dict[int, int]] = {}
        """By document, of those that have any."""
        self._pointed: int | None = None
        """The document that the pointer is in."""

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case Progress(component):
                yield from self._look_at(_owner(component, view), view)
            case ScrolledInView(document):
                yield from self._look_at(document, view)
            case PointerOn():
                left, self._pointed = self._pointed, _owner(view.pointer, view)
                if left != self._pointed:
                    yield from self._look_at(left, view)
                yield from self._look_at(self._pointed, view)
            case DocumentClosed(document):
                self._raised.pop(document, None)

    def _look_at(self, document: int | None, view: SessionView) -> Iterable[Command]:
        """One document's pictures: what happens in it moves no other's."""
        if document is None:
            return
        raised = self._raised.pop(document, {})
        wanted = dict(_urgencies(document, view))
        for id in raised.keys() - wanted.keys():
            if id in view.components and not view.components[id].complete:
                yield Raise(id, 0)
        for id, urgency in wanted.items():
            if raised.get(id) != urgency:
                yield Raise(id, urgency)
        if wanted:
            self._raised[document] = wanted


def _owner(component: int | None, view: SessionView) -> int | None:
    """The document of a component that is there."""
    found = view.components.get(component) if component is not None else None
    return found.document if found is not None else None


def _urgencies(document: int, view: SessionView) -> Iterator[tuple[int, int]]:
    """The pictures to raise, and how far."""
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
