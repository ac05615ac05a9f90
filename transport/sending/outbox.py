"""Sends for a proxy: control messages first, then whatever its tree chooses.

The usual outbox of a link, for both directions. Nothing is decided before the link can take it
(HATS, section 3.2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hats.multiplexer import FarChooser, Grant, Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from transport.sending.outgoing import Budget, Introduction, Outgoing
from wire import abilities
from wire.frames import Control, Data
from wire.messages import Message
from wire.session import Session


class TreeOutbox:
    """Joins a session's control messages and a tree's components into one stream of frames."""

    def __init__(
        self,
        session: Session,
        hierarchy: Hierarchy,
        multiplexer: Multiplexer,
        budget: Budget,
        *,
        wake: Callable[[], None],
        far: FarChooser = lambda behind, now, *, ends: None,
    ) -> None:
        """`far`: what may go a longer way now."""
        self._far = far
        self._dropped: set[int] = set()
        self._apart = False
        """Frames say where they stand."""
        self.session = session
        self.hierarchy = hierarchy
        self.multiplexer = multiplexer
        self._budget = budget
        self._wake = wake
        self._by_leaf: dict[Node, Outgoing] = {}
        self._by_component: dict[int, Outgoing] = {}
        self._next: Data | None = None
        """Granted, but what introduces its component goes first."""
        self._behind: Message | None = None
        """To be said once that has gone: no more will come of its component."""
        self._sent = 0, 0
        """The component behind which that is to be read, and its bytes."""
        self.payload_sent = 0
        """Component bytes that went to the link."""

    @property
    def quantum(self) -> int:
        """Bytes of a full quantum at present."""
        return self.multiplexer.quantum

    def open(self, component: int, leaf: Node, *, preface: Sequence[Introduction] = ()) -> Outgoing:
        """Give a leaf its bytes. The component must not be open.

        `preface` is said right before its first byte: what introduces a picture must not overtake
        the text that goes before the picture.
        """
        outgoing = Outgoing(component, leaf, self.hierarchy, self._budget, wake=self._wake)
        outgoing.preface = tuple(preface)
        self._by_leaf[leaf] = outgoing
        self._by_component[component] = outgoing
        return outgoing

    def get(self, component: int) -> Outgoing | None:
        """The component, while it is being sent."""
        return self._by_component.get(component)

    def components(self) -> list[Outgoing]:
        """All components that are being sent."""
        return list(self._by_component.values())

    def drop(self, component: int) -> bool:
        """Stop sending a component and forget it; whether it was there."""
        outgoing = self._by_component.pop(component, None)
        if outgoing is None:
            return False
        del self._by_leaf[outgoing.leaf]
        if self._apart and outgoing.taken:
            self._dropped.add(component)
        outgoing.close()
        self.hierarchy.remove(outgoing.leaf)
        return True

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        """The next frame for the link (transport.link.interface.Outbox)."""
        payload = self.session.next_control()
        if payload is not None:
            return Control(payload)
        if urgent:
            return None
        if self._next is None:
            self._next = self._granted(now)
            introduction = self.session.next_control()
            if introduction is not None:
                return Control(introduction)
        data, self._next = self._next, None
        if self._behind is not None:
            self.session.enqueue(self._behind)
            self._behind = None
        return data

    # -- transport.link.interface.ApartOutbox ------------------------------------------------------

    @property
    def apart(self) -> bool:
        peer = self.session.peer
        return peer is not None and abilities.APART in peer.accepts

    def part(self) -> list[tuple[int, int]] | None:
        if self._next is not None:  # it has been granted, and has not gone
            return None
        self._apart = True
        return [(one.component, one.taken) for one in self.components() if one.taken]

    def next_said(self, *, now: float) -> list[Data | Control]:
        said: list[Data | Control] = []
        while (payload := self.session.next_control()) is not None:
            said.append(Control(payload))
        if self._behind is not None:
            self.session.enqueue(self._behind)
            self._behind = None
            payload = self.session.next_control()
            if payload is not None:
                said.append(Control(payload, behind=self._sent))
        return said

    def next_near(self, *, now: float, most: int) -> list[Data | Control]:
        said = self.next_said(now=now)
        grant = self.multiplexer.next_quantum(now, most)
        return said if grant is None else [*said, *self._pieces(grant)]

    def next_far(
        self, *, now: float, most: int, behind: int, ends: bool = False
    ) -> list[Data | Control]:
        chosen = self._far(behind, now, ends=ends)
        if chosen is None:
            self._budget.skipped(behind)
            return []
        leaf, length = chosen.leaf, min(chosen.length, most)
        if chosen.last:
            grant = self.multiplexer.grant_ahead(leaf, length, now)
            return [*self.next_said(now=now), *self._pieces(grant, skip=leaf.backlog)]
        grant = self.multiplexer.grant(leaf, length, now)
        return [*self.next_said(now=now), *self._pieces(grant, skip=chosen.skip)]

    def dropped(self) -> list[int]:
        dropped, self._dropped = list(self._dropped), set()
        return dropped

    def _pieces(self, grant: Grant, *, skip: int = 0) -> list[Data | Control]:
        """What was granted, behind what introduces it."""
        outgoing = self._introduced(grant)
        said = self.next_said(now=0.0)
        frames: list[Data] = []
        for offset, data in outgoing.take_pieces(grant.length, skip=skip):
            self.payload_sent += len(data)
            ends = outgoing.ends(offset + len(data)) and outgoing.epilogue is None
            outgoing.end_said |= ends
            frames.append(Data(outgoing.component, data, ends, offset))
        if grant.last:
            if not outgoing.end_said and outgoing.epilogue is None:
                frames.append(Data(outgoing.component, b"", True, outgoing.written))
            self._sent = outgoing.component, outgoing.written
            self._leave(outgoing)
            if not frames:
                return [*said, *self.next_said(now=0.0)]
        return [*said, *frames]

    # -- inside ------------------------------------------------------------------------------------

    def _granted(self, now: float) -> Data | None:
        """The quantum that the tree chooses; what introduces its component is queued."""
        grant = self.multiplexer.next_quantum(now)
        if grant is None:
            return None
        outgoing = self._introduced(grant)
        data = outgoing.take(grant.length)
        self.payload_sent += len(data)
        if grant.last:
            self._leave(outgoing)
        last = grant.last and outgoing.epilogue is None
        peer = self.session.peer
        told = peer is not None and abilities.PACED in peer.accepts
        return Data(outgoing.component, data, last, paced=told)

    def _introduced(self, grant: Grant) -> Outgoing:
        outgoing = self._by_leaf[grant.leaf]
        for message, headers in outgoing.preface:
            self.session.enqueue(message, headers)
        outgoing.preface = ()
        return outgoing

    def _leave(self, outgoing: Outgoing) -> None:
        """All of it has gone."""
        del self._by_leaf[outgoing.leaf]
        del self._by_component[outgoing.component]
        outgoing.close()
        self._behind = outgoing.epilogue
