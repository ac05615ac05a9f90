"""ATP's figures 4a and 4b: estimate, use and true bandwidth over a link that fades and recovers.

    saturated   a 64 KB message every 0.25 s, to be sent within a second (figure 4a)
    mixed       4 KB of high priority every 0.5 s within 1 s; 256 KB of low priority every 8 s
    within
                16 s (figure 4b)

Each with the paper's estimator and with ours, in virtual time. As in the paper's experiments,
lower priorities make way (`Protects.PEERS`). 1 KB is 1000 bytes, as in the trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from admission.admission import Protects
from bench.reports.exhibits import Curve, Curves
from bench.reports.report import Check
from emulation.lines import traces
from emulation.lines.profiles import TRACES
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.virtual_time import run as run_virtually
from transport.nai.endpoint import NaiConnection, NewEstimator, improved, paper

TRACE: Final = TRACES / "atp-synthetic.trace"
SECONDS: Final = 300
_KB: Final = 1000
_AFTERWARDS: Final = 30.0
"""Seconds for what is on its way when the workload ends."""
_LITTLE: Final = 12_000
"""Bytes that may wait in the device: 60 ms of the link at its best. The paper's estimator fills all
50 packets of it at times."""
DELIVERED: Final = {"paper": 0.7, "improved": 0.9}
"""The least part of the small messages. The paper says of its own estimator what it has delivered
while the link fades: 17 of 24 (figure 5, which is of the same run as figure 4b)."""
ESTIMATORS: Final[dict[str, NewEstimator]] = {"paper": paper, "improved": improved}


@dataclass(frozen=True, slots=True)
class MessageFlow:
    """Messages that enter at regular intervals."""

    size: int
    every: float
    timer: float
    priority: int = 0


WORKLOADS: Final = {
    "saturated": (MessageFlow(64 * _KB, 0.25, 1.0),),
    "mixed": (MessageFlow(4 * _KB, 0.5, 1.0, priority=1), MessageFlow(256 * _KB, 8.0, 16.0)),
}


@dataclass(slots=True)
class BandwidthOutcome:
    """What came of one run, a second an entry. Bytes/second."""

    estimate: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    bandwidth: list[float] = field(default_factory=list)
    peak_queue: int = 0
    """Bytes."""
    submitted: dict[int, int] = field(default_factory=dict)
    """Messages by priority."""
    delivered: dict[int, list[float]] = field(default_factory=dict)
    """Seconds from entering the system to arrival, by priority."""


async def _scenario(
    kinds: tuple[MessageFlow, ...], estimator: NewEstimator, seconds: int
) -> BandwidthOutcome:
    loop = asyncio.get_running_loop()
    schedule = traces.read(TRACE)
    near_carrier, far_carrier = memory_carriers(CarrierModel(schedule=schedule, delay=0.005))
    near = NaiConnection(near_carrier, estimator=estimator, protects=Protects.PEERS)
    far = NaiConnection(far_carrier)
    outcome, entered = BandwidthOutcome(), dict[int, float]()

    async def enter(kind: MessageFlow) -> None:
        for number in range(int(seconds / kind.every)):
            await asyncio.sleep(number * kind.every - loop.time())
            message = near.submit(
                bytes(kind.size), priority=kind.priority, timer=kind.timer
            ).message
            entered[message.id] = loop.time()
            outcome.submitted[kind.priority] = outcome.submitted.get(kind.priority, 0) + 1

    async def take() -> None:
        async for message in far.messages():
            late = loop.time() - entered[message.id]
            outcome.delivered.setdefault(message.priority, []).append(late)

    tasks = [asyncio.create_task(enter(kind)) for kind in kinds]
    taking = asyncio.create_task(take())
    before = 0
    for second in range(1, seconds + 1):
        await asyncio.sleep(second - loop.time())
        carried = near_carrier.line.statistics().carried
        outcome.used.append(carried - before)
        outcome.estimate.append(near.estimate.available)
        outcome.bandwidth.append(schedule.carried(second - 1, second))
        before = carried
    outcome.peak_queue = near_carrier.line.statistics().peak_backlog
    await asyncio.gather(*tasks)
    await asyncio.sleep(_AFTERWARDS)
    near.close()
    far.close()
    await taking
    return outcome


def simulate(workload: str, estimator: str, *, seconds: int = SECONDS) -> BandwidthOutcome:
    """One run of a workload."""
    return run_virtually(_scenario(WORKLOADS[workload], ESTIMATORS[estimator], seconds))


def run(*, scale: float = 1.0, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Both workloads with both estimators; `scale`: of the trace, its beginning."""
    seconds = max(20, round(SECONDS * scale))
    runs, exhibits, outcomes = [], [], dict[tuple[str, str], BandwidthOutcome]()
    for workload in WORKLOADS:
        for estimator in ESTIMATORS:
            outcome = simulate(workload, estimator, seconds=seconds)
            outcomes[workload, estimator] = outcome
            row = _row(workload, estimator, outcome)
            runs.append(row)
            exhibits.append(_curves(workload, estimator, outcome))
            say("  ".join(f"{name} {value}" for name, value in row.items()))
    return {"runs": runs, "exhibits": exhibits, "checks": _checks(outcomes, seconds)}


