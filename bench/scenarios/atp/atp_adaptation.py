"""ATP's adaptation mechanisms (section 4.4, table 1, figure 6), over a wireless LAN, virtual time.

An application has four levels of messages, 25, 100, 125 and 250 KB/s, each to be sent within 1 s.

    bandwidth   it watches the estimate, and sends the levels that the estimate allows
    callbacks   it sends all levels, with priorities; what can't be in time is refused

With the paper's estimator at poll delays of 1 and 3 s, and with ours, which has none. The trace is
not the paper's: the user walks away from the base station and comes back. 1 KB is 1000 bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from admission.admission import Protects
from bench.reports.exhibits import Curve, Curves
from bench.reports.report import Check
from emulation.lines import traces
from emulation.lines.profiles import TRACES
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.virtual_time import run as run_virtually
from transport.nai.carriers.interface import Carrier
from transport.nai.endpoint import NaiConnection, NewEstimator, improved
from transport.nai.estimators.estimator import Estimator, PaperEstimator

TRACE: Final = TRACES / "wlan.trace"
SECONDS: Final = 300
_KB: Final = 1000
USAGE: Final = (25 * _KB, 100 * _KB, 125 * _KB, 250 * _KB)
"""Bytes/second of each level."""
BOUNDS: Final = (0.0, 100.0 * _KB, 200.0 * _KB, 400.0 * _KB, float("inf"))
"""Bytes/second of the estimate between which an application is at each level."""
_EVERY: Final = 0.25
"""Seconds between two messages of a level."""
_TIMER: Final = 1.0
_AFTERWARDS: Final = 10.0
SCHEMES: Final = ("bandwidth", "callbacks")
PAPER_MB: Final[Mapping[tuple[str, str], tuple[float, ...]]] = {
    ("bandwidth", "1 s"): (5.6, 18.7, 9.7, 7.4, 41.5, 44.0),
    ("callbacks", "1 s"): (6.2, 19.9, 12.2, 10.2, 48.5, 54.1),
    ("bandwidth", "3 s"): (5.8, 14.5, 6.9, 3.2, 30.4, 32.4),
    ("callbacks", "3 s"): (6.6, 18.2, 9.4, 8.9, 43.1, 47.6),
}
"""Table 1: MB by level, in all, and of the link."""


def _paper(polldelay: int) -> NewEstimator:
    def estimator(carrier: Carrier, now: float) -> Estimator:
        return PaperEstimator(now=now, capacity=carrier.capacity, polldelay=polldelay)

    return estimator


POLL_DELAYS: Final[Mapping[str, NewEstimator]] = {
    "1 s": _paper(1),
    "3 s": _paper(3),
    "none, our estimator": improved,
}


@dataclass(slots=True)
class AdaptationOutcome:
    """What came of one run."""

    delivered: list[int] = field(default_factory=lambda: [0] * len(USAGE))
    """Bytes of whole messages at the receiver, by level."""
    used: list[float] = field(default_factory=list)
    """Bytes of the link in each second."""
    bandwidth: list[float] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    """The level up to which it sends, or of callbacks the highest delivered in that second."""


class Modes:
    """An application that goes by the estimate alone."""

    def __init__(self, connection: NaiConnection) -> None:
        self._connection = connection
        self.level = 1
        self._moved(connection.estimate.available)

    def _moved(self, available: float) -> None:
        self.level = next(n for n in range(len(USAGE), 0, -1) if available >= BOUNDS[n - 1])
        low, high = BOUNDS[self.level - 1], BOUNDS[self.level]
        self._connection.watch_bandwidth(low, high, self._moved)


async def _scenario(scheme: str, estimator: NewEstimator, seconds: int) -> AdaptationOutcome:
    loop = asyncio.get_running_loop()
    schedule = traces.read(TRACE)
    carrier, far_carrier = memory_carriers(CarrierModel(schedule=schedule, delay=0.005))
    near = NaiConnection(carrier, estimator=estimator, protects=Protects.PEERS)
    far = NaiConnection(far_carrier)
    modes = Modes(near) if scheme == "bandwidth" else None
    outcome, highest = AdaptationOutcome(), 0

    async def send() -> None:
        for tick in range(int(seconds / _EVERY)):
            await asyncio.sleep(tick * _EVERY - loop.time())
            for level in range(1, (modes.level if modes else len(USAGE)) + 1):
                data = bytes((level,)) + bytes(round(USAGE[level - 1] * _EVERY) - 1)
                near.submit(data, priority=0 if modes else -level, timer=_TIMER)

    async def take() -> None:
        nonlocal highest
        async for message in far.messages():
            outcome.delivered[message.data[0] - 1] += len(message.data)
            highest = max(highest, message.data[0])

    tasks = [asyncio.create_task(send()), asyncio.create_task(take())]
    before = 0
    for second in range(1, seconds + 1):
        await asyncio.sleep(second - loop.time())
        carried = carrier.line.statistics().carried
        outcome.used.append(carried - before)
        outcome.bandwidth.append(schedule.carried(second - 1, second))
        outcome.mode.append(modes.level if modes else highest)
        before, highest = carried, 0
    await asyncio.sleep(_AFTERWARDS)
    near.close()
    far.close()
    await asyncio.gather(*tasks)
    return outcome


def simulate(scheme: str, polldelay: str, *, seconds: int = SECONDS) -> AdaptationOutcome:
    """Simulates one run."""
    return run_virtually(_scenario(scheme, POLL_DELAYS[polldelay], seconds))


def run(*, scale: float = 1.0, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Both schemes at each poll delay; `scale`: of the trace, its beginning."""
    seconds = max(20, round(SECONDS * scale))
    rows, exhibits, totals = [], [], dict[tuple[str, str], float]()
    for polldelay in POLL_DELAYS:
        for scheme in SCHEMES:
            outcome = simulate(scheme, polldelay, seconds=seconds)
            row = _row(scheme, polldelay, outcome)
            totals[scheme, polldelay] = row["total_mb"]
            rows.append(row)
            exhibits.append(_curves(scheme, polldelay, outcome))
            say("  ".join(f"{name} {value}" for name, value in row.items()))
    return {"runs": rows, "exhibits": exhibits, "checks": _checks(totals)}


