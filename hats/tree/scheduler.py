"""The interface of schedulers: how an interior node chooses among its children.

A scheduler sees (child, length), never bytes. The hierarchy tells it which children are ready;
it answers `select` with one of them; it is told what that child was granted (`charge`).

    attach -> [ready -> (select -> charge)* -> waiting]* -> detach

Static schedulers know their children only. Dynamic ones (HATS, section 3.2.2) also hear of the
leaves anywhere below them and of the link's bandwidth, and may disable, enable and re-parameterise
their descendants through the hierarchy.
"""

# ruff: noqa: B027 - hooks that most schedulers have no use for are empty, not abstract

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from hats.tree.errors import SchedulerError
from hats.tree.heap import Key, NodeHeap
from hats.tree.node import Node

if TYPE_CHECKING:
    from hats.tree.hierarchy import Hierarchy


class Scheduler(ABC):
    """Chooses among the children of one node. Bound to that node for as long as it is in use."""

    __slots__ = ("_node", "_office", "_tree")

    name: ClassVar[str] = ""
    """What policies call it on the wire."""

    def __init__(self) -> None:
        self._tree: Hierarchy | None = None
        self._node: Node | None = None
        self._office: Scheduler = self

    @property
    def office(self) -> Scheduler:
        """The scheduler that the node knows: this one, or the one that asks it for answers."""
        return self._office

    def serve_in(self, office: Scheduler) -> None:
        """Answer for another scheduler, which is the one that is installed at the node."""
        self._office = office

    @property
    def node(self) -> Node:
        """The node whose children it chooses among. Raises SchedulerError while it has none."""
        if self._node is None:
            raise SchedulerError(f"scheduler {self.name!r} is not in use")
        return self._node

    @property
    def tree(self) -> Hierarchy:
        """The hierarchy it is in. Raises SchedulerError while it is in none."""
        if self._tree is None:
            raise SchedulerError(f"scheduler {self.name!r} is not in use")
        return self._tree

    def bind(self, tree: Hierarchy, node: Node) -> None:
        """Take office at `node`. Raises SchedulerError if it is in office or was before."""
        if self._node is not None:
            raise SchedulerError(f"scheduler {self.name!r} already serves {self._node.name!r}")
        self._tree, self._node = tree, node

    def unbind(self) -> None:
        """Leave office: undo whatever it did to its descendants. It can't be used again."""

    def attach(self, child: Node) -> None:
        """A child was added; it is not ready yet."""

    def detach(self, child: Node) -> None:
        """A child leaves; if it was ready, `waiting` came before."""

    @abstractmethod
    def ready(self, child: Node) -> None:
        """The child can be selected from now on."""

    @abstractmethod
    def waiting(self, child: Node) -> None:
        """The child can't be selected until it is ready again."""

    @abstractmethod
    def select(self) -> Node:
        """The child to serve next. Asked only while a child is ready; asking changes no order."""

    def charge(self, child: Node, length: int) -> None:
        """A ready child was granted so many bytes, possibly none; it is still ready. The one that
        was selected, unless another goes before it (hats/appointments.py)."""

    def changed(self, child: Node) -> None:
        """Something an order may rest on has changed: weight, order, size, level reached ..."""


class KeyScheduler(Scheduler):
    """Serves the ready child with the smallest key until it has nothing left."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        super().__init__()
        self._heap = NodeHeap()

    @abstractmethod
    def key(self, child: Node) -> Key:
        """Where the child stands, smallest first; equal ones by age."""

    def ready(self, child: Node) -> None:
        self._heap.put(child, self.key(child))

    def waiting(self, child: Node) -> None:
        self._heap.discard(child)

    def select(self) -> Node:
        entry = self._heap.first()
        assert entry is not None, "asked to select without a ready child"
        return entry[2]

    def changed(self, child: Node) -> None:
        old = self._heap.key(child)
        if old is not None and old != (new := self.key(child)):
            self._heap.put(child, new)


class DynamicScheduler(Scheduler):
    """A static discipline that reconfigures itself and its subtree when something happens.

    The hierarchy reports every leaf below it and the bandwidth. What takes work over many leaves
    belongs in `settle`, which runs once before the next quantum however many events came before;
    ask for it with `tree.unsettled(self)`.
    """

    __slots__ = ("inner",)

    def __init__(self, inner: Scheduler) -> None:
        """Raises SchedulerError if `inner` is dynamic: it would not hear of the leaves below."""
        super().__init__()
        if isinstance(inner, DynamicScheduler):
            raise SchedulerError(f"{self.name}: {inner.name!r} is not a static scheduler")
        self.inner = inner

    def leaf_changed(self, leaf: Node) -> None:
        """Hierarchy and progress events of a leaf anywhere below: it was attached, got its first
        data or ran out of it, was disabled or enabled by another, given other parameters, reached
        a fidelity level."""

    def leaf_left(self, leaf: Node) -> None:
        """A leaf below has sent all it had, or was removed."""

    def bandwidth_changed(self, rate: float) -> None:
        """The link now carries `rate` bytes/second."""

    def settle(self) -> None:
        """Bring the subtree in line with what the events said."""

    def bind(self, tree: Hierarchy, node: Node) -> None:
        super().bind(tree, node)
        self.inner.bind(tree, node)

    def attach(self, child: Node) -> None:
        self.inner.attach(child)

    def detach(self, child: Node) -> None:
        self.inner.detach(child)

    def ready(self, child: Node) -> None:
        self.inner.ready(child)

    def waiting(self, child: Node) -> None:
        self.inner.waiting(child)

    def select(self) -> Node:
        return self.inner.select()

    def charge(self, child: Node, length: int) -> None:
        self.inner.charge(child, length)

    def changed(self, child: Node) -> None:
        self.inner.changed(child)
