"""A map of which frozen copies are cheap: what has not changed since the last one is shared.

Policies get a view after nearly each event, of a session that may have thousands of components; to
copy them all took milliseconds. Here a copy costs what has changed and one entry for every 64 more.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar

_SHELF_BITS: Final = 6
"""64 entries are copied together: with thousands of them it costs as much to copy one shelf as the
list of all shelves."""

Value = TypeVar("Value")


class Frozen(Mapping[int, Value]):
    """What the map held at one moment; never altered, so any thread may read it."""

    __slots__ = ("_length", "_shelves")

    def __init__(self, shelves: Mapping[int, Mapping[int, Value]], length: int) -> None:
        self._shelves = shelves
        self._length = length

    def __getitem__(self, key: int) -> Value:
        try:
            return self._shelves[key >> _SHELF_BITS][key]
        except TypeError:  # a policy asks for what is no id
            raise KeyError(key) from None

    def __iter__(self) -> Iterator[int]:
        for shelf in self._shelves.values():
            yield from shelf

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<{self._length} entries>"


class Snapshots(Generic[Value]):
    """The map itself, from ids to values that are never altered."""

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}
        self._shelves: dict[int, dict[int, Value]] = {}
        """Frozen: a shelf that has changed is made anew when the next copy is taken."""
        self._keys: dict[int, dict[int, None]] = {}
        """The keys of each shelf, in the order in which they came."""
        self._changed: set[int] = set()
        self._frozen: Frozen[Value] = Frozen({}, 0)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __getitem__(self, key: int) -> Value:
        return self._values[key]

    def get(self, key: int) -> Value | None:
        """The value, or None."""
        return self._values.get(key)

    def __setitem__(self, key: int, value: Value) -> None:
        shelf = key >> _SHELF_BITS
        self._values[key] = value
        self._keys.setdefault(shelf, {})[key] = None
        self._changed.add(shelf)

    def discard(self, key: int) -> None:
        """Forget it, if it is there."""
        if key not in self._values:
            return
        shelf = key >> _SHELF_BITS
        del self._values[key], self._keys[shelf][key]
        if not self._keys[shelf]:
            del self._keys[shelf]
        self._changed.add(shelf)

    def freeze(self) -> Frozen[Value]:
        """All of it as it is now."""
        if self._changed:
            shelves = dict(self._shelves)
            for shelf in self._changed:
                keys = self._keys.get(shelf)
                if keys is None:
                    shelves.pop(shelf, None)
                else:
                    shelves[shelf] = {key: self._values[key] for key in keys}
            self._shelves = shelves
            self._changed.clear()
            self._frozen = Frozen(shelves, len(self._values))
        return self._frozen
