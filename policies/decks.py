"""Four ways for documents of office programs to come, by what a reader wants of them (HATS, 4.1).

A document that comes in parts is a document like a page: texts in the order of pages, then pictures
as a reader meets them, and all schedulers order it. These do for it alone what its reader may want
otherwise; pages beside it stay as they are. Its parts are told by their addresses, which are the
document's own with a number behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policies.api import (
    Command,
    ComponentView,
    DocumentClosed,
    DocumentView,
    Event,
    Fetch,
    FocusChanged,
    Kind,
    Progress,
    Raise,
    Rule,
    ScrolledInView,
    SessionView,
    SetPlan,
    SetScheduler,
    SkeletonGrew,
)
from policies.plan import StopLevel

ON_SCREEN: Final = 1
"""Urgency of what is on the screen."""
_PICTURES: Final = (Kind.IMAGE, Kind.MEDIA)
"""Those that have coarse versions, and those that have none."""


def decks(view: SessionView) -> Iterator[DocumentView]:
    """The open documents of office programs, whoever shows them."""
    for document in view.documents.values():
        parts = view.parts(document.id)
        office = document.application != "browser"
        if office or any(part.url.startswith(f"{document.url}#") for part in parts):
            yield document


class _Grows:
    """Answers once for each document, as soon as it is known to be one of these."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def of(self, event: Event, view: SessionView) -> list[DocumentView] | None:
        """All of them, if that has changed."""
        if not isinstance(event, SkeletonGrew | DocumentClosed):
            return None
        found = list(decks(view))
        ids = {document.id for document in found}
        if ids == self._known:
            return None
        self._known = ids
        return found


def _up_to(level: StopLevel, documents: Iterable[DocumentView]) -> SetPlan:
    """Their pictures to that level and no further."""
    return SetPlan(
        tuple(
            Rule(kind=kind, document=document.id, level=level)
            for document in documents
            for kind in _PICTURES
        )
    )


class DeckText:
    """Text only: pictures do not come. The file is complete when another policy lets them."""

    name = "deck_text"

    def __init__(self) -> None:
        self._grows = _Grows()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        found = self._grows.of(event, view)
        if found is not None:
            yield _up_to("none", found)


class DeckInOrder:
    """Slides in order: each picture whole before the next, as the document names them."""

    name = "deck_in_order"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        # Whoever shares the link out by focus sets all documents' schedulers then.
        if isinstance(event, SkeletonGrew | FocusChanged | DocumentClosed):
            for document in decks(view):
                yield SetScheduler(document.path, "in_order")


class DeckInView:
    """What is in view: the pictures of the slide on the screen before all others, to their end."""

    name = "deck_in_view"

    def __init__(self) -> None:
        self._raised: set[int] = set()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if not isinstance(event, ScrolledInView | SkeletonGrew | DocumentClosed):
            return
        wanted = {part.id for part in _on_screen(view)}
        for id in sorted(self._raised - wanted):
            if id in view.components and not view.components[id].complete:
                yield Raise(id, 0)
        for id in sorted(wanted - self._raised):
            yield Raise(id, ON_SCREEN)
        self._raised = wanted


class DeckCurrentSlide:
    """Full fidelity for the current slide alone: all pictures coarse, fine where a person looks."""

    name = "deck_current_slide"

    def __init__(self) -> None:
        self._grows = _Grows()
        self._fetched: set[int] = set()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        found = self._grows.of(event, view)
        if found is not None:
            yield _up_to("low", found)
        self._fetched.intersection_update(view.components)
        if isinstance(event, ScrolledInView | SkeletonGrew | Progress):
            for part in _on_screen(view):
                if part.id not in self._fetched:
                    self._fetched.add(part.id)
                    yield Fetch(part.id, "original", priority=ON_SCREEN)


def _on_screen(view: SessionView) -> Iterator[ComponentView]:
    """The pictures of decks that a person sees and that are not whole."""
    for document in decks(view):
        for part in view.parts(document.id):
            if part.in_view and part.kind in _PICTURES and not part.complete:
                yield part
