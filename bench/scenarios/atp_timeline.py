"""ATP's timeline of an execution (section 4.3, figure 5): what enters and arrives at 136-150 s.

The mixed workload of figure 4b over the same trace: 4 KB of high priority every 0.5 s to be sent
within 1 s ("small"), 256 KB of low priority every 8 s within 16 s ("large"). The bandwidth falls
from 34 to 2 KB/s meanwhile. With the paper's estimator, in virtual time; as text and as a figure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bench.exhibits import Arrow, Arrows, Mark
from bench.links.carrier import CarrierModel
from bench.messengers import Arrived, Atp, Entry, Messenger, Outcome, Word, play
from bench.report import Check
from bench.scenarios.atp_bandwidth import WORKLOADS
from bench.scenarios.atp_workloads import model
from bench.virtual_time import run as run_virtually
from transport.nai.endpoint import paper
from transport.nai.handles import Outgoing
from transport.nai.message import State

BEGIN, END = 136.0, 150.0
_LOOK: Final = 0.01
"""Seconds between two looks at the estimate and at the receiver."""
_SMALL: Final = 1


@dataclass(slots=True)
class Log:
    """What happened from BEGIN to END besides arrivals: seconds, words."""

    sender: list[tuple[float, str]] = field(default_factory=list)
    receiver: list[tuple[float, str]] = field(default_factory=list)
    fates: dict[int, tuple[float, State]] = field(default_factory=dict)
    """When messages ended at their sender, and how."""

    def note(self, where: list[tuple[float, str]], at: float, words: str) -> None:
        if BEGIN <= at < END:
            where.append((at, words))


class Logged(Atp):
    """ATP as the paper runs it, with a log."""

    def __init__(self, model: CarrierModel, arrived: Arrived, log: Log) -> None:
        super().__init__(model, arrived, paper, standby=False)
        self._log, self._count = log, 0
        self._waiting: list[asyncio.Task[None]] = []

    def submit(self, data: bytes, entry: Entry) -> Word:
        number, self._count = self._count, self._count + 1
        sent = self.near.submit(data, priority=entry.priority, timer=entry.timer)
        self._waiting.append(asyncio.create_task(self._wait(number, sent)))
        return lambda: sent.state is State.DELIVERED

    async def watch(self) -> None:
        """Note new estimates, and cancellations as they reach the receiver."""
        loop, log, at, cancelled = asyncio.get_running_loop(), self._log, 0.0, 0
        await asyncio.sleep(BEGIN - 1 - loop.time())
        while loop.time() < END:
            estimate, known = self.near.estimate, self.far.statistics()[1].cancelled
            if estimate.at != at:
                log.note(log.sender, loop.time(), f"bandwidth {estimate.available:.0f}")
            if known > cancelled:
                log.note(log.receiver, loop.time(), "cancelled")
            at, cancelled = estimate.at, known
            await asyncio.sleep(_LOOK)

    async def _wait(self, number: int, sent: Outgoing) -> None:
        state = await sent.done()
        self._log.fates[number] = (asyncio.get_running_loop().time(), state)


def simulate() -> tuple[list[Outcome], Log]:
    """The execution up to the window's end, and what is on its way then."""
    log = Log()
    entries = [
        Entry(number * kind.every, kind.size, kind.timer, kind.priority)
        for kind in WORKLOADS["mixed"]
        for number in range(int(END / kind.every))
    ]

    def start(model: CarrierModel, arrived: Arrived, priorities: Sequence[int]) -> Messenger:
        return Logged(model, arrived, log)

    async def watch(messenger: Messenger) -> None:
        assert isinstance(messenger, Logged)
        await messenger.watch()

    outcomes = run_virtually(play(entries, start, model(), beside=watch))
    for number, one in enumerate(outcomes):
        log.note(log.sender, one.entry.at, _name(number, one))
        at, state = log.fates[number]
        if state is not State.DELIVERED:
            log.note(log.sender, at, f"{_name(number, one)} {state}")
    log.sender.sort()
    return outcomes, log


def _name(number: int, one: Outcome) -> str:
    return f"{'small' if one.entry.priority == _SMALL else 'large'} {number}"


def run(*, say: Callable[[str], None] = print) -> dict[str, Any]:
    """The window, line by line."""
    outcomes, log = simulate()
    shown = {n: one for n, one in enumerate(outcomes) if BEGIN <= one.entry.at < END}
    arrows = [
        Arrow(one.entry.at, round(one.arrived, 3), f"delivered {number}", one.entry.priority)
        for number, one in shown.items()
        if one.arrived is not None
    ]
    lines = [(at, words) for at, words in log.sender]
    lines += [(at, f"{'':32}{words}") for at, words in log.receiver]
    lines += [(one.right, f"{'':32}{one.label}") for one in arrows]
    rows = [{"at_s": round(at, 3), "event": words.strip()} for at, words in sorted(lines)]
    for at, words in sorted(lines):
        say(f"{at:8.3f}  {words}")
    exhibit = Arrows(
        "136-150 s of the mixed workload, paper's estimator",
        BEGIN,
        END + 1,
        arrows,
        _marks(log.sender),
        _marks(log.receiver),
    )
    return {"runs": rows, "exhibits": [exhibit], "checks": _checks(shown, log)}


def _marks(events: Sequence[tuple[float, str]]) -> list[Mark]:
    """Events of one moment share a label."""
    by_time: dict[float, list[str]] = {}
    for at, words in events:
        by_time.setdefault(round(at, 1), []).append(words)
    return [Mark(at, "; ".join(words)) for at, words in by_time.items()]


def _checks(shown: dict[int, Outcome], log: Log) -> dict[str, Check]:
    """What the paper tells of its figure."""
    small = [one for one in shown.values() if one.entry.priority == _SMALL]
    delays = [one.arrived - one.entry.at for one in small if one.arrived is not None]
    refused = [n for n in shown if log.fates[n][1] is State.REJECTED and n not in small]
    large = [n for n, one in shown.items() if one.entry.priority != _SMALL]
    early = sum(
        log.fates[n][0] < shown[n].entry.at + shown[n].entry.timer
        for n in large
        if log.fates[n][1] is not State.DELIVERED
    )
    slower = sum(delays[-5:]) / max(0.001, sum(delays[:5]))
    return {
        "small messages delivered": Check(
            f"{len(delays)} of {len(small)}", "(17 of 25 there)", "more", len(delays) > 17
        ),
        "their delay, the last five to the first": Check(
            round(slower, 2), "times", "> 1: it lengthens", slower > 1
        ),
        "large ones refused, or discarded before their timers expire": Check(
            early, f"of {len(large)}; refused in all {len(refused)}", ">= 1", early >= 1
        ),
    }
