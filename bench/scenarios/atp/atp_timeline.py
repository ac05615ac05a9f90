"""ATP's timeline of an execution (section 4.3, figure 5): what enters and arrives at 136-150 s.

The mixed workload of figure 4b over the same trace: 4 KB of high priority every 0.5 s to be sent
within 1 s ("small"), 256 KB of low priority every 8 s within 16 s ("large"). The bandwidth falls
from 34 to 2 KB/s meanwhile. With the paper's estimator and with ours, in virtual time; as text and
as figures.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from bench.pairs.messengers import (
    Arrived,
    Atp,
    MessageEntry,
    Messenger,
    MessengerOutcome,
    Word,
    play,
)
from bench.reports.exhibits import Arrow, Arrows, Exhibit, Mark
from bench.reports.report import Check
from bench.scenarios.atp.atp_bandwidth import ESTIMATORS, WORKLOADS
from bench.scenarios.atp.atp_workloads import model
from emulation.memory.carrier import CarrierModel
from emulation.memory.virtual_time import run as run_virtually
from transport.nai.endpoint import NewEstimator
from transport.nai.messages.handles import SubmittedMessage
from transport.nai.messages.message import MessageState

BEGIN, END = 136.0, 150.0
_LOOK: Final = 0.01
"""Seconds between two looks at the estimate and at the receiver."""
_SMALL: Final = 1


@dataclass(slots=True)
class Log:
    """What happened from BEGIN to END besides arrivals: seconds, words."""

    sender: list[tuple[float, str]] = field(default_factory=list)
    receiver: list[tuple[float, str]] = field(default_factory=list)
    fates: dict[int, tuple[float, MessageState]] = field(default_factory=dict)
    """When messages ended at their sender, and how."""

    def note(self, where: list[tuple[float, str]], at: float, words: str) -> None:
        if BEGIN <= at < END:
            where.append((at, words))


class Logged(Atp):
    """ATP with a log."""

    def __init__(
        self, model: CarrierModel, arrived: Arrived, log: Log, estimator: NewEstimator
    ) -> None:
        super().__init__(model, arrived, estimator, standby=False)
        self._log, self._count = log, 0
        self._waiting: list[asyncio.Task[None]] = []

    def submit(self, data: bytes, entry: MessageEntry) -> Word:
        number, self._count = self._count, self._count + 1
        sent = self.near.submit(data, priority=entry.priority, timer=entry.timer)
        self._waiting.append(asyncio.create_task(self._wait(number, sent)))
        return lambda: sent.state is MessageState.DELIVERED

    async def watch(self) -> None:
        """Note the estimate of each second, and cancellations as they reach the receiver."""
        loop, log, second, cancelled = asyncio.get_running_loop(), self._log, 0, 0
        await asyncio.sleep(BEGIN - 1 - loop.time())
        while loop.time() < END:
            known = self.far.statistics()[1].cancelled
            if int(loop.time() - _LOOK / 2) != second:
                available = self.near.estimate.available
                log.note(log.sender, loop.time(), f"bandwidth {available:.0f}")
            if known > cancelled:
                log.note(log.receiver, loop.time(), "cancelled")
            second, cancelled = int(loop.time() - _LOOK / 2), known
            await asyncio.sleep(_LOOK)

    async def _wait(self, number: int, sent: SubmittedMessage) -> None:
        state = await sent.done()
        self._log.fates[number] = (asyncio.get_running_loop().time(), state)


def simulate(estimator: str) -> tuple[list[MessengerOutcome], Log]:
    """The execution up to the window's end, and what is on its way then."""
    log = Log()
    entries = [
        MessageEntry(number * kind.every, kind.size, kind.timer, kind.priority)
        for kind in WORKLOADS["mixed"]
        for number in range(int(END / kind.every))
    ]

    def start(model: CarrierModel, arrived: Arrived, priorities: Sequence[int]) -> Messenger:
        return Logged(model, arrived, log, ESTIMATORS[estimator])

    async def watch(messenger: Messenger) -> None:
        assert isinstance(messenger, Logged)
        await messenger.watch()

    outcomes = run_virtually(play(entries, start, model(), beside=watch))
    for number, one in enumerate(outcomes):
        at, state = log.fates[number]
        rejected = f" {state}" if state is MessageState.REJECTED else ""
        log.note(log.sender, one.entry.at, _name(number, one) + rejected)
        if state is MessageState.CANCELLED:
            log.note(log.sender, at, f"{_name(number, one)} {state}")
    log.sender.sort(key=itemgetter(0))
    return outcomes, log


