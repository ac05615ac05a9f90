"""A talk over a link, between two pages: what is said tells nothing of what the link carries."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from transport.gate.controller import Gate
from transport.gate.report_spacing import REPORT_EVERY
from wire.frames import CLOCK_TICK

QUANTUM = 882
PAGE_ENDS = 8.0
TALK_ENDS = 14.0


@dataclass
class Talk:
    """A page's backlog, then a few bytes every now and then, then a message; nothing is lost.

    A gate is told of each report what a real one would be, and asked before each chunk.
    """

    rate: float
    delay: float
    every: float
    """Seconds between two things that are said."""
    words: int
    """Bytes of each."""
    gate: Gate = field(default_factory=lambda: Gate(now=0.0, quantum=QUANTUM))
    rates: list[tuple[float, float]] = field(default_factory=list)
    """What the gate took the link for, at each report."""
    _events: list[tuple[float, int, tuple[int, float] | None, int]] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def run(self, has: Callable[[float, int], int], until: float) -> None:
        """`has`: bytes that the application has to send at a time, of which so many were sent."""
        gate, now, sent, received, newest = self.gate, 0.0, 0, 0, 0.0
        line, reported_at, reported = 0.0, 0.0, 0
        while now < until:
            while (chunk := min(QUANTUM, has(now, sent))) and gate.may_send(now, chunk):
                gate.on_sent(now, chunk)
                sent += chunk
                line = max(line, now) + chunk / self.rate
                self._comes(line + self.delay, size=chunk)
            while self._events and self._events[0][0] <= now:
                at, _, report, size = heapq.heappop(self._events)
                if report is None:
                    received, newest = received + size, at
                else:
                    gate.on_report(now, report[0], round(report[1] / CLOCK_TICK))
                    self.rates.append((now, gate.rate))
            if received > reported and now >= reported_at + REPORT_EVERY:
                reported, reported_at = received, now
                self._comes(now + self.delay, (received, newest))
            due = [reported_at + REPORT_EVERY if received > reported else None]
            due.append(gate.next_time(now) if has(now, sent) else None)
            due.append(self._events[0][0] if self._events else None)
            due.append((now // self.every + 1) * self.every)
            now = min((time for time in due if time is not None and time > now), default=until)

    def _comes(self, at: float, report: tuple[int, float] | None = None, *, size: int = 0) -> None:
        heapq.heappush(self._events, (at, next(self._numbers), report, size))


@pytest.mark.long
@pytest.mark.parametrize("every", [0.005, 0.02, 0.05])
@pytest.mark.parametrize("delay", [0.02, 0.075, 0.3])
@pytest.mark.parametrize("rate", [48e3, 200e3, 1.5e6])
def test_a_message_behind_a_talk_does_not_make_the_link_slow(
    rate: float, delay: float, every: float
) -> None:
    """A message of a few kilobytes is paced, so the gate has held it back; what was delivered
    before it was all that anybody had to say."""
    talk = Talk(rate, delay, every, words=60)
    said_by_then = 0

    def has(now: float, sent: int) -> int:
        nonlocal said_by_then
        if now < PAGE_ENDS:
            said_by_then = sent
            return QUANTUM
        said = int((min(now, TALK_ENDS) - PAGE_ENDS) / every) * 60
        message = 6 * QUANTUM if now >= TALK_ENDS - 0.5 else 0
        return max(0, said_by_then + said + message - sent)

    talk.run(has, TALK_ENDS + 2.0)
    learnt = [found for at, found in talk.rates if at < PAGE_ENDS][-1]
    assert learnt == pytest.approx(rate, rel=0.25)  # a window holds few chunks of a modem
    assert min(found for at, found in talk.rates if at > PAGE_ENDS) > 0.8 * learnt
