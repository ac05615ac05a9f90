"""Sends for a proxy: control messages first, then whatever its tree chooses.

The usual outbox of a link, for both directions. Nothing is decided before the link can take it
(HATS, section 3.2.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hats.multiplexer import Multiplexer
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
    ) -> None:
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

    def _granted(self, now: float) -> Data | None:
        """The quantum that the tree chooses; what introduces its component is queued."""
        grant = self.multiplexer.next_quantum(now)
        if grant is None:
            return None
        outgoing = self._by_leaf[grant.leaf]
        for message, headers in outgoing.preface:
            self.session.enqueue(message, headers)
        outgoing.preface = ()
        data = outgoing.take(grant.length)
        self.payload_sent += len(data)
        if grant.last:
            del self._by_leaf[grant.leaf]
            del self._by_component[outgoing.component]
            outgoing.close()
            self._behind = outgoing.epilogue
        last = grant.last and outgoing.epilogue is None
        peer = self.session.peer
        told = peer is not None and abilities.PACED in peer.accepts
        return Data(outgoing.component, data, last, told)
