"""The view: all that a policy may know of the session, as an immutable snapshot.

Policies run in a thread of their own, so nothing here is shared with the session: a view is built
anew after a change and never altered. Times are those of the session's clock, seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from policies.api.commands import Path
from policies.api.plan import Subject
from wire.skeleton import Kind, Use


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentView:
    """One component: its place in the skeleton, and how much of it is here."""

    id: int
    document: int
    url: str
    kind: Kind
    use: Use
    order: int
    """Position in the document, from 0."""
    width: int = 0
    """CSS pixels in the layout, 0: unknown."""
    height: int = 0
    length: int | None = None
    """Bytes; None: not known."""
    received: int = 0
    """Bytes."""
    level: str = ""
    """The finest level that is here in full; "" before any."""
    complete: bool = False
    in_view: bool = False
    """On the screen, as far as the tracking driver has told."""
    rate: float = 0.0
    """Bytes/second at which it is played, or that were asked for; 0: none."""
    guaranteed: bool = False
    """It has that rate guaranteed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentView:
    """One open document; its components are `SessionView.parts(document.id)`."""

    id: int
    url: str
    application: str
    opened: float
    visible: bool = True
    save_data: bool = False
    """Its user asks for less data."""
    within: float | None = None
    """Seconds in which its user wants its pictures here."""
    earliest: float | None = None
    """Seconds in which they can be here, coarse, where a rule gives them less; else None."""
    components: tuple[int, ...] = ()
    """Ids, in the order of the document."""

    @property
    def path(self) -> Path:
        """Its node in the transmission hierarchy."""
        return (self.application, str(self.id))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionView:
    """The session at one moment."""

    now: float = 0.0
    connected: bool = True
    documents: Mapping[int, DocumentView] = field(default_factory=_nothing)
    """Open ones by id, the oldest first."""
    components: Mapping[int, ComponentView] = field(default_factory=_nothing)
    front: int | None = None
    """The document in front: the latest navigation until tracking says otherwise."""
    pointer: int | None = None
    """The component under the pointer."""
    bandwidth: float | None = None
    """Bytes/second towards the device; None: not measured yet."""
    schedulers: Mapping[Path, str] = field(default_factory=_nothing)
    """Names of those that policies have set."""
    weights: Mapping[Path, float] = field(default_factory=_nothing)
    """Those that policies have set; 1 elsewhere."""
    deferred: frozenset[int] = frozenset()
    """Components that a policy holds back: they stay as they are."""

    def parts(self, document: int) -> Iterator[ComponentView]:
        """The components of a document, in its order; none if it isn't open."""
        found = self.documents.get(document)
        for component in found.components if found else ():
            yield self.components[component]

    def subject(self, component: ComponentView) -> Subject:
        """What plan rules can ask about a component."""
        return Subject(
            component=component.id,
            document=component.document,
            kind=component.kind,
            use=component.use,
            length=component.length,
            front=component.document == self.front,
        )