def _name(number: int, one: MessengerOutcome) -> str:
    return f"{'small' if one.entry.priority == _SMALL else 'large'} {number}"


def run(*, say: Callable[[str], None] = print) -> dict[str, Any]:
    """The window, line by line, with each estimator."""
    rows: list[dict[str, Any]] = []
    exhibits: list[Exhibit] = []
    checks: dict[str, Check] = {}
    delivered: dict[str, int] = {}
    for estimator in ESTIMATORS:
        outcomes, log = simulate(estimator)
        shown = {n: one for n, one in enumerate(outcomes) if BEGIN <= one.entry.at < END}
        arrows = [
            Arrow(one.entry.at, round(one.arrived, 3), f"delivered {n}", one.entry.priority)
            for n, one in shown.items()
            if one.arrived is not None and one.arrived < END
        ]
        events = [(at, "sender", words) for at, words in log.sender]
        events += [(at, "receiver", words) for at, words in log.receiver]
        events += [(one.right, "receiver", one.label) for one in arrows]
        say(f"{estimator} estimator")
        for at, where, words in sorted(events, key=itemgetter(0)):
            rows.append(
                {"estimator": estimator, "at_s": round(at, 3), "where": where, "event": words}
            )
            say(f"{at:8.3f}  {'' if where == 'sender' else ' ' * 32}{words}")
        title = f"{BEGIN:g}-{END:g} s of the mixed workload, {estimator} estimator"
        marks = (_marks(log.sender), _marks(log.receiver))
        exhibits.append(Arrows(title, BEGIN, END, arrows, *marks))
        checks |= _checks(estimator, shown, log)
        delivered[estimator] = len(_delays(shown))
    checks["small messages delivered, our estimator to the paper's"] = Check(
        f"{delivered['improved']} to {delivered['paper']}",
        "of 28 (17 of 24 there, another trace)",
        "no fewer",
        delivered["improved"] >= delivered["paper"],
    )
    return {"runs": rows, "exhibits": exhibits, "checks": checks}


def _marks(events: Sequence[tuple[float, str]]) -> list[Mark]:
    """Events of one moment share a label."""
    by_time: dict[float, list[str]] = {}
    for at, words in events:
        by_time.setdefault(round(at, 1), []).append(words)
    return [Mark(at, "; ".join(words)) for at, words in by_time.items()]


def _delays(shown: Mapping[int, MessengerOutcome]) -> list[float]:
    """Seconds from entering to arrival, of small messages that arrived before the end."""
    small = [one for one in shown.values() if one.entry.priority == _SMALL]
    arrived = [(one.entry.at, one.arrived) for one in small if one.arrived is not None]
    return [there - here for here, there in arrived if there < END]


def _checks(estimator: str, shown: Mapping[int, MessengerOutcome], log: Log) -> dict[str, Check]:
    """What the paper tells of its figure."""
    delays = _delays(shown)
    slower = sum(delays[-5:]) / max(0.001, sum(delays[:5]))
    large = [
        log.fates[number][0] - one.entry.at - one.entry.timer
        for number, one in shown.items()
        if one.entry.priority != _SMALL and log.fates[number][1] is not MessageState.DELIVERED
    ]
    early = sum(left < 0 for left in large)
    return {
        f"{estimator}: their delay, the last five to the first five": Check(
            round(slower, 2), "times", "> 1: it lengthens", slower > 1
        ),
        f"{estimator}: large ones refused, or discarded before their timers expire": Check(
            early, f"of {len(large)} not delivered", "all", early == len(large) > 0
        ),
    }
