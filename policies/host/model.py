"""Adds up events: keeps the session's state for policies and makes views of it.

The rule of focus lives here, so that every policy shares it: the latest navigation is in front
until tracking says otherwise, and a front document that is hidden or closed gives way to the one
that was in front most recently and is still visible.

Pure; knows events and views, not policies. Nothing from the peer makes it grow without bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from policies.api.commands import Path
from policies.api.events import (
    BandwidthChanged,
    Box,
    DocumentClosed,
    DocumentOpened,
    Event,
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
    VisibilityChanged,
)
from policies.api.view import ComponentView, DocumentView, SessionView
from policies.host.snapshots import Snapshots
from wire.skeleton import Part

MAX_COMPONENTS: Final = 20_000
"""Of all open documents together; those beyond go over the link but policies don't see them."""
COMPONENT: Final = 3
"""Names on the path of one."""
MAX_DOCUMENTS: Final = 1_000
"""Opening one more closes the one opened first, for policies only."""


class SessionModel:
    """Applies events, one after the other."""

    def __init__(self) -> None:
        self._documents: dict[int, DocumentView] = {}
        self._components: Snapshots[ComponentView] = Snapshots()
        self._recency: dict[int, None] = {}
        """Open documents, the one in front most recently last."""
        self._told: Mapping[int, DocumentView] | None = MappingProxyType({})
        """The documents as the last view has them; None: they are others now."""
        self._front: int | None = None
        self._pointer: int | None = None
        self._connected = True
        self._bandwidth: float | None = None
        self._view: SessionView | None = None

    @property
    def front(self) -> int | None:
        return self._front

    @property
    def documents(self) -> Mapping[int, DocumentView]:
        """Open ones as they are now, for who asks in between views."""
        return self._documents

    @property
    def components(self) -> Snapshots[ComponentView]:
        """All as they are now, for who asks in between views."""
        return self._components

    def surplus(self, event: Event) -> int | None:
        """The document that is to close before this event, if it opens one too many."""
        opens = isinstance(event, DocumentOpened) and event.document not in self._documents
        return next(iter(self._documents)) if opens and self._full else None

    @property
    def _full(self) -> bool:
        return len(self._documents) >= MAX_DOCUMENTS

    def hear(self, event: Event, *, now: float) -> list[Event]:
        """Apply an event; the events to pass on: nothing, it, and the change of focus it caused."""
        before = self._front
        known = self._apply(event, now)
        self._view = None
        heard: list[Event] = []
        if known and not isinstance(event, FocusChanged):
            heard.append(event)
        if self._front != before:
            heard.append(FocusChanged(self._front))
        return heard

    def measured(self, rate: float) -> None:
        """The bandwidth estimate was renewed: bytes/second towards the device."""
        self._bandwidth = rate
        self._view = None

    def view(
        self,
        *,
        now: float,
        schedulers: Mapping[Path, str],
        weights: Mapping[Path, float],
        deferred: frozenset[int] = frozenset(),
    ) -> SessionView:
        """The present state; `schedulers` and `weights` are not copied. Copies what has changed."""
        if self._told is None:
            self._told = MappingProxyType(dict(self._documents))
        if self._view is None:
            self._view = SessionView(
                connected=self._connected,
                documents=self._told,
                components=self._components.freeze(),
                front=self._front,
                pointer=self._pointer,
                bandwidth=self._bandwidth,
            )
        return replace(
            self._view,
            now=now,
            schedulers=schedulers,
            weights=weights,
            deferred=deferred,
        )

    def recall(self) -> list[Event]:
        """Events that tell a newcomer what is there now."""
        events: list[Event] = [SessionOpened()]
        for document in self._documents.values():
            events.append(
                DocumentOpened(
                    *(document.id, document.url, document.application),
                    save_data=document.save_data,
                    within=document.within,
                )
            )
            parts = tuple(_part(self._components[id]) for id in document.components)
            if parts:
                events.append(SkeletonGrew(document.id, parts))
        events.append(FocusChanged(self._front))
        return events

    # -- one event each --------------------------------------------------------------------

    def _apply(self, event: Event, now: float) -> bool:
        """False: it speaks of something that is not there, or changes nothing."""
        match event:
            case DocumentOpened():
                return self._opened(event, now)
            case DocumentClosed(document):
                return self._closed(document)
            case SkeletonGrew(document, parts):
                return self._grew(document, parts)
            case Progress():
                return self._progressed(event)
            case FocusChanged(document):
                return self._focused(document)
            case VisibilityChanged(document, visible):
                return self._shown(document, visible)
            case PointerOn(component):
                if component is not None and component not in self._components:
                    return False
                changed = self._pointer != component
                self._pointer = component
                return changed
            case ScrolledInView(document, components):
                return self._scrolled(document, set(components))
            case LayoutKnown(document, boxes):
                return self._laid_out(document, boxes)
            case BandwidthChanged(rate):
                self._bandwidth = rate
            case TimeRefused(document, earliest):
                return self._refused(document, earliest)
            case RateGuaranteed(path, rate, held):
                return self._guaranteed(path, rate, held=held)
            case PlayingChanged(document):
                return document in self._documents
            case LinkLost():
                self._connected = False
            case LinkRestored() | SessionOpened():
                self._connected = True
        return True

    def _opened(self, event: DocumentOpened, now: float) -> bool:
        if event.document in self._documents:
            return False
        if self._full:
            self._closed(next(iter(self._documents)))
        self._documents[event.document] = DocumentView(
            id=event.document,
            url=event.url,
            application=event.application,
            opened=now,
            save_data=event.save_data,
            within=event.within,
        )
        self._bring_forward(event.document)
        return True

    def _closed(self, document: int) -> bool:
        found = self._documents.pop(document, None)
        if found is None:
            return False
        self._told = None
        for component in found.components:
            self._components.discard(component)
        if self._pointer not in self._components:
            self._pointer = None
        del self._recency[document]
        self._give_way(document)
        return True

    def _refused(self, document: int, earliest: float) -> bool:
        found = self._documents.get(document)
        if found is None:
            return False
        self._documents[document] = replace(found, earliest=earliest)
        self._told = None
        return True

    def _guaranteed(self, path: Path, rate: float, *, held: bool) -> bool:
        old = self._components.get(int(path[-1])) if path and path[-1].isdecimal() else None
        if len(path) == COMPONENT and old is not None:
            self._components[old.id] = replace(old, rate=rate, guaranteed=held)
        return len(path) < COMPONENT or old is not None

    def _grew(self, document: int, parts: tuple[Part, ...]) -> bool:
        found = self._documents.get(document)
        if found is None:
            return False
        room = MAX_COMPONENTS - len(self._components)
        fresh = {part.component: part for part in parts if part.component not in self._components}
        known = self._placed(part for part in parts if part.component not in fresh)
        for part in list(fresh.values())[:room]:
            self._components[part.component] = ComponentView(
                id=part.component,
                document=document,
                url=part.url,
                kind=part.kind,
                use=part.use,
                order=part.order,
                width=part.width,
                height=part.height,
            )
        ids = {*found.components, *(id for id in fresh if id in self._components)}
        ordered = tuple(sorted(ids, key=lambda id: (self._components[id].order, id)))
        if known or ordered != found.components:
            self._documents[document] = replace(found, components=ordered)
            self._told = None
        return known or ordered != found.components

    def _placed(self, parts: Iterable[Part]) -> bool:
        """It is known by now what these are that were asked for; whether that is news."""
        news = False
        for part in parts:
            view = self._components[part.component]
            told = replace(
                view,
                kind=part.kind,
                use=part.use,
                order=part.order,
                width=part.width,
                height=part.height,
            )
            self._components[part.component] = told
            news = news or told != view
        return news

    def _progressed(self, event: Progress) -> bool:
        old = self._components.get(event.component)
        if old is None:
            return False
        new = replace(
            old,
            received=event.received,
            level=event.level,
            complete=event.complete,
            length=old.length if event.length is None else event.length,
        )
        self._components[old.id] = new
        return (new.level, new.complete) != (old.level, old.complete)

    def _focused(self, document: int | None) -> bool:
        if document is None:
            self._front = None
            return True
        if document not in self._documents:
            return False
        self._bring_forward(document)
        return True

    def _shown(self, document: int, visible: bool) -> bool:
        found = self._documents.get(document)
        if found is None:
            return False
        if visible:
            self._bring_forward(document)
        else:
            self._documents[document] = replace(found, visible=False)
            self._told = None
            self._give_way(document)
        return found.visible != visible

    def _laid_out(self, document: int, boxes: tuple[Box, ...]) -> bool:
        for box in boxes:
            old = self._components.get(box.component)
            if old is not None and old.document == document:
                new = replace(old, width=box.width, height=box.height)
                self._components[box.component] = new
        return document in self._documents

    def _scrolled(self, document: int, visible: set[int]) -> bool:
        found = self._documents.get(document)
        changed = False
        for id in found.components if found else ():
            old = self._components[id]
            if old.in_view != (id in visible):
                self._components[id] = replace(old, in_view=not old.in_view)
                changed = True
        return changed

    def _bring_forward(self, document: int) -> None:
        self._recency.pop(document, None)
        self._recency[document] = None
        self._documents[document] = replace(self._documents[document], visible=True)
        self._told = None
        self._front = document

    def _give_way(self, document: int) -> None:
        """The document can't be in front any more; if it was, who is?"""
        if self._front == document:
            latest = reversed(self._recency)
            self._front = next((id for id in latest if self._documents[id].visible), None)


def _part(component: ComponentView) -> Part:
    return Part(
        component=component.id,
        url=component.url,
        kind=component.kind,
        use=component.use,
        order=component.order,
        width=component.width,
        height=component.height,
    )
