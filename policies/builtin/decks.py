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
    Defer,
    DocumentClosed,
    DocumentView,
    Event,
    FocusChanged,
    Kind,
    Progress,
    Raise,
    Resume,
    Rule,
    ScrolledInView,
    SessionView,
    SetPlan,
    SetScheduler,
    SkeletonGrew,
)

ON_SCREEN: Final = 1
"""Urgency of what is on the screen."""
_PICTURES: Final = (Kind.IMAGE, Kind.MEDIA)
"""Those that have coarse versions, and those that have none."""


def decks(view: SessionView) -> Iterator[DocumentView]:
    """The open documents that come in parts, whoever shows them: an office program, or a preview
    in a browser."""
    for document in view.documents.values():
        parts = view.parts(document.id)
        if any(part.url.startswith(f"{document.url}#") for part in parts):
            yield document


class DeckText:
    """Text only: pictures do not come. The file is complete when another policy lets them."""

    name = "deck_text"

    def __init__(self) -> None:
        self._known: set[int] = set()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if not isinstance(event, SkeletonGrew | DocumentClosed):
            return
        found = {document.id for document in decks(view)}
        if found != self._known:
            self._known = found
            yield SetPlan(
                tuple(
                    Rule(kind=kind, document=document, level="none")
                    for document in sorted(found)
                    for kind in _PICTURES
                )
            )


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
    """Full fidelity for the current slide alone: all pictures coarse, fine where a person looks.

    A picture that is coarse is held back until its slide is on the screen.
    """

    name = "deck_current_slide"

    def __init__(self) -> None:
        self._held: set[int] = set()
        self._raised: set[int] = set()

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if not isinstance(event, ScrolledInView | SkeletonGrew | Progress | DocumentClosed):
            return
        shown = {part.id for part in _on_screen(view)}
        coarse = {
            part.id
            for document in decks(view)
            for part in view.parts(document.id)
            if part.kind in _PICTURES and not part.complete
            if part.level or part.kind is Kind.MEDIA  # of these there are no coarse versions
        } - shown
        for id in sorted(shown - self._raised):
            yield Resume(id)
            yield Raise(id, ON_SCREEN)
        for id in sorted(coarse - self._held):
            yield Raise(id, 0)
            yield Defer(id)
        self._held, self._raised = coarse, shown


def _on_screen(view: SessionView) -> Iterator[ComponentView]:
    """The pictures of decks that a person sees and that are not whole."""
    for document in decks(view):
        for part in view.parts(document.id):
            if part.in_view and part.kind in _PICTURES and not part.complete:
                yield part
