"""ATP's bulk transfer (section 5.3): throughput by message size, and how soon it is reached.

Messages of 1 KB to 1 MB over 512 KB/s, 8 MB for each size (`--scale 8`: the paper's 64 MB, and all
of its sizes), sent asynchronously (as many queued as
fit a second or so) and synchronously (the next once the last was sent), with the paper's estimator
and ours, in virtual time. The paper: 512 KB/s whatever the size and way of sending, after ten
seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.report import Check
from bench.scenarios.atp.atp_bandwidth import ESTIMATORS
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.virtual_time import run as run_virtually
from transport.nai.endpoint import NaiConnection, NewEstimator
from transport.nai.messages.handles import SubmittedMessage
from transport.nai.messages.message import MessageState

RATE: Final = 512_000.0
"""Bytes/second."""
SIZES: Final = (1 << 10, 1 << 15, 1 << 20)
ALL_SIZES: Final = tuple(1024 << power for power in range(11))
_ALL_FROM: Final = 8.0
TOTAL: Final = 8 << 20
_AHEAD: Final = 1 << 20
"""Bytes queued at a time by asynchronous sends."""
_TIMER: Final = 10_000.0
"""Seconds: "long enough to ensure that they would be sent without the risk of being rejected"."""
_STEP: Final = 0.25
_FULL: Final = 0.98


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """What came of one transfer. Bytes/second, seconds."""

    full_after: float
    """Until the link first was as good as full for a step."""
    used: float
    """Of the link, from the step after that on."""
    goodput: float
    """The same of messages' own bytes, as they were handed to the carrier."""
    rejected: int


Look = tuple[float, int, int]
"""When, and the bytes that had been received and carried."""


async def _transfer(size: int, total: int, *, sync: bool, estimator: NewEstimator) -> BulkOutcome:
    loop = asyncio.get_running_loop()
    near_carrier, far_carrier = memory_carriers(CarrierModel(rate=RATE, delay=0.005))
    near, far = NaiConnection(near_carrier, estimator=estimator), NaiConnection(far_carrier)
    data, messages = bytes(size), max(1, total // size)
    looks: list[Look] = []
    counts = {"sent": 0, "rejected": 0, "last": 0.0}

    async def send() -> None:
        ahead: deque[SubmittedMessage] = deque()
        for _ in range(messages):
            ahead.append(near.submit(data, timer=_TIMER))
            while ahead and (sync or len(ahead) * size >= _AHEAD):
                await finished(ahead.popleft())
        while ahead:
            await finished(ahead.popleft())
        counts["last"] = loop.time()

    async def finished(one: SubmittedMessage) -> None:
        delivered = await one.done() is MessageState.DELIVERED
        counts["sent" if delivered else "rejected"] += 1

    async def take() -> None:
        received = 0
        async for message in far.messages():
            received += len(message.data)
            looks.append((loop.time(), received, near_carrier.line.statistics().carried))

    taking = asyncio.create_task(take())
    sending = asyncio.create_task(send())
    carried, full_after = 0, float("inf")
    while not sending.done():
        await asyncio.sleep(_STEP)
        after = near_carrier.line.statistics().carried
        if after - carried >= _FULL * RATE * _STEP:
            full_after = min(full_after, loop.time())
        carried = after
    await sending
    await asyncio.sleep(1.0)
    near.close()
    far.close()
    await taking
    return _outcome(looks, full_after, last=counts["last"], rejected=int(counts["rejected"]))


def _outcome(
    looks: Sequence[Look], full_after: float, *, last: float, rejected: int
) -> BulkOutcome:
    """From the full rate on until the `last` message was sent."""
    steady = [look for look in looks if full_after < look[0] <= last]
    if len(steady) < 2:
        return BulkOutcome(full_after, 0.0, 0.0, rejected)
    (begin, got, out), (end, got_all, out_all) = steady[0], steady[-1]
    full = RATE * (end - begin)
    return BulkOutcome(full_after, (out_all - out) / full, (got_all - got) / full, rejected)


def simulate(size: int, *, total: int, sync: bool, estimator: str) -> BulkOutcome:
    """One transfer of messages of `size` bytes."""
    return run_virtually(_transfer(size, total, sync=sync, estimator=ESTIMATORS[estimator]))


def run(*, scale: float = 1.0, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Sizes, both estimators, both ways of sending; `scale`: of the 8 MB of each."""
    total, sizes = round(TOTAL * scale), ALL_SIZES if scale >= _ALL_FROM else SIZES
    runs = []
    for estimator in ESTIMATORS:
        for sync in (False, True):
            for size in sizes:
                outcome = simulate(size, total=total, sync=sync, estimator=estimator)
                row = {
                    "estimator": estimator,
                    "send": "sync" if sync else "async",
                    "size": size,
                    "full_after_s": round(outcome.full_after, 2),
                    "used": round(outcome.used, 4),
                    "goodput": round(outcome.goodput, 4),
                    "rejected": outcome.rejected,
                }
                runs.append(row)
                say("  ".join(f"{name} {value}" for name, value in row.items()))
    return {"runs": runs, "checks": _checks(runs)}


def _checks(runs: Sequence[dict[str, Any]]) -> dict[str, Check]:
    checks = {}
    goals = {"paper": (8.0, 13.0), "improved": (0.0, 1.0)}
    for estimator, (soonest, latest) in goals.items():
        own = [row for row in runs if row["estimator"] == estimator]
        full = max(row["full_after_s"] for row in own)
        first = min(row["full_after_s"] for row in own)
        checks[f"{estimator}: at full rate after"] = Check(
            full, "s, the slowest", f"{soonest:g} to {latest:g}", soonest <= first <= full <= latest
        )
        used = min(row["used"] for row in own)
        checks[f"{estimator}: of the link used from then on"] = Check(
            used, "of 512 KB/s, the least", ">= 0.99", used >= 0.99
        )
    lost = sum(row["rejected"] for row in runs)
    checks["messages rejected"] = Check(lost, "messages", "0", lost == 0)
    return checks
