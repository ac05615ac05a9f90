"""Tests of packets in flight: lost, late and overtaken in the shares that were asked for."""

from __future__ import annotations

import random
import statistics
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.lines.flight import Disturbances, Flight, Wander
from emulation.lines.line import Line
from emulation.lines.packets import Openings
from emulation.lines.punctuality import Punctuality


def fates(disturbances: Disturbances, count: int = 100_000) -> list[bool]:
    """Whether each was lost."""
    flight = Flight(disturbances, seed=1)
    return [flight.fate(number / 1000) is None for number in range(count)]


@pytest.mark.parametrize("run", [1.0, 2.0, 8.0])
def test_losses_have_their_share_and_their_runs(run: float) -> None:
    lost = fates(Disturbances(loss=0.05, loss_run=run))
    assert sum(lost) / len(lost) == pytest.approx(0.05, abs=0.006)
    runs = [len(list(group)) for is_lost, group in groupby(lost) if is_lost]
    assert statistics.mean(runs) == pytest.approx(run, rel=0.15)


def test_the_same_seed_has_the_same_fates() -> None:
    assert fates(Disturbances(loss=0.1)) == fates(Disturbances(loss=0.1))


def test_jitter_wanders_without_bias_and_never_needs_to_overtake() -> None:
    wander = Wander(0.05, step=0.05, seed=3)
    late = [wander.at(number / 1000) for number in range(60_000)]
    assert min(late) >= 0
    assert max(late) <= 0.05
    assert statistics.mean(late) == pytest.approx(0.025, rel=0.05)
    arrivals = [number / 1000 + extra for number, extra in enumerate(late)]
    assert arrivals == sorted(arrivals)


def test_jitter_begins_at_whatever_the_clock_says() -> None:
    assert 0 <= Wander(0.05, step=0.02, seed=1).at(1e9) <= 0.05


def test_those_held_back_are_overtaken_and_others_keep_their_order() -> None:
    disturbances = Disturbances(reorder=0.1, reorder_delay=0.0105)
    line: Line[int] = Line(rate=1e6, delay=0.02, queue=1e9, flight=Flight(disturbances, seed=1))
    for number in range(2000):
        line.push(0.0, number, 1000)
    arrived = [item for _, item in line.take(100.0)]
    assert sorted(arrived) == list(range(2000))
    behind = [item for place, item in enumerate(arrived) if item < max(arrived[: place + 1])]
    assert len(behind) / 2000 == pytest.approx(0.1, abs=0.02)
    punctual = [item for item in arrived if item not in set(behind)]
    assert punctual == sorted(punctual)


def test_a_line_counts_and_tells_what_it_loses() -> None:
    lost: list[int] = []
    flight = Flight(Disturbances(loss=0.2), seed=2)
    line: Line[int] = Line(rate=1e6, delay=0.0, queue=1e9, flight=flight, on_lost=lost.append)
    for number in range(1000):
        line.push(0.0, number, 100)
    arrived = [item for _, item in line.take(10.0)]
    assert sorted(arrived + lost) == list(range(1000))
    assert line.statistics().lost == len(lost) > 100
    assert line.statistics().carried == 100_000  # the air was used all the same


@pytest.mark.parametrize(
    "bad", [{"loss": 1.0}, {"loss": -0.1}, {"reorder": 1.1}, {"loss_run": 0.5}, {"jitter": -1.0}]
)
def test_what_no_link_does_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"loss and reordering|they do not hasten"):
        Disturbances(**bad)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=300))
def test_lateness_is_known_to_a_tenth(values: list[float]) -> None:
    counted = Punctuality()
    for value in values:
        counted.count(value)
    exact = sorted(values)
    for share, found in zip((0.5, 0.99), counted.summary(), strict=False):
        place = min(len(exact) - 1, max(0, -(-int(share * len(exact) * 100) // 100) - 1))
        near = exact[max(0, place - 1) : place + 3]
        assert min(near) / 1.11 - 1.2e-6 <= found <= max(near) * 1.11 + 1.2e-6
    assert counted.summary()[2] == max(values)


def packet(flags: int, *, port: int = 1, protocol: int = 6, header: int = 20) -> bytes:
    ip = bytes([0x40 | header // 4, *([0] * 8), protocol, *([0] * 10)]).ljust(header, b"\0")
    return ip + port.to_bytes(2, "big") + bytes(11) + bytes([flags]) + bytes(6)


def test_connections_are_counted_once_by_their_first_packets() -> None:
    openings = Openings()
    for one in (
        packet(0x02), packet(0x02), packet(0x12), packet(0x10),
        packet(0x02, port=2, header=24), packet(0x02, port=3, protocol=17),
    ):  # fmt: skip
        openings.note(one)
    assert openings.count == 2


@given(st.binary(max_size=80))
def test_any_packet_can_be_looked_at(data: bytes) -> None:
    openings = Openings()
    openings.note(data)
    openings.note(packet(0x02)[: random.Random(len(data)).randrange(40)])
    assert openings.count in (0, 1)