def _row(workload: str, estimator: str, outcome: BandwidthOutcome) -> dict[str, Any]:
    row: dict[str, Any] = {
        "workload": workload,
        "estimator": estimator,
        "used": round(sum(outcome.used) / sum(outcome.bandwidth), 3),
        "peak_queue": outcome.peak_queue,
    }
    for priority, submitted in sorted(outcome.submitted.items(), reverse=True):
        times = sorted(outcome.delivered.get(priority, []))
        row[f"submitted_{priority}"] = submitted
        row[f"delivered_{priority}"] = len(times)
        row[f"median_{priority}_s"] = round(times[len(times) // 2], 3) if times else None
    return row


def _curves(workload: str, estimator: str, outcome: BandwidthOutcome) -> Curves:
    series = {
        "bandwidth": outcome.bandwidth,
        "used": outcome.used,
        "estimate": outcome.estimate,
    }
    lines = [
        Curve(label, [(float(at), value / _KB) for at, value in enumerate(values)], tone)
        for tone, (label, values) in enumerate(series.items())
    ]
    return Curves(f"{workload}, {estimator} estimator", "KB/s", lines, 250.0)


def _checks(outcomes: dict[tuple[str, str], BandwidthOutcome], seconds: int) -> dict[str, Check]:
    checks = {}
    for workload in WORKLOADS:
        queued = outcomes[workload, "improved"].peak_queue
        checks[f"{workload}, improved: most that ever waits"] = Check(
            queued, "bytes", f"<= {_LITTLE}", queued <= _LITTLE
        )
    if seconds < SECONDS:
        return checks
    for estimator in ESTIMATORS:
        starved = sum(outcomes["saturated", estimator].used[130:205])
        goal = 0.25 * sum(outcomes["saturated", estimator].bandwidth[130:205])
        checks[f"saturated, {estimator}: almost nothing admitted below 64 KB/s"] = Check(
            starved, "bytes in 75 s", f"<= {goal:.0f}", starved <= goal
        )
        late = _row("mixed", estimator, outcomes["mixed", estimator])
        share = late["delivered_1"] / late["submitted_1"]
        checks[f"mixed, {estimator}: messages of high priority delivered"] = Check(
            round(share, 3), "of 600", f">= {DELIVERED[estimator]}", share >= DELIVERED[estimator]
        )
    both = {name: sum(outcomes["saturated", name].used) for name in ESTIMATORS}
    more = both["improved"] / both["paper"]
    checks["saturated: our estimator against the paper's"] = Check(
        round(more, 3), "times the bytes sent", ">= 1", more >= 1
    )
    return checks
