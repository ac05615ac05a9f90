"""The transmission hierarchy: what is under way to one device, and who may send (HATS, 3.2.1).

Root > applications > documents > components. Every interior node has a scheduler; every leaf a
backlog, counted in bytes that somebody else keeps. The rules of the paper that are kept here:

- A node is ready, waiting or disabled; data make a waiting node ready.
- Leaves leave when they are finished and sent, interior nodes when their last child has left,
  unless they were told to stay (`keep`) and not yet told to `finish`.
- A disabled node is enabled again only by an ancestor at least as high as its disabler; what
  "enabled" means for strategies is in hats/tree/holds.py.
- Bandwidth is distributed top-down; only the ready children of ready nodes are offered upwards.

What follows from a change for the nodes above it is worked out by hats/tree/readiness.py. The
hierarchy knows neither time nor bytes nor what a kind means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hats.tree import holds, watchers
from hats.tree.errors import HierarchyError
from hats.tree.node import NO_MARK, Node
from hats.tree.readiness import Readiness, add_backlog, changed, pass_marks
from hats.tree.rules import (
    MAX_DEPTH,
    check_ancestor,
    check_attached,
    check_bytes,
    check_deadline,
    check_leaf,
    check_marks,
    check_may_enable,
    check_quantum,
    check_rate,
    check_weight,
)
from hats.tree.scheduler import DynamicScheduler, Scheduler
from hats.tree.statistics import NodeStatistics, picture
from hats.tree.watchers import DynamicSchedulers

DEFAULT_QUANTUM = 1024
"""Bytes: 0.6 % of headers; 21 ms at 384 kbit/s (HATS, section 4.2, compares 256 and 1024)."""


class Hierarchy:
    """The tree of one device, in one direction. All methods raise HierarchyError on wrong use."""

    def __init__(self, *, root: Scheduler, quantum: int = DEFAULT_QUANTUM) -> None:
        self.quantum = check_quantum(quantum)
        """Bytes of a full quantum where no node says otherwise."""
        self._serial = 0
        self._readiness = Readiness()
        self.dynamic = DynamicSchedulers()
        """For the multiplexer, which asks at every quantum whether any has work to do."""
        self.root = Node("", None, serial=0)
        self.root.keep = True
        root.bind(self, self.root)
        self._install(self.root, root)

    def __repr__(self) -> str:
        return f"<Hierarchy backlog={self.root.backlog} sent={self.root.sent}>"

    # -- structure ---------------------------------------------------------------------------

    def attach(
        self,
        parent: Node,
        name: str,
        *,
        scheduler: Scheduler | None = None,
        kind: str = "",
        order: int = 0,
        weight: float = 1.0,
        priority: int = 0,
        deadline: float | None = None,
        quantum: int | None = None,
        size: int | None = None,
        keep: bool = False,
    ) -> Node:
        """Add a node; with a scheduler it is an interior one, else a leaf.

        `deadline` is seconds on the caller's clock, `quantum` and `size` are bytes.
        """
        check_attached(parent)
        if parent.scheduler is None:
            raise HierarchyError(f"{parent!r} is a leaf and can't have children")
        if name in parent.children:
            raise HierarchyError(f"{parent!r} has a child {name!r} already")
        if parent.depth + 1 > MAX_DEPTH:
            raise HierarchyError(f"{name!r} would be deeper than {MAX_DEPTH} levels")
        self._serial += 1
        node = Node(name, parent, serial=self._serial)
        node.kind, node.order, node.priority = kind, order, priority
        node.deadline = check_deadline(deadline)
        node.weight = check_weight(weight)
        node.quantum = None if quantum is None else check_quantum(quantum)
        node.size = None if size is None else check_bytes(size)
        node.keep = keep
        if scheduler is not None:
            scheduler.bind(self, node)
            self._install(node, scheduler)
        parent.children[name] = node
        parent.scheduler.attach(node)
        if scheduler is None:
            watchers.changed(node)
        return node

    def remove(self, node: Node) -> None:
        """Take the node out with its subtree, sent or not. One that has left already is ignored."""
        if node.parent is None:
            raise HierarchyError("the root can't be removed")
        if node.attached:
            self._detach(node)
            self._prune(node.parent)

    def finish(self, node: Node) -> None:
        """No more will come: the node leaves once it is sent, or once it has no children left.

        A leaf with nothing queued becomes ready for a last grant of 0 bytes, so that its end
        reaches the peer.
        """
        check_attached(node)
        if node.scheduler is not None:
            if node.parent is None:
                raise HierarchyError("the root can't be finished")
            node.keep = False
            node.finished = True
            self._prune(node)
        elif not node.finished:
            node.finished = True
            if not node.backlog:
                self._readiness.arrive(node)

    def find(self, path: Sequence[str]) -> Node | None:
        """The node of that path from below the root; the root for an empty one."""
        node: Node | None = self.root
        for name in path:
            node = node.children.get(name) if node is not None else None
        return node

    def path(self, node: Node) -> tuple[str, ...]:
        """Names from below the root down to the node, also of one that has left."""
        names: list[str] = []
        while node.parent is not None:
            names.append(node.name)
            node = node.parent
        return tuple(reversed(names))

    def leaves(self, node: Node | None = None) -> Iterator[Node]:
        """All leaves at or below the node (default: all), in order of attachment per parent."""
        node = self.root if node is None else node
        if node.scheduler is None:
            yield node
        for child in tuple(node.children.values()):
            yield from self.leaves(child)

    # -- data --------------------------------------------------------------------------------

    def enqueue(self, leaf: Node, nbytes: int) -> None:
        """So many more bytes are there to send: a waiting leaf becomes ready."""
        check_leaf(leaf)
        if leaf.finished:
            raise HierarchyError(f"{leaf!r} was finished")
        if not check_bytes(nbytes):
            return
        was_pending = leaf.pending
        add_backlog(leaf, nbytes)
        if was_pending or not leaf.pending:
            changed(leaf)
        else:
            self._readiness.arrive(leaf)

    def unqueue(self, leaf: Node, nbytes: int) -> None:
        """So many of the bytes queued last were taken back, unsent."""
        check_leaf(leaf)
        if check_bytes(nbytes) > leaf.backlog:
            raise HierarchyError(f"{leaf!r} has no {nbytes} bytes to take back")
        add_backlog(leaf, -nbytes)
        changed(leaf)
        self._readiness.refresh(leaf)

    def sent(self, leaf: Node, length: int, *, now: float) -> bool:
        """The multiplexer granted `length` bytes to a leaf: the one that the schedulers selected,
        or one that goes before it, which is charged for all the same where it was ready.

        Returns whether they were its last; then the leaf has left.
        """
        leaf.sent += length
        self._charge(leaf, length, now)
        if leaf.sent == leaf.next_mark:
            pass_marks(leaf)
            changed(leaf)
        if leaf.backlog:
            if leaf.sent >= leaf.limit:
                self._stop(leaf)
            return False
        if leaf.finished:
            assert leaf.parent is not None
            self._detach(leaf)
            self._prune(leaf.parent)
            return True
        self._stop(leaf)
        return False

    def sent_ahead(self, leaf: Node, length: int, *, now: float) -> None:
        """So many bytes at the end of a leaf that is finished go before those before them, of which
        there are some: its marks are reached as if these were still to come."""
        check_leaf(leaf)
        if not leaf.finished or not 0 < check_bytes(length) < leaf.backlog:
            raise HierarchyError(f"{leaf!r} has no {length} bytes behind others at its end")
        leaf.ahead += length
        self._charge(leaf, length, now)

    def _charge(self, leaf: Node, length: int, now: float) -> None:
        leaf.served_at = now
        leaf.backlog -= length
        child, parent = leaf, leaf.parent
        while parent is not None:
            parent.sent += length
            parent.backlog -= length
            if child.ready:
                parent.scheduler.charge(child, length)  # type: ignore[union-attr]
            child, parent = parent, parent.parent

    def set_marks(self, leaf: Node, marks: Sequence[int]) -> None:
        """The absolute offsets, bytes, at which the leaf's fidelity levels end, coarse to fine."""
        check_leaf(leaf)
        leaf.marks = check_marks(marks)
        pass_marks(leaf)
        changed(leaf)

    def set_limit(self, leaf: Node, limit: int | None) -> None:
        """The offset, bytes, at which the leaf stops until it is told another; None: at its end.

        What lies behind stays queued, and the leaf waits as if it had nothing (HATS, 3.2.1).
        """
        check_leaf(leaf)
        leaf.limit = NO_MARK if limit is None else check_bytes(limit)
        if leaf.pending:
            self._readiness.arrive(leaf)
        else:
            self._stop(leaf)

    # -- parameters --------------------------------------------------------------------------

    def set_scheduler(self, node: Node, scheduler: Scheduler) -> None:
        """Replace the node's scheduler; the very next quantum is chosen by the new one."""
        check_attached(node)
        old = node.scheduler
        if old is None:
            raise HierarchyError(f"{node!r} is a leaf and can't have a scheduler")
        scheduler.bind(self, node)
        self.dynamic.uninstall(old)
        if isinstance(old, DynamicScheduler):
            self.silence(node, old)
        self._install(node, scheduler)
        for child in node.children.values():
            scheduler.attach(child)
        for child in sorted(node.children.values(), key=lambda child: child.arrived):
            if child.ready:
                scheduler.ready(child)
        if isinstance(scheduler, DynamicScheduler):
            for leaf in self.leaves(node):
                scheduler.leaf_changed(leaf)

    def set_weight(self, node: Node, weight: float) -> None:
        """The node's share among its siblings (MIN_WEIGHT to MAX_WEIGHT)."""
        check_attached(node)
        node.weight = check_weight(weight)
        changed(node)

    def set_order(self, node: Node, order: int) -> None:
        """The node's place among its siblings, smallest first."""
        check_attached(node)
        node.order = order
        changed(node)

    def set_priority(self, node: Node, priority: int) -> None:
        """The node's urgency among its siblings, highest first."""
        check_attached(node)
        node.priority = priority
        changed(node)

    def set_deadline(self, node: Node, deadline: float | None) -> None:
        """Seconds on the caller's clock; None: none."""
        check_attached(node)
        node.deadline = check_deadline(deadline)
        changed(node)

    def set_kind(self, leaf: Node, kind: str) -> None:
        """What the leaf turned out to be."""
        check_leaf(leaf)
        watchers.left(leaf)
        leaf.kind = kind
        changed(leaf)

    def set_size(self, leaf: Node, size: int | None) -> None:
        """Bytes that the component will have, None: not known."""
        check_leaf(leaf)
        leaf.size = None if size is None else check_bytes(size)
        changed(leaf)

    def set_quantum(self, node: Node, quantum: int | None) -> None:
        """Bytes of a quantum for the node and its subtree; None: as its parent."""
        check_attached(node)
        node.quantum = None if quantum is None else check_quantum(quantum)

    def bandwidth_changed(self, rate: float) -> None:
        """Tell the dynamic schedulers that the link carries `rate` bytes/second."""
        self.dynamic.bandwidth_changed(check_rate(rate))

    # -- disabling ---------------------------------------------------------------------------

    def disable(self, node: Node, *, by: Node) -> None:
        """Forbid the node to send, in the name of an ancestor of it."""
        check_ancestor(node, by)
        if by not in node.holds:
            self._set_holds(node, holds.disabled(node, by))

    def enable(self, node: Node, *, by: Node) -> None:
        """Let the node send: what `by`, ancestors below it and their schedulers say against it
        counts no more, until `by` withdraws this or somebody as high disables the node.

        Raises HierarchyError if an ancestor higher than `by`, or its scheduler, disables the node.
        """
        check_may_enable(node, by)
        self.settle()  # what strategies have not got round to yet is lifted as well
        check_may_enable(node, by)
        self._set_holds(node, holds.enabled(node, by))

    def withdraw(self, node: Node, *, by: Node) -> None:
        """Take back what was commanded in `by`'s name, either way; the rest stays as it is."""
        check_ancestor(node, by)
        self._set_holds(node, holds.withdrawn(node, by))

    def hold(self, node: Node, scheduler: Scheduler) -> None:
        """A scheduler disables a descendant for as long as its strategy asks for it; without force
        while somebody as high enables it."""
        if scheduler not in node.holds and scheduler not in node.overruled:
            self._set_holds(node, holds.held(node, scheduler), told=scheduler.office)

    def overrule(self, node: Node, scheduler: Scheduler) -> None:
        """A scheduler's strategy asks that a descendant sends whatever schedulers below it say."""
        check_ancestor(node, scheduler.node)
        if scheduler not in node.enablers:
            self._set_holds(node, holds.overruled(node, scheduler), told=scheduler.office)

    def release(self, node: Node, scheduler: Scheduler) -> None:
        """The scheduler says nothing more of the node, neither way; what others say stays."""
        if scheduler in node.holds or scheduler in node.overruled or scheduler in node.enablers:
            self._set_holds(node, holds.withdrawn(node, scheduler), told=scheduler.office)

    def silence(self, node: Node, scheduler: Scheduler) -> None:
        """Whatever a scheduler has said of nodes below this one counts no more."""
        for child in node.children.values():
            self.release(child, scheduler)
            self.silence(child, scheduler)

    def unsettled(self, scheduler: DynamicScheduler) -> None:
        """A dynamic scheduler has work to do before the next quantum is chosen."""
        office = scheduler.office
        if isinstance(office, DynamicScheduler):
            self.dynamic.unsettled[office] = None

    def settle(self) -> None:
        """Let the dynamic schedulers do what the events since the last quantum call for.

        The highest goes first, so that the strategy of an ancestor prevails.
        """
        self.dynamic.settle()

    def statistics(self) -> NodeStatistics:
        """An immutable picture of the whole tree."""
        return picture(self.root)

    # -- inside ------------------------------------------------------------------------------

    def _install(self, node: Node, scheduler: Scheduler) -> None:
        node.scheduler = scheduler
        self.dynamic.install(node, scheduler)

    def _stop(self, leaf: Node) -> None:
        """It has nothing more that it may send."""
        self._readiness.refresh(leaf)
        watchers.changed(leaf)

    def _detach(self, node: Node) -> None:
        """Take a subtree out from the leaves upwards; ancestors stay as they are."""
        for child in tuple(node.children.values()):
            self._detach(child)
        parent = node.parent
        assert parent is not None and parent.scheduler is not None
        if node.backlog:
            add_backlog(node, -node.backlog)
        node.attached = False
        if node.scheduler is None:
            watchers.left(node)
        else:
            self.dynamic.uninstall(node.scheduler)
        self._readiness.refresh(node)
        parent.scheduler.detach(node)
        del parent.children[node.name]

    def _prune(self, node: Node) -> None:
        """Interior nodes leave when their last child has left, and so on upwards."""
        while not node.children and not node.keep and node.attached:
            parent = node.parent
            assert parent is not None, "the root stays"
            self._detach(node)
            node = parent

    def _set_holds(
        self, node: Node, who: tuple[Node | Scheduler, ...], *, told: Scheduler | None = None
    ) -> None:
        """Who disables the node changes; dynamic schedulers above it hear of it, but `told`."""
        if who == node.holds:
            return
        node.holds = who
        concerned = (node,) if node.scheduler is None else tuple(self.leaves(node))
        for watcher in watchers.watchers(node):
            if watcher is not told:
                for leaf in concerned:
                    watcher.leaf_changed(leaf)
        self._readiness.refresh(node)
