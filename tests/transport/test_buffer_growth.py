"""A receive buffer is widened where it limits what several paths bring, and nowhere else."""

from __future__ import annotations

import pytest

from transport.r2cp.buffer_growth import BufferGrowth
from transport.rcp.receive_buffer import ReceiveBuffer

TRIP = 0.6
"""Seconds of the longest path's."""


class Reader:
    """Reads a stream as it comes; a hundred bytes are a buffer at first."""

    def __init__(self, *, largest: int = 400) -> None:
        self.buffer = ReceiveBuffer(100)
        self.growth = BufferGrowth(self.buffer, largest=largest)
        self.now = 0.0

    def read(self, windows: int, *, seconds: float, full: bool = True) -> int:
        """So many buffers' bytes, each of which comes in ten pieces within `seconds`."""
        for _ in range(windows):
            size = self.buffer.capacity // 10
            for _ in range(10):
                self.now += seconds / 10
                self.growth.look(self.now, full=full, trip=TRIP)
                self.buffer.accept(self.buffer.next, bytes(size))
                self.buffer.read()
        self.growth.look(self.now, full=full, trip=TRIP)
        return self.buffer.capacity


def test_one_that_is_read_within_a_round_trip_is_doubled_up_to_the_largest() -> None:
    reader = Reader()
    assert reader.read(2, seconds=TRIP) == 200
    assert reader.read(2, seconds=TRIP) == 400
    assert reader.read(9, seconds=TRIP) == 400


@pytest.mark.parametrize(("seconds", "full"), [(3.0 * TRIP, True), (TRIP, False)])
def test_one_that_does_not_limit_stays(seconds: float, full: bool) -> None:
    assert Reader().read(9, seconds=seconds, full=full) == 100


def test_what_was_long_ago_does_not_count() -> None:
    reader = Reader()
    reader.read(1, seconds=TRIP, full=False)
    reader.now += 60.0
    assert reader.read(1, seconds=TRIP / 2) == 100
    assert reader.read(2, seconds=TRIP / 2) == 200


def test_without_a_largest_none_is() -> None:
    assert Reader(largest=0).read(9, seconds=TRIP) == 100
