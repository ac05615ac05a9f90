"""Sends bodies of requests and the inputs of tunnels up one link, each as its credit allows.

Talk in tunnels goes before transfers. Must not know: who asked, what comes down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hats.disciplines.registry import create
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget, Outgoing
from wire.session import Session

UPLOAD_QUANTUM: Final = 512
"""Bytes; uplinks of slow links are thin, and requests must not wait behind an upload."""
TALK_WEIGHT: Final = 8.0
"""Of a tunnel in which two ends talk, against 1 of an upload: its few bytes go next."""
UPLOAD_MEMORY: Final = 8 * 1024 * 1024


class Uploads:
    """The uploads of one session."""

    def __init__(self, session: Session, *, wake: Callable[[], None]) -> None:
        """`wake` is told that there is something to send."""
        self._hierarchy = Hierarchy(root=create("wf2q_plus", {}))
        multiplexer = Multiplexer(self._hierarchy, quantum=UPLOAD_QUANTUM)
        self.outbox = TreeOutbox(
            session, self._hierarchy, multiplexer, Budget(UPLOAD_MEMORY), wake=wake
        )

    def open(self, component: int, *, tunnel: bool) -> Outgoing:
        """The way up for a request's body, or the input of a tunnel in which two ends talk."""
        weight = TALK_WEIGHT if tunnel else 1.0
        leaf = self._hierarchy.attach(self._hierarchy.root, str(component), weight=weight)
        return self.outbox.open(component, leaf)

    def set_talk(self, up: Outgoing, talks: bool) -> None:
        """Whether a tunnel's input is talk, which goes before uploads, or a transfer."""
        if up.leaf.attached:
            self._hierarchy.set_weight(up.leaf, TALK_WEIGHT if talks else 1.0)

    def grant(self, component: int, amount: int) -> None:
        """The remote can take so many bytes more of it."""
        outgoing = self.outbox.get(component)
        if outgoing is not None:
            outgoing.grant(amount)

    def drop(self, component: int) -> bool:
        """Nothing more of it goes up; whether anything would have."""
        return self.outbox.drop(component)

    @property
    def under_way(self) -> bool:
        """Whether there are any."""
        return bool(self.outbox.components())

    def drop_all(self) -> None:
        """The link is gone."""
        for outgoing in self.outbox.components():
            self.outbox.drop(outgoing.component)
