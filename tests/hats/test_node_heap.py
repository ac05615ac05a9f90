"""The heap with lazy deletion against a sorted list."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hats.tree.heap import NodeHeap
from hats.tree.node import Node

NODES = [Node(str(serial), None, serial=serial) for serial in range(8)]


@given(st.lists(st.tuples(st.integers(0, 7), st.none() | st.integers(-3, 3)), max_size=120))
def test_first_is_the_smallest_key_then_the_oldest(script: list[tuple[int, int | None]]) -> None:
    heap, model = NodeHeap(), dict[int, int]()
    for which, key in script:
        if key is None:
            heap.discard(NODES[which])
            model.pop(which, None)
        else:
            heap.put(NODES[which], (key,))
            model[which] = key
        first = heap.first()
        smallest = min(((key, which) for which, key in model.items()), default=None)
        assert (first and (first[0][0], first[1])) == smallest
        assert heap.key(NODES[which]) == ((key,) if key is not None else None)


def test_stale_entries_do_not_pile_up() -> None:
    heap = NodeHeap()
    for turn in range(1000):
        heap.put(NODES[turn % 8], (turn,))
    assert heap.entries <= 2 * 8 + 16
