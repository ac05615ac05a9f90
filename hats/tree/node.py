"""A node of the transmission hierarchy: an application, a document or a component (HATS, 3.2.1).

A record without behaviour. Only the hierarchy writes to it; schedulers, policies and tests read
it. Leaves have no scheduler; interior nodes have one that chooses among their children.

It must not know what a `kind` means, nor anything of sessions and bytes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from hats.tree.scheduler import DynamicScheduler, Scheduler

NO_MARK: Final = 1 << 62
"""A byte offset that no component reaches."""
MIN_WEIGHT: Final = 0.001
MAX_WEIGHT: Final = 100_000.0
"""A share of .99 against a thousand rivals of weight 1; WF2Q+ reckons it right to 0.5 %."""


class NodeState(StrEnum):
    """HATS, section 3.2.1."""

    READY = "ready"
    """Has data to send and may send it."""
    WAITING = "waiting"
    """Has no data queued."""
    DISABLED = "disabled"
    """An ancestor forbids it to send, whatever it has."""


class Node:
    """One node; identity is equality. Byte counts of an interior node sum its subtree's."""

    __slots__ = (
        "ahead",
        "arrived",
        "attached",
        "backlog",
        "children",
        "deadline",
        "depth",
        "enablers",
        "finished",
        "holds",
        "keep",
        "kind",
        "level_reached",
        "limit",
        "marks",
        "name",
        "next_mark",
        "order",
        "overruled",
        "parent",
        "priority",
        "quantum",
        "ready",
        "ready_children",
        "scheduler",
        "sent",
        "serial",
        "served_at",
        "size",
        "watchers",
        "weight",
    )

    def __init__(self, name: str, parent: Node | None, *, serial: int) -> None:
        self.name = name
        self.parent = parent
        """Stays set when the node has left the tree."""
        self.serial = serial
        """Counts attachments to the hierarchy: ties between siblings break by it."""
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: dict[str, Node] = {}
        self.scheduler: Scheduler | None = None
        self.watchers: tuple[DynamicScheduler, ...] = ()
        """Interior: the dynamic schedulers from the root down to this node."""
        self.attached = True
        self.keep = False
        """Interior: stays although it has no children."""

        self.kind, self.order = "", 0
        self.weight = 1.0
        self.priority = 0
        """Higher goes first."""
        self.deadline: float | None = None
        """Seconds on the caller's clock; None: none."""
        self.quantum: int | None = None
        """Bytes; overrides the multiplexer's for the node and its subtree."""
        self.size: int | None = None
        """Bytes the component will have, if known."""

        self.backlog = 0
        """Bytes queued."""
        self.sent = 0
        self.ahead = 0
        """Bytes at its end that have gone before those before them: neither queued nor `sent`."""
        self.marks: tuple[int, ...] = ()
        """Absolute offsets, bytes, at which fidelity levels end."""
        self.level_reached = 0
        """How many marks have been passed."""
        self.next_mark = NO_MARK
        self.limit = NO_MARK
        """Offset, bytes, at which the leaf stops until its limit is moved."""
        self.finished = False
        """No more data will come; the node leaves when what it has is sent."""
        self.served_at: float | None = None
        """When the node got its last quantum, on the clock of the multiplexer's caller."""

        self.holds: tuple[Node | Scheduler, ...] = ()
        """Who disables it: an ancestor (a command) or an ancestor's scheduler (its strategy)."""
        self.enablers: tuple[Node | Scheduler, ...] = ()
        """Who wants it enabled whatever the schedulers at their height and below say."""
        self.overruled: tuple[Scheduler, ...] = ()
        """Schedulers that hold it without force, because of one of those (hats/tree/holds.py)."""
        self.ready = False
        """What the parent's scheduler believes: the node can be selected."""
        self.ready_children = 0
        self.arrived = 0
        """Counts upwards over the hierarchy each time a node gets something to send."""

    @property
    def state(self) -> NodeState:
        if self.holds:
            return NodeState.DISABLED
        return NodeState.READY if self.ready else NodeState.WAITING

    @property
    def pending(self) -> bool:
        """A leaf with something to send below its limit, be it only the fact that it has ended."""
        return self.sent < self.limit if self.backlog else self.finished

    @property
    def total(self) -> int:
        """Bytes of the component, as far as is known."""
        return self.sent + self.backlog + self.ahead if self.size is None else self.size

    def __repr__(self) -> str:
        what = self.scheduler.name if self.scheduler is not None else self.kind or "leaf"
        return f"<Node {self.name!r} {what} {self.state} backlog={self.backlog} sent={self.sent}>"
