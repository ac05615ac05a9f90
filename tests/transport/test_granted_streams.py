"""Streams of what a gate grants: what they find, and what makes one tell nothing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.inline.measurement import PACKETS, Where
from transport.gate.granted_streams import ANEW, LEAST, GrantedStreams
from transport.link.connection import DeliveryReport

CHUNK = 500
RATE = 50_000.0
DELAY = 0.05
ROUND_TRIP = 0.1


class Path:
    """A sender that always has chunks to send, and a line with a queue that carries `rate`."""

    def __init__(self, rate: float = RATE, *, late: float = 0.0, tick: float = 0.0) -> None:
        """`late`: seconds by which this machine's timers are; `tick`: of which they are many."""
        self.streams = GrantedStreams()
        self.rate, self._late, self._tick = rate, late, tick
        self.now = self._free = 0.0
        self._sent = 0
        self._flying: list[tuple[float, float, int]] = []

    def send(self, size: int = CHUNK) -> None:
        """One more, when it is due: at the path's rate, or at the stream's time."""
        due = self.streams.due
        pace = 1.02 * CHUNK / self.rate  # what streams have put into the queue leaves it again
        self.now = self.now + pace if due is None else max(self.now, due) + self._late
        if self._tick and due is not None:
            self.now = math.ceil(self.now / self._tick) * self._tick
        self.streams.sent(self.now, size, may_begin=True, rate=self.rate)
        self._free = max(self._free, self.now) + size / self.rate
        self._sent += size
        self._flying.append((self._free + DELAY, self.now, size))

    def skip(self, size: int) -> None:
        """So many bytes went otherwise."""
        self._sent += size

    def hear(self, *, later: float = 0.0, together: bool = False) -> None:
        """Tell of all that is here by now, `later` by the receiver's clock than it is."""
        here = [one for one in self._flying if one[0] + DELAY <= self.now]
        self._flying = self._flying[len(here) :]
        in_order = self._sent - sum(size for _, _, size in (*here, *self._flying))
        if together and here:
            size = sum(one[2] for one in here)
            here = [(here[-1][0], here[-1][1], size)]
        for arrived_at, sent_at, size in here:
            in_order += size
            report = DeliveryReport(size, in_order, sent_at, sent_at, arrived_at + later)
            self.streams.arrived(report, self.now, round_trip=ROUND_TRIP)

    def go(self, seconds: float) -> None:
        """Send and hear for so long."""
        until = self.now + seconds
        while self.now < until:
            self.send()
            self.hear()


def test_alone_on_a_line_all_of_it_is_available() -> None:
    path = Path()
    path.go(20.0)
    found = path.streams.latest
    assert found is not None
    assert found.where is Where.INSIDE
    assert found.available == pytest.approx(RATE, rel=0.06)
    assert path.streams.failures == 0


def test_it_follows_a_line_that_becomes_another() -> None:
    path = Path()
    path.go(20.0)
    path.rate = 20_000.0
    path.go(60.0)
    found = path.streams.latest
    assert found is not None
    assert found.available == pytest.approx(20_000.0, rel=0.1)
    assert path.streams.found_at == pytest.approx(path.now, abs=10.0)


def test_between_measurements_chunks_go_as_they_would() -> None:
    path = Path()
    path.go(3.0)
    within = 0
    for _ in range(1_000):
        within += path.streams.due is not None
        path.send()
        path.hear()
    assert 0 < within <= 200


def test_a_chunk_of_another_size_ends_a_stream() -> None:
    path = Path()
    path.send()
    assert path.streams.due is not None
    path.send(40)
    assert path.streams.due is None
    assert path.streams.failures == 1
    path.send()
    assert path.streams.due is None  # not at once again


def news(size: int, in_order: int) -> DeliveryReport:
    return DeliveryReport(size, in_order, 0.0, 0.0, DELAY)


