"""Message queues and what is in them, as nodes of the hats tree (ATP, sections 3.2 and 3.3).

    root WF2Q+  >  queue: strict priority  >  priority level: EDF  >  message

A queue's share is 2 to the highest priority in use in it: one level more is twice the share. So a
queue's share rests on the difference of priorities alone, an application gains nothing by numbering
its levels from 100 and can't starve others, and the exponent is bounded (a queue at +8 has 65,536
times the share of one at -8). A level that runs empty no longer counts.

Pure. It must not know timers or what carries the bytes.
"""

from __future__ import annotations

from typing import Final

from hats.disciplines.edf import EarliestDeadlineFirst
from hats.disciplines.priority import Priority
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.node import Node
from transport.nai.errors import NaiError
from transport.nai.messages.message import NaiMessage

MOST_QUEUES: Final = 256
"""In use at a time."""
MAX_NAME: Final = 32
"""Bytes of a queue's name; it goes with the beginning of every message."""
_STEEPEST: Final = 8


def weight(priority: int) -> float:
    """A queue's weight, by the highest priority in use in it."""
    return 2.0 ** max(-_STEEPEST, min(_STEEPEST, priority))


class Queues:
    """The tree of what is queued."""

    def __init__(self, *, quantum: int) -> None:
        """`quantum`: bytes of a message in one segment that does not begin it."""
        self._tree = Hierarchy(root=WF2QPlus(), quantum=quantum)
        self._multiplexer = Multiplexer(self._tree, quantum=quantum)
        self._levels: dict[str, dict[int, Node]] = {}
        """Of each queue in use, the levels in use."""
        self._messages: dict[Node, NaiMessage] = {}

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def tree(self) -> Hierarchy:
        """The tree of queues, for statistics."""
        return self._tree

    def check_room(self, queue: str) -> None:
        """Raises NaiError if one of its messages would make one queue too many."""
        if queue not in self._levels and len(self._levels) >= MOST_QUEUES:
            raise NaiError(f"more than {MOST_QUEUES} message queues in use: wait for one")

    def put(self, message: NaiMessage, *, first: int) -> None:
        """Queue what is left of it. `first`: bytes of its next segment. Raises NaiError."""
        parent = self._level(message.queue, message.priority)
        message.node = leaf = self._tree.attach(
            parent, str(message.id), deadline=message.deadline, quantum=first
        )
        self._messages[leaf] = message
        self._tree.enqueue(leaf, message.left)
        self._tree.finish(leaf)

    def take_out(self, message: NaiMessage) -> None:
        """It is not to be sent, for now or for ever."""
        leaf = message.node
        assert leaf is not None, "a message that is not queued"
        del self._messages[leaf]
        message.node = None
        self._tree.remove(leaf)
        self._left(message.queue, message.priority)

    def messages(self) -> list[NaiMessage]:
        """All that are queued, in no order."""
        return list(self._messages.values())

    def next(self, now: float) -> tuple[NaiMessage, int, bool] | None:
        """Whose turn it is, how many bytes, and whether they are its last; then it has left."""
        grant = self._multiplexer.next_quantum(now)
        if grant is None:
            return None
        leaf, length, last = grant
        message = self._messages[leaf]
        if last:
            del self._messages[leaf]
            message.node = None
            self._left(message.queue, message.priority)
        elif leaf.quantum is not None:
            self._tree.set_quantum(leaf, None)
        return message, length, last

    def shares(self, queue: str, priority: int | None) -> dict[str, float]:
        """The share of each queue in use, 0 to 1, if `queue` had a message of that priority as
        well."""
        weights = {name: node.weight for name, node in self._tree.root.children.items()}
        if priority is not None:
            weights[queue] = max(weights.get(queue, 0.0), weight(priority))
        total = sum(weights.values())
        return {name: one / total for name, one in weights.items()}

    def _level(self, queue: str, priority: int) -> Node:
        levels = self._levels.get(queue)
        if levels is None:
            self.check_room(queue)
            levels = self._levels[queue] = {}
            node = self._tree.attach(self._tree.root, queue, scheduler=Priority())
        level = levels.get(priority)
        if level is None:
            node = self._tree.root.children[queue]
            level = levels[priority] = self._tree.attach(
                node, str(priority), scheduler=EarliestDeadlineFirst(), priority=priority
            )
            self._reweigh(queue, levels)
        return level

    def _left(self, queue: str, priority: int) -> None:
        """A message left: its level and its queue left with it if they are empty."""
        levels = self._levels[queue]
        if levels[priority].attached:
            return
        del levels[priority]
        if levels:
            self._reweigh(queue, levels)
        else:
            del self._levels[queue]

    def _reweigh(self, queue: str, levels: dict[int, Node]) -> None:
        node, wanted = self._tree.root.children[queue], weight(max(levels))
        if node.weight != wanted:
            self._tree.set_weight(node, wanted)


def check_queue(name: str) -> str:
    if not isinstance(name, str) or len(name.encode(errors="replace")) > MAX_NAME:
        raise NaiError(f"queue {name!r}: a name of at most {MAX_NAME} bytes")
    return name
