"""A link that stands still and goes on, as in a tunnel or between two cells: what the gate makes
of it afterwards."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from transport.gate.controller import Gate
from transport.gate.report_spacing import REPORT_EVERY
from wire.frames import CLOCK_TICK

QUANTUM = 882
AT = 5.0
"""Seconds until the silence."""


class Report(NamedTuple):
    received: int
    clock: float


@dataclass
class Still:
    """A backlog over a link on which nothing moves from AT on for a while; nothing is lost."""

    rate: float
    delay: float
    lasts: float
    arrivals: list[tuple[float, int]] = field(default_factory=list)
    _events: list[tuple[float, int, Report | None]] = field(default_factory=list)
    """When, in which order, and what: None is a quantum that reaches the receiver."""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def run(self, until: float) -> None:
        gate, now, received = Gate(now=0.0, quantum=QUANTUM), 0.0, 0
        line, reported_at, reported = 0.0, 0.0, 0
        while now < until:
            while gate.may_send(now, QUANTUM):
                gate.on_sent(now, QUANTUM)
                line = max(line, self._moving(now)) + QUANTUM / self.rate
                self._comes(line + self.delay)
            while self._events and self._events[0][0] <= now:
                _, _, report = heapq.heappop(self._events)
                if report is None:
                    received += QUANTUM
                    self.arrivals.append((now, QUANTUM))
                else:
                    gate.on_report(now, report.received, round(report.clock / CLOCK_TICK))
            if received > reported and now >= reported_at + REPORT_EVERY:
                reported, reported_at = received, now
                self._comes(now + self.delay, Report(received, self.arrivals[-1][0]))
            if gate.may_send(now, QUANTUM):
                continue
            due = [gate.next_time(now), reported_at + REPORT_EVERY if received > reported else None]
            due.append(self._events[0][0] if self._events else None)
            now = min(time for time in due if time is not None and time > now)

    def _comes(self, at: float, report: Report | None = None) -> None:
        heapq.heappush(self._events, (self._moving(at), next(self._numbers), report))

    def _moving(self, time: float) -> float:
        end = AT + self.lasts
        return end if AT <= time < end else time

    def share(self, start: float, end: float) -> float:
        """The share of the link that was used."""
        arrived = sum(size for at, size in self.arrivals if start <= at < end)
        return arrived / (end - start) / self.rate


@pytest.mark.parametrize("rate", [48e3, 200e3, 1.5e6])
@pytest.mark.parametrize("delay", [0.001, 0.02, 0.05])
@pytest.mark.parametrize("lasts", [0.3, 0.7, 1.5, 3.0, 6.0, 12.0])
def test_two_seconds_after_a_silence_the_link_is_used(
    rate: float, delay: float, lasts: float
) -> None:
    """A rate once measured too low would be kept, were bursts never faster than that."""
    still = Still(rate, delay, lasts)
    end = AT + lasts
    still.run(end + 5.0)
    assert still.share(AT - 2.0, AT) > 0.85
    assert still.share(end + 2.0, end + 5.0) > 0.95


@pytest.mark.parametrize("rate", [48e3, 200e3, 750e3])
@pytest.mark.parametrize("lasts", [0.7, 1.5, 3.0, 6.0, 12.0])
def test_a_satellite_is_used_again_within_seconds(rate: float, lasts: float) -> None:
    """Five round trips of 600 ms, in which a margin alone would add a tenth to each."""
    still = Still(rate, 0.3, lasts)
    end = AT + lasts
    still.run(end + 6.0)
    assert still.share(end + 3.0, end + 6.0) > 0.7


def test_with_nothing_under_way_no_rate_is_too_low_to_send() -> None:
    gate = Gate(now=0.0, quantum=QUANTUM)
    gate.pacer.sent(0.0, QUANTUM, rate=0.4, burst=1)  # for half an hour
    assert gate.next_time(1.0) == 1.0
    assert gate.may_send(1.0, QUANTUM)
    gate.on_sent(1.0, QUANTUM)
    assert gate.pacer.time() <= 1.0