def test_a_loss_ends_a_stream() -> None:
    path = Path()
    for _ in range(PACKETS):
        path.send()
    path.streams.arrived(news(CHUNK, CHUNK), path.now, round_trip=ROUND_TRIP)
    assert (path.streams.streams, path.streams.failures) == (0, 0)
    path.streams.arrived(news(CHUNK, CHUNK), path.now, round_trip=ROUND_TRIP)  # the third one
    assert (path.streams.streams, path.streams.failures) == (0, 1)


def test_a_hole_in_what_is_heard_first_does_not_end_measuring_for_good() -> None:
    path = Path()
    for _ in range(2):
        path.streams.sent(0.0, CHUNK, may_begin=False, rate=RATE)
    path.skip(2 * CHUNK)
    path.streams.arrived(news(CHUNK, 0), 0.1, round_trip=ROUND_TRIP)  # the second one
    path.streams.arrived(news(CHUNK, 2 * CHUNK), 0.4, round_trip=ROUND_TRIP)
    path.now = 0.4
    path.go(20.0)
    assert path.streams.latest is not None
    assert path.streams.failures == 0


def test_whatever_was_found_no_stream_is_far_slower_than_the_path() -> None:
    """A receiver, or a path, says again and again that there is less."""
    path = Path()
    slowest, late = 0.0, 0.0
    for number in range(4_000):
        before = path.now
        path.send()
        if number > PACKETS:
            slowest = max(slowest, path.now - before)
        late += 0.02  # each comes later than the one before it
        path.hear(later=late)
    assert path.streams.latest is not None
    assert path.streams.latest.where is Where.BELOW
    assert slowest <= 2.6 * CHUNK / RATE


def test_what_is_told_together_tells_nothing() -> None:
    path = Path()
    for _ in range(PACKETS):
        path.send()
    path.now += 1.0
    path.hear(together=True)
    assert (path.streams.failures, path.streams.streams) == (1, 0)


def test_timers_of_whole_milliseconds_measure_where_a_chunk_takes_few() -> None:
    """As an event loop's are: a chunk of a link of 5 Mbit/s takes 2 to 4 of them."""
    path = Path(tick=0.4 * CHUNK / RATE)
    path.go(60.0)
    assert path.streams.latest is not None
    assert path.streams.latest.available == pytest.approx(RATE, rel=0.12)
    assert path.streams.failures <= path.streams.streams / 4


def test_whose_timers_are_late_measures_nothing_and_begins_anew() -> None:
    path = Path(late=0.02)
    path.go(3.0 * ANEW + 3.0)
    assert path.streams.latest is None
    assert path.streams.streams == 0
    assert path.streams.failures >= ANEW


def test_a_stream_that_is_never_heard_of_is_given_up() -> None:
    path = Path()
    for _ in range(PACKETS):
        path.send()
    path.go(0.2)
    assert path.streams.streams == 1
    lost = Path()
    for _ in range(PACKETS - 1):
        lost.send()  # and the outbox is empty
    lost.now += 10.0
    lost.hear()
    assert lost.streams.failures == 1


STAMPS = st.floats(0.0, 1e6) | st.sampled_from([0.0, 5e-324, 1e300])
RATES = st.floats(0.0, 1e12) | st.sampled_from([5e-324, 99.0, 100.0])


@given(st.lists(STAMPS, min_size=30, max_size=90), st.lists(RATES, min_size=90, max_size=90))
def test_whatever_a_receiver_says_of_its_clock_nothing_raises(
    stamps: list[float], rates: list[float]
) -> None:
    streams = GrantedStreams()
    now, in_order = 0.0, 0
    for stamp, rate in zip(stamps, rates, strict=False):
        now, in_order = max(now + 0.01, streams.due or 0.0), in_order + CHUNK
        streams.sent(now, CHUNK, may_begin=True, rate=rate)
        report = DeliveryReport(CHUNK, in_order, now, now, stamp)
        streams.arrived(report, now, round_trip=0.001)
        found = streams.latest
        assert found is None or 0.0 < found.available < float("inf")
    began = any(rate >= LEAST for rate in rates[: len(stamps) - PACKETS])
    assert streams.streams + streams.failures > 0 or not began
