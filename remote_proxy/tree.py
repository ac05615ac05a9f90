"""One device's transmission hierarchy: applications, documents, components by name.

Translates between names, as policies know them, and nodes, as hats knows them. Rules may name
nodes that do not exist yet ("*" stands for any name): they are kept and hold for later ones.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from hats.hierarchy import Hierarchy, Node
from hats.multiplexer import Multiplexer
from hats.registry import SchedulerError, create

APPLICATION: Final = "browser"
"""The one application there is so far; office documents will have their own."""
MAX_RULES: Final = 256
"""Standing scheduler and weight rules a device may set."""

Pattern = tuple[str, ...]
T = TypeVar("T")


def matches(pattern: Pattern, path: Pattern) -> bool:
    """Whether a rule's pattern, in which "*" stands for any one name, names this node."""
    return len(pattern) == len(path) and all(
        want in ("*", name) for want, name in zip(pattern, path, strict=True)
    )


class Tree:
    """The hierarchy, its multiplexer and the standing rules of one device."""

    def __init__(self, *, quantum: int) -> None:
        self.hierarchy = Hierarchy(root=create("wf2q_plus", {}))
        self.multiplexer = Multiplexer(self.hierarchy, quantum=quantum)
        self._schedulers: dict[Pattern, tuple[str, dict[str, Any]]] = {}
        self._weights: dict[Pattern, float] = {}
        self._application = self._interior(self.hierarchy.root, (APPLICATION,))

    def document(self, document: int) -> Node:
        """The node of a document, made when it is new."""
        path = (APPLICATION, str(document))
        node = self.hierarchy.find(path)
        return node if node is not None else self._interior(self._application, path)

    def component(
        self, document: int, component: int, *, kind: str, order: int, priority: int = 0
    ) -> Node:
        """A new leaf for a component, waiting for its first bytes."""
        return self.hierarchy.attach(
            self.document(document), str(component), kind=kind, order=order, priority=priority
        )

    def close_document(self, document: int) -> None:
        """The document and all that it holds leave."""
        path = (APPLICATION, str(document))
        node = self.hierarchy.find(path)
        if node is not None:
            self.hierarchy.remove(node)
        self._schedulers.pop(path, None)
        self._weights.pop(path, None)

    def set_scheduler(self, pattern: Pattern, name: str, params: dict[str, Any]) -> None:
        """Install a scheduler now and on all later nodes of that name. Raises SchedulerError."""
        create(name, params)  # refuse before anything changes
        if pattern not in self._schedulers and len(self._schedulers) >= MAX_RULES:
            raise SchedulerError(f"more than {MAX_RULES} scheduler rules")
        self._schedulers.pop(pattern, None)
        self._schedulers[pattern] = (name, params)
        for path, node in self._interiors():
            if matches(pattern, path):
                self.hierarchy.set_scheduler(node, create(name, params))

    def set_weight(self, pattern: Pattern, weight: float) -> None:
        """A share for a node, now and whenever it appears. Raises SchedulerError."""
        if not 0 < weight < 1e6:
            raise SchedulerError(f"weight {weight}: must be above 0 and below a million")
        if pattern not in self._weights and len(self._weights) >= MAX_RULES:
            raise SchedulerError(f"more than {MAX_RULES} weights")
        self._weights.pop(pattern, None)
        self._weights[pattern] = weight
        for path, node in self._interiors():
            if path and matches(pattern, path):
                self.hierarchy.set_weight(node, weight)

    def _interior(self, parent: Node, path: Pattern) -> Node:
        name, params = self._rule(self._schedulers, path) or ("wf2q_plus", {})
        return self.hierarchy.attach(
            parent,
            path[-1],
            scheduler=create(name, params),
            weight=self._rule(self._weights, path) or 1.0,
            keep=True,
        )

    @staticmethod
    def _rule(rules: dict[Pattern, T], path: Pattern) -> T | None:
        """The latest rule for this path; an exact name beats a pattern."""
        if path in rules:
            return rules[path]
        found = [rule for pattern, rule in rules.items() if matches(pattern, path)]
        return found[-1] if found else None

    def _interiors(self) -> list[tuple[Pattern, Node]]:
        """The root, the applications and the documents, with their paths."""
        found: list[tuple[Pattern, Node]] = [((), self.hierarchy.root)]
        for application in list(self.hierarchy.root.children):
            found.append(((application.name,), application))
            for document in list(application.children):
                found.append(((application.name, document.name), document))
        return found
