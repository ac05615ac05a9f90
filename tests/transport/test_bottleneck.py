"""Congestion control by what the bottleneck delivers: on a modelled line, packet by packet."""

from __future__ import annotations

from collections import deque

import pytest

from transport.spp.congestion.bottleneck import INITIAL, BottleneckBased
from transport.spp.congestion.round_trip import RoundTrip

SIZE = 1_228


class Bottleneck:
    """A line with a queue, a delay, and whoever asks for packets over it."""

    def __init__(
        self, rate: float, delay: float, *, queue: int = 1 << 30, loss: int = 0, late: float = 0.0
    ) -> None:
        """`queue` in packets; every `loss`-th packet is lost in the air. `late`: seconds that the
        ends take besides, in the mean."""
        self._late = late
        self.rate, self.delay = rate, delay
        self.control = BottleneckBased(segment=SIZE)
        self.trip = RoundTrip(delay)
        self.now = 0.0
        self.delivered = self.dropped = 0
        self.most_queued = 0
        self._queue, self._loss = queue, loss
        self._free = 0.0
        self._flying: deque[tuple[float, float, bool]] = deque()
        self._count = 0
        self._limited = False
        self._others: deque[float] = deque()
        """When somebody else's packets are there, each of which is followed by another."""

    def others(self, packets: int) -> None:
        """Somebody else has so many under way from now on; 0: nobody."""
        self._others.clear()
        for _ in range(packets):
            self._other()

    def _other(self) -> None:
        self._free = max(self._free, self.now) + SIZE / self.rate
        self._others.append(self._free + self.delay)

    def run(self, seconds: float) -> float:
        """Bytes/second that came in that time."""
        until, before = self.now + seconds, self.delivered
        self._send()
        while self._flying and self._flying[0][0] <= until:
            if self._others and self._others[0] <= self._flying[0][0]:
                self.now = self._others.popleft()
                self._other()
                continue
            at, sent_at, lost = self._flying.popleft()
            self.now = at
            if lost:
                self.control.lost(SIZE, sent_at=sent_at, now=at)
            else:
                self.delivered += SIZE
                self.trip.measured(at - sent_at, delay=0.0)
                self.control.acknowledged(SIZE, sent_at=sent_at, now=at, limited=self._limited)
            self._send()
        self.now = until
        return (self.delivered - before) / seconds

    def cut(self) -> None:
        """What is under way never comes."""
        self._flying.clear()

    def rest(self, seconds: float) -> None:
        """Nothing is asked for, after what is under way has come."""
        while self._flying:
            at, sent_at, _ = self._flying.popleft()
            self.now = at
            self.delivered += SIZE
            self.control.acknowledged(SIZE, sent_at=sent_at, now=at, limited=False)
        self.now += seconds

    def _send(self) -> None:
        window, _ = self.control.allowance(self.trip)
        while len(self._flying) * SIZE + SIZE <= window:
            self._count += 1
            queued = round(max(0.0, self._free - self.now) * self.rate / SIZE)
            self.control.sent(SIZE, under_way=len(self._flying) * SIZE + SIZE, now=self.now)
            if queued >= self._queue:
                self.dropped += 1
                self._fly(self.now + self.delay, lost=True)
                continue
            self.most_queued = max(self.most_queued, queued)
            self._free = max(self._free, self.now) + SIZE / self.rate
            air = bool(self._loss) and self._count % self._loss == 0
            self._fly(self._free + self.delay, lost=air)
        self._limited = True

    def _fly(self, at: float, *, lost: bool) -> None:
        at += self._late * (self._count * 89 % 97) / 48
        at = max(at, self._flying[-1][0] if self._flying else 0.0)
        self._flying.append((at, self.now, lost))


@pytest.mark.parametrize(("rate", "delay"), [(6_250_000.0, 0.02), (12_500_000.0, 0.01)])
def test_ends_that_take_some_milliseconds_do_not_slow_a_fast_line(
    rate: float, delay: float
) -> None:
    """Three packets are half a millisecond of it: where they are all that is asked for above what
    it holds, the rate falls to where they last as long as the ends take."""
    line = Bottleneck(rate, delay, queue=300, late=0.0025)
    line.run(5.0)
    line.most_queued = 0
    assert line.run(10.0) >= 0.95 * line.rate
    assert line.dropped == 0
    assert line.most_queued * SIZE <= 0.015 * line.rate


