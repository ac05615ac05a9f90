"""A bounded set that forgets what was added long ago. Must not know what is in it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator


class Latest:
    """A set that forgets what was added long ago."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, one: str) -> bool:
        return one in self._known

    def add(self, one: str) -> None:
        self._known[one] = None
        self._known.move_to_end(one)
        if len(self._known) > self._limit:
            self._known.popitem(last=False)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def discard(self, one: str) -> None:
        self._known.pop(one, None)
