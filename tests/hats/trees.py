"""Trees of applications and documents on demand; their service order is a string."""

from __future__ import annotations

from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from hats.tree.invariants import check
from hats.tree.node import Node
from hats.tree.scheduler import Scheduler

Q = 100


class Tree:
    """Applications and documents on demand; leaves by a name such as "a/1/t"."""

    def __init__(self, root: Scheduler, app: type[Scheduler], doc: type[Scheduler]) -> None:
        self.hierarchy = Hierarchy(root=root)
        self.mux = Multiplexer(self.hierarchy, quantum=Q)
        self.app, self.doc = app, doc

    def leaf(
        self,
        path: str,
        nbytes: int = 0,
        *,
        kind: str = "image",
        marks: tuple[int, ...] = (),
        finish: bool = True,
        order: int = 0,
        size: int | None = None,
    ) -> Node:
        parent = self.hierarchy.root
        *above, name = path.split("/")
        for step, scheduler in zip(above, (self.app, self.doc), strict=False):
            child = parent.children.get(step)
            parent = child or self.hierarchy.attach(parent, step, scheduler=scheduler(), keep=True)
        leaf = self.hierarchy.attach(parent, name, kind=kind, order=order, size=size)
        self.hierarchy.set_marks(leaf, marks)
        self.hierarchy.enqueue(leaf, nbytes)
        if finish:
            self.hierarchy.finish(leaf)
        return leaf

    def serve(self, picks: int = 1000) -> str:
        served = []
        for _ in range(picks):
            grant = self.mux.next_quantum(0.0)
            if grant is None:
                break
            served.append(grant.leaf.name)
            check(self.hierarchy)
        return ",".join(served)


def picture(tree: Tree, path: str, *, order: int = 0) -> Node:
    """Four levels of one quantum each, and 4 KB in all."""
    return tree.leaf(path, 4 * Q, marks=(Q, 2 * Q, 3 * Q), order=order)