LINES = [(7_000.0, 0.1), (48_000.0, 0.1), (200_000.0, 0.03), (125_000.0, 0.6), (2_500_000.0, 0.04)]


@pytest.mark.parametrize(("rate", "delay", "late"), [(1.5e6, 0.06, 0.01), (2.5e6, 0.05, 0.01)])
def test_a_radio_that_makes_all_wait_which_is_sent_closely_is_filled(
    rate: float, delay: float, late: float
) -> None:
    """What comes once in a while is there sooner, and a window of that has half of the line."""
    line = Bottleneck(rate, delay, queue=300, late=late)
    line.run(30 * delay)
    line.most_queued = 0
    assert line.run(5.0) >= 0.9 * rate
    line.run(15.0)
    assert line.run(5.0) >= 0.9 * rate
    assert line.most_queued * SIZE <= rate * delay


def test_beside_somebody_who_keeps_the_queue_full_it_has_its_share_until_they_are_gone() -> None:
    line = Bottleneck(200_000.0, 0.05, queue=40)
    line.run(5.0)
    line.others(30)
    line.run(10.0)
    assert line.run(20.0) >= 0.28 * line.rate  # else it gives way, down to 4 packets: .12
    line.others(0)
    line.run(10.0)
    line.most_queued = 0
    assert line.run(10.0) >= 0.95 * line.rate
    assert line.most_queued <= 8


def test_who_comes_back_while_others_fill_the_queue_has_his_share_at_once() -> None:
    line = Bottleneck(200_000.0, 0.05, queue=40)
    line.run(5.0)
    line.rest(30.0)
    line.others(30)
    line.run(0.5)
    assert line.run(2.5) >= 0.28 * line.rate  # who takes it for a slower link has .2
    line.others(0)
    line.run(10.0)
    line.most_queued = 0
    assert line.run(10.0) >= 0.95 * line.rate
    assert line.most_queued <= 8


def test_a_rest_forgets_no_path_and_finds_nobody() -> None:
    line = Bottleneck(200_000.0, 0.05)
    line.run(5.0)
    line.rest(30.0)
    line.run(1.0)  # the window goes at once, and waits a bit
    line.most_queued = 0
    assert line.run(3.0) >= 0.95 * line.rate
    assert line.most_queued <= 8


@pytest.mark.parametrize("rest", [0.0, 30.0])
def test_a_link_that_becomes_slower_is_nobody_elses(rest: float) -> None:
    line = Bottleneck(400_000.0, 0.05)
    line.run(5.0)
    if rest:
        line.rest(rest)
    line.rate = 100_000.0
    line.run(5.0)
    line.most_queued = 0
    assert line.run(10.0) >= 0.95 * line.rate
    assert line.most_queued <= 8


@pytest.mark.parametrize(("rate", "delay"), LINES)
def test_who_hears_what_the_path_carries_searches_no_further(rate: float, delay: float) -> None:
    told, searches = Bottleneck(rate, delay), Bottleneck(rate, delay)
    for line in (told, searches):
        line.run(1.5 * delay + 4 * SIZE / rate)
        if line is told:
            line.control.carries(rate, trip=delay + SIZE / rate)
        line.most_queued = 0
    assert told.run(10.0) >= 0.93 * rate
    searches.run(10.0)
    assert told.most_queued <= 1.2 * searches.most_queued
    assert told.most_queued * SIZE <= max(2.5 * rate * delay, 8 * SIZE)


@pytest.mark.parametrize("rest", [0.0, 5.0, 60.0])
@pytest.mark.parametrize(("rate", "delay"), LINES[:3])
def test_a_fade_that_is_told_fills_no_queue(rate: float, delay: float, rest: float) -> None:
    """Nothing of what the path carried before is held against what it carries now."""
    queued = []
    for told in (False, True):
        line = Bottleneck(rate, delay)
        line.run(20.0)
        line.rest(rest)
        line.rate = rate / 10
        if told:
            line.control.carries(line.rate, trip=delay + SIZE / line.rate)
        line.most_queued = 0
        assert line.run(30.0) >= 0.93 * line.rate
        queued.append(line.most_queued)
    assert queued[1] <= queued[0]
    assert queued[1] * SIZE <= max(line.rate * delay, 8 * SIZE)