def _row(scheme: str, polldelay: str, outcome: AdaptationOutcome) -> dict[str, Any]:
    mb = [one / 1e6 for one in outcome.delivered]
    row: dict[str, Any] = {"algorithm": scheme, "poll_delay": polldelay}
    row |= {f"level_{number}_mb": round(one, 1) for number, one in enumerate(mb, 1)}
    used = sum(outcome.used)
    row |= {"total_mb": round(sum(mb), 1), "link_mb": round(used / 1e6, 1)}
    row["link_share"] = round(used / sum(outcome.bandwidth), 3)
    if said := PAPER_MB.get((scheme, polldelay)):
        row |= {"paper_total_mb": said[4], "paper_link_mb": said[5]}
    return row


def _curves(scheme: str, polldelay: str, outcome: AdaptationOutcome) -> Curves:
    """As figure 6: the mode line is the bandwidth that delivers all of a mode's messages."""
    needs = [sum(USAGE[:level]) for level in outcome.mode]
    series: dict[str, Sequence[float]] = {
        "bandwidth": outcome.bandwidth,
        "used": outcome.used,
        "mode": needs,
    }
    lines = [
        Curve(label, [(float(at), value / _KB) for at, value in enumerate(values)], tone)
        for tone, (label, values) in enumerate(series.items())
    ]
    return Curves(f"{scheme}, poll delay {polldelay}", "KB/s", lines, 800.0)


def _checks(totals: Mapping[tuple[str, str], float]) -> dict[str, Check]:
    checks = {}
    for polldelay in POLL_DELAYS:
        times = totals["callbacks", polldelay] / totals["bandwidth", polldelay]
        said = PAPER_MB.get(("callbacks", polldelay)), PAPER_MB.get(("bandwidth", polldelay))
        unit = (
            f"times the bytes ({said[0][4] / said[1][4]:.2f} there)"
            if said[0] and said[1]
            else "times the bytes"
        )
        checks[f"callbacks against bandwidth notifications, poll delay {polldelay}"] = Check(
            round(times, 3), unit, "> 1", times > 1
        )
    return checks
