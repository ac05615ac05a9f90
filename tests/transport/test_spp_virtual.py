"""SPP over bad links in virtual time: everything once, whole, and at the rate that there is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from emulation.memory.datagram_path import DatagramPath
from tests.transport.spp_ends import HOME, Transfer, ends, link
from transport.spp.congestion.rate_based import RateBased
from transport.spp.core.recovery import LONGEST_PATIENCE

BAD = {"loss": 0.1, "reorder": 0.02, "reorder_delay": 0.01, "duplicate": 0.02}


def transfer(count: int = 2000, *, size: int = 1300, seed: int = 1, **changes: Any) -> Transfer:
    rate = changes.pop("rate", None)
    own = {name: changes.pop(name) for name in ("ordered", "window") if name in changes}
    near, far = ends(congestion=RateBased(rate) if rate else None, **own)
    return Transfer(near, far, DatagramPath(link(**changes), seed=seed), count=count, size=size)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("rate", [None, 1e6])
def test_all_arrive_once_over_a_bad_link(rate: float | None, ordered: bool) -> None:
    one = transfer(600 if rate is None else 1500, rate=rate, ordered=ordered, **BAD)
    assert one.through(limit=400)
    assert sorted(one.got) == list(range(one.count))
    assert (one.got == sorted(one.got)) == ordered
    assert one.near.error is None


def test_a_known_rate_is_used_whatever_is_lost() -> None:
    one = transfer(3000, rate=1e6, **BAD)
    assert one.through(limit=60)
    assert one.goodput >= 0.85 * 1e6 * (1 - BAD["loss"])
    arrivals = [report.arrived_at for report in one.delivered if report.arrived_at is not None]
    assert len(arrivals) > 0.98 * len(one.delivered)  # though acknowledgements get lost
    span = max(arrivals) - min(arrivals)
    rate = sum(report.size for report in one.delivered) / span
    assert rate == pytest.approx(1e6 * (1 - BAD["loss"]), rel=0.05)


def test_new_reno_fills_a_good_link_and_keeps_it_full() -> None:
    one = transfer(3000, queue=60_000)
    assert one.through(limit=30)
    assert one.goodput > 0.9 * 1e6
    assert one.run.path.up.statistics().dropped_packets > 0  # it has found the queue's end


def test_reordering_alone_is_not_taken_for_loss_for_long() -> None:
    one = transfer(2000, rate=9e5, reorder=0.1, reorder_delay=0.02)
    assert one.through(limit=30)
    statistics = one.near.statistics(one.run.now)
    assert statistics.spurious > 0
    assert statistics.lost < 0.01 * one.count


def test_larger_datagrams_are_found_and_given_up_when_they_vanish() -> None:
    one = transfer(3000, rate=1e6)
    one.run.until(lambda: len(one.got) > 500, step=one.step, limit=10)
    assert one.near.statistics(0).datagram == 1452
    one.run.path.up.set_mtu(1300)
    assert one.through(limit=60)
    assert one.near.statistics(0).datagram == 1200
    assert sorted(one.got) == list(range(one.count))


def test_a_path_below_the_base_is_found_too() -> None:
    one = transfer(300, mtu=576)
    assert one.through(limit=120)
    assert one.near.statistics(0).datagram == 512


def test_minutes_without_bandwidth_cost_a_pause_and_no_flood() -> None:
    one = transfer(3000, rate=1e6)
    one.run.until(lambda: len(one.got) > 1000, step=one.step, limit=10)
    began = one.run.now
    one.run.path.up.set_rate(0.0, began)
    one.run.until(lambda: False, step=one.step, limit=began + 300)
    waiting = one.run.path.up.statistics().backlog
    assert waiting <= 100_000
    one.run.path.up.set_rate(1e6, one.run.now)
    assert one.through(limit=began + 300 + LONGEST_PATIENCE + 10)
    assert one.got == list(range(one.count))


def test_a_link_that_loses_everything_for_minutes_is_found_again() -> None:
    one = transfer(2000)
    one.run.until(lambda: len(one.got) > 500, step=one.step, limit=10)
    began = one.run.now
    one.run.path.up.set_mtu(0)
    one.run.until(lambda: False, step=one.step, limit=began + 200)
    one.run.path.up.set_mtu(1500)
    assert one.through(limit=began + 200 + LONGEST_PATIENCE + 15)
    assert one.got == list(range(one.count))


def test_the_same_seed_gives_the_same_run() -> None:
    runs = []
    for _ in range(2):
        one = transfer(800, rate=1e6, **BAD)
        one.through(limit=60)
        runs.append((one.run.now, one.near.statistics(one.run.now)))
    assert runs[0] == runs[1]


@given(
    loss=st.floats(0, 0.3),
    reorder=st.floats(0, 0.3),
    duplicate=st.floats(0, 0.3),
    size=st.integers(4, 4000),
    seed=st.integers(1, 1000),
    ordered=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_whatever_the_link_does(
    *, loss: float, reorder: float, duplicate: float, size: int, seed: int, ordered: bool
) -> None:
    bad = {"loss": loss, "reorder": reorder, "reorder_delay": 0.03, "duplicate": duplicate}
    one = transfer(100, size=size, seed=seed, ordered=ordered, window=30_000, **bad)
    assert one.through(limit=1000)
    assert sorted(one.got) == list(range(100))


class Hostile(RuleBasedStateMachine):
    """Both ends send; the path delivers what it likes, in any order, twice, or damaged."""

    ordered = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.near, self.far = ends(ordered=self.ordered, window=30_000, buffer=20_000)
        self.flying: list[tuple[bool, bytes]] = []
        self.sent: dict[bool, list[bytes]] = {True: [], False: []}
        self.got: dict[bool, list[bytes]] = {True: [], False: []}

    def end(self, up: bool) -> Any:
        """The sender of what goes up, or down."""
        return self.near if up else self.far

    @rule(up=st.booleans(), size=st.integers(5, 4000))
    def send(self, up: bool, size: int) -> None:
        end = self.end(up)
        if end.backlog(self.now) + size <= 20_000:
            payload = len(self.sent[up]).to_bytes(4, "big") * (size // 4)
            end.send(payload, self.now)
            self.sent[up].append(payload)

    @rule(up=st.booleans())
    def transmit(self, up: bool) -> None:
        self.flying += [(up, one) for one in self.end(up).datagrams_to_send(self.now)]

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), again=st.booleans())
    def deliver(self, data: st.DataObject, again: bool) -> None:
        place = data.draw(st.integers(0, len(self.flying) - 1))
        up, datagram = self.flying[place]
        self.end(not up).datagram_received(datagram, self.now, address=HOME)
        if not again:
            del self.flying[place]

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        del self.flying[data.draw(st.integers(0, len(self.flying) - 1))]

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), bit=st.integers(0, 10_000))
    def damage(self, data: st.DataObject, bit: int) -> None:
        up, datagram = self.flying[data.draw(st.integers(0, len(self.flying) - 1))]
        damaged = bytearray(datagram)
        damaged[bit // 8 % len(damaged)] ^= 1 << bit % 8
        assert not self.end(not up).datagram_received(bytes(damaged), self.now, address=HOME)

    @rule(seconds=st.floats(0.001, 3.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for end in (self.near, self.far):
            due = end.deadline()
            if due is not None and due <= self.now:
                end.timeout(self.now)

    @rule(up=st.booleans())
    def take(self, up: bool) -> None:
        self.got[up] += self.end(not up).received()

    @invariant()
    def nothing_is_wrong(self) -> None:
        for up in (True, False):
            end = self.end(up)
            assert end.error is None
            assert end.statistics(self.now).held <= 2 * 30_000
            if self.ordered:
                assert self.got[up] == self.sent[up][: len(self.got[up])]
            else:
                assert len(set(self.got[up])) == len(self.got[up])

    def teardown(self) -> None:
        """A good path from here on: everything arrives."""
        limit = self.now + 200
        while any(len(self.got[up]) < len(self.sent[up]) for up in (True, False)):
            for up in (True, False):
                for datagram in self.end(up).datagrams_to_send(self.now):
                    self.end(not up).datagram_received(datagram, self.now, address=HOME)
                self.take(up)
            self.wait(0.005)
            assert self.now < limit
        for up in (True, False):
            assert sorted(self.got[up]) == sorted(self.sent[up])


class HostileUnordered(Hostile):
    ordered = False


TestHostile = Hostile.TestCase
TestHostile.settings = settings(max_examples=25, stateful_step_count=50, deadline=None)
TestHostileUnordered = HostileUnordered.TestCase
TestHostileUnordered.settings = settings(max_examples=15, stateful_step_count=50, deadline=None)