def test_a_path_that_comes_back_from_a_fade_is_asked_for_what_one_cell_shows() -> None:
    """Trips are those of the fade yet, and few are under way: nothing else would tell for long.
    Where no more was ever carried, one cell is not believed."""
    rate, delay = 600_000.0, 0.04
    windows = []
    for faded in (False, True):
        line = Bottleneck(rate, delay)
        if faded:
            line.run(5.0)
        line.rate = rate / 10
        line.control.carries(line.rate, trip=delay + SIZE / line.rate)
        line.run(10.0)
        line.rest(1.0)
        line.control.carries(rate / 3, trip=delay + SIZE / rate)
        windows.append(line.control.allowance(line.trip)[0])
    assert windows[0] < 0.8 * rate / 3 * delay
    assert windows[1] >= rate / 3 * delay


def test_a_fade_is_seen_while_the_rate_is_searched_for_yet() -> None:
    """It goes on for long where little is asked for, by what trains have shown. A path that carried
    a twentieth was asked for twelve seconds ahead."""
    control, rate, delay = BottleneckBased(segment=SIZE), 125_000.0, 0.6
    for number in range(40):
        now = float(number)
        control.sent(SIZE, under_way=SIZE, now=now)
        control.acknowledged(SIZE, sent_at=now, now=now + delay, limited=False)
        control.carries(rate, trip=delay + SIZE / rate)
    assert not control.found
    assert control.allowance(RoundTrip())[0] >= rate * delay
    control.carries(rate / 20, trip=delay + 20 * SIZE / rate)
    assert control.allowance(RoundTrip())[0] <= rate / 20 * delay + 5 * SIZE


def test_what_times_out_is_another_path() -> None:
    line = Bottleneck(200_000.0, 0.05, queue=40)
    line.run(5.0)
    line.others(30)
    line.run(20.0)
    line.control.timed_out(now=line.now)
    window, _ = line.control.allowance(line.trip)
    assert window <= 8 * SIZE


@pytest.mark.parametrize(("rate", "delay"), LINES)
def test_it_fills_a_line_and_keeps_its_queue_short(rate: float, delay: float) -> None:
    line = Bottleneck(rate, delay)
    line.run(10 + 20 * delay)
    line.most_queued = 0
    assert line.run(30) > 0.95 * rate, "where a round takes .6 s, to see it costs a fiftieth"
    assert line.most_queued <= 3 + INITIAL / 4 + 0.3 * rate * delay / SIZE


def test_the_start_doubles_and_ends_once_packets_wait() -> None:
    line = Bottleneck(2_500_000.0, 0.1)
    line.run(1.2)
    assert line.run(0.5) > 0.95 * line.rate
    assert line.most_queued < 2.5 * line.rate * line.delay / SIZE, "slow start has as much"


@pytest.mark.parametrize("every", [100, 20])
def test_losses_in_the_air_cost_no_more_than_themselves(every: int) -> None:
    line = Bottleneck(200_000.0, 0.1, loss=every)
    line.run(5)
    assert line.run(20) > 0.95 * (1 - 1 / every) * line.rate


def test_a_queue_of_a_few_packets_is_enough() -> None:
    line = Bottleneck(500_000.0, 0.1, queue=6)
    line.run(5)
    line.dropped = 0
    assert line.run(20) > 0.93 * line.rate
    assert line.dropped < 0.015 * 20 * line.rate / SIZE


@pytest.mark.parametrize("factor", [0.2, 5.0])
def test_another_rate_is_found_within_a_few_rounds(factor: float) -> None:
    line = Bottleneck(200_000.0, 0.05)
    line.run(5)
    line.rate *= factor
    line.run(20 * line.delay / min(factor, 1))
    line.most_queued = 0
    assert line.run(1) > 0.9 * line.rate
    line.run(2)
    line.most_queued = 0
    line.run(2)
    assert line.most_queued < 8 + 0.3 * line.rate * line.delay / SIZE


def test_a_longer_path_is_accepted_once_the_old_least_has_expired() -> None:
    line = Bottleneck(200_000.0, 0.05)
    line.run(5)
    line.delay = 0.3
    line.run(30)
    assert line.run(10) > 0.95 * line.rate


