"""Keeps what a device says of nodes of its tree by name, those that are not there yet included.

A rule's pattern names one node, or several by "*", which stands for any one name. A device may
say as much as it likes of nodes that are there, for that leaves with them; of others only so much.
Each question costs the same however many rules there are: a path has a name or "*" in each of at
most three places, so eight patterns at most can name it, and these are looked up. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Final, Generic, TypeVar

from hats.tree.errors import SchedulerError

MAX_RULES: Final = 256
"""Rules that a device may set for nodes which are not there yet."""
MAX_NAMES: Final = 3
"""Names on the path of a node: application, document, component."""
MAX_NAME: Final = 64
"""Characters of a name; ids have twenty at most."""
ANY: Final = "*"

Pattern = tuple[str, ...]
T = TypeVar("T")


def matches(pattern: Pattern, path: Pattern) -> bool:
    """Whether a rule's pattern, in which "*" stands for any one name, names this node."""
    return len(pattern) == len(path) and all(
        want in (ANY, name) for want, name in zip(pattern, path, strict=True)
    )


class StandingRules(Generic[T]):
    """Rules of one kind, by the names of the nodes that they are about."""

    def __init__(self, what: str) -> None:
        """`what`: how an error calls them."""
        self._what = what
        self._rules: dict[Pattern, tuple[int, T]] = {}
        """Each with its number: the latest has the highest."""
        self._given = 0
        self._standing: set[Pattern] = set()
        """Patterns with "*", and exact ones whose nodes are not there."""
        self._wild: set[Pattern] = set()
        """Those with "*"."""
        self._below: dict[Pattern, set[Pattern]] = {}
        """Patterns by what they have but for the last name."""

    def put(self, pattern: Pattern, rule: T, *, present: bool) -> None:
        """The latest word on these nodes; `present`: a node of exactly this name is there.

        Raises SchedulerError for one rule too many about nodes that are not, and for a path that
        no node can have.
        """
        if len(pattern) > MAX_NAMES or any(len(name) > MAX_NAME for name in pattern):
            raise SchedulerError("no node has such a path")
        if ANY in pattern or not present:
            if pattern not in self._standing and self.standing >= MAX_RULES:
                raise SchedulerError(f"more than {MAX_RULES} {self._what} for later nodes")
            self._standing.add(pattern)
        if ANY in pattern:
            self._wild.add(pattern)
        self._given += 1
        self._rules[pattern] = self._given, rule
        self._below.setdefault(pattern[:-1], set()).add(pattern)

    @property
    def standing(self) -> int:
        """How many are about nodes that are not there, or may come."""
        return len(self._standing)

    def enter(self, path: Pattern) -> T | None:
        """What holds for a node that appears: an exact name before the latest pattern."""
        self._standing.discard(path)
        if path in self._rules:
            return self._rules[path][1]
        if not self._wild:
            return None
        patterns = product(*((name, ANY) for name in path))
        found = [self._rules[pattern] for pattern in patterns if pattern in self._wild]
        return max(found, key=lambda rule: rule[0])[1] if found else None

    def leave(self, path: Pattern) -> None:
        """The node is gone, and what was said of it alone and of those right below it."""
        if path:
            for below in self._below.pop(path, ()):
                self._forget(below)
        self._forget(path)

    def forget_if(self, gone: Callable[[Pattern], bool]) -> None:
        """Forget the exact rules of nodes that have left unseen."""
        for pattern in [one for one in self._rules if ANY not in one and gone(one)]:
            self._forget(pattern)

    def _forget(self, pattern: Pattern) -> None:
        self._rules.pop(pattern, None)
        self._standing.discard(pattern)
        self._wild.discard(pattern)
        beside = self._below.get(pattern[:-1])
        if beside is not None:
            beside.discard(pattern)
            if not beside:
                del self._below[pattern[:-1]]