def test_after_a_timeout_it_begins_anew_with_little() -> None:
    line = Bottleneck(200_000.0, 0.05)
    line.run(5)
    line.control.timed_out(now=line.now)
    assert line.control.rate == 0
    assert line.control.allowance(line.trip)[0] == 4 * SIZE
    line.run(3)
    assert line.run(1) > 0.95 * line.rate


def test_after_a_timeout_a_longer_path_is_no_queue() -> None:
    line = Bottleneck(200_000.0, 0.05)
    line.run(5)
    line.cut()
    line.delay = 0.5
    line.control.timed_out(now=line.now)
    line.run(7)
    assert line.run(2) > 0.9 * line.rate


def test_what_is_asked_for_seldom_leaves_the_window_alone() -> None:
    control, trip = BottleneckBased(segment=SIZE), RoundTrip(0.1)
    for number in range(100):
        control.sent(SIZE, under_way=SIZE, now=float(number))
        control.acknowledged(SIZE, sent_at=float(number), now=number + 0.1, limited=False)
    assert control.allowance(trip)[0] <= (INITIAL + 2) * SIZE


@pytest.mark.parametrize(("rate", "delay"), LINES)
def test_what_seems_to_carry_less_now_and_then_is_searched_on(rate: float, delay: float) -> None:
    """A train with gaps, for there was not always something to send."""
    told, gaps = Bottleneck(rate, delay), Bottleneck(rate, delay)
    for line in (told, gaps):
        line.run(1.5 * delay + 4 * SIZE / rate)
        line.control.carries(rate, trip=delay + SIZE / rate)
        line.run(delay)
        if line is gaps and not line.control.found:
            line.control.carries(0.55 * rate, trip=delay + SIZE / rate)
    assert gaps.control.found == told.control.found
    assert gaps.run(10.0) == told.run(10.0)


@pytest.mark.parametrize("rate", [625_000.0, 2_500_000.0])
def test_a_search_that_has_ended_too_soon_goes_on_once_the_path_is_seen_to_carry_more(
    rate: float,
) -> None:
    """A few packets were late together, or there was too little to send."""
    came = []
    for told in (False, True):
        line = Bottleneck(rate, 0.6)
        line.run(1.0)
        line.control.lost(9 * SIZE, sent_at=line.now, now=line.now)
        for _ in range(3):
            line.run(1.0)
            if told:
                line.control.carries(rate, trip=0.6 + SIZE / rate)
        came.append(line.run(2.0) / rate)
    assert came[0] < 0.5
    assert came[1] >= 0.93


def test_what_a_path_is_seen_to_carry_beyond_what_comes_is_tried() -> None:
    """A search ended a seventh below the rate, and three packets more a round find little."""
    rate, came = 2_500_000.0, []
    for told in (False, True):
        line = Bottleneck(rate, 0.6)
        while line.control.rate < 0.7 * rate:
            line.run(0.1)
        line.control.lost(9 * SIZE, sent_at=line.now, now=line.now)
        for _ in range(2):
            line.run(1.0)
            if told:
                line.control.carries(rate, trip=0.6 + SIZE / rate)
        line.most_queued = 0
        came.append(line.run(2.0) / rate)
        assert line.most_queued * SIZE <= 0.1 * rate * line.delay
    assert came[0] < 0.93
    assert came[1] >= 0.97


@pytest.mark.parametrize(
    ("shown", "share", "queue", "most"),
    [
        pytest.param(260_000.0, 0.9, 5, 6, id="somewhat-more"),
        pytest.param(1_600_000.0, 0.7, 8, 12, id="more-for-a-moment"),
    ],
)
def test_what_a_line_is_shown_to_carry_and_does_not_fills_no_queue_for_long(
    shown: float, share: float, queue: int, most: int
) -> None:
    """As where what is paid for is limited: what comes first comes at once. `queue`: packets that
    are one; `most`: half seconds of 60 s with one."""
    line = Bottleneck(200_000.0, 0.05)
    line.run(5.0)
    full = 0
    for _ in range(120):
        line.control.carries(shown, trip=0.05)
        line.most_queued = 0
        assert line.run(0.5) >= share * line.rate
        full += line.most_queued > queue
    assert full <= most
