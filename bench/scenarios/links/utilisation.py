"""How much of the link do two loading pages use, what do frames cost, and is it ever idle?

The real proxies, kernel TCP through a relay that counts payload only, so that 100 % is all of it.
Measured at the receiver, from the first to the last frame. An idle gap is a time beyond what the
next frame takes to cross, while the remote proxy's tree had something to send.
"""

from __future__ import annotations

import asyncio
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import CONTROL, FrameArrival, Pair, tcp_pair, undisturbed
from bench.reports.report import Check
from emulation.lines.profiles import Profile, profiles
from policies.api import ROOT, Command, Event, Policy, SessionOpened, SessionView, SetQuantum
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from wire.frames import MAX_HEADER

LEAST: Final = 95.0
"""Percent of the link."""
OVERHEAD: Final = {256: 2.0, 1024: 0.6}
"""Percent that frames may add to what they carry, by quantum."""
FITTED: Final = 0
"""The quantum is fitted to the link, as it is without a policy's word."""
IDLE: Final = 0.030
"""Seconds of a gap that counts."""
MOST_IDLE: Final = 1.0
"""Percent of the time in such gaps. Every 10 to 24 s the gate lets the queue run empty: the link is
idle for a margin and up to a quantum, 20 ms at 384k, 80 ms at 56k (transport/gate/drains.py)."""
_START: Final = 1.0
"""Seconds in which the gate looks for the link's rate; gaps are the price of not knowing it."""
_LOOK_EVERY: Final = 0.005
_SECONDS: Final = 20.0
"""That the pages take, about."""


class FixedQuantum:
    """Sets one quantum for all."""

    name = "fixed_quantum"

    def __init__(self, quantum: int) -> None:
        self._quantum = quantum

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetQuantum(ROOT, self._quantum)


@dataclass(frozen=True, slots=True)
class Gap:
    """The link was idle although there was something to send."""

    at: float
    """Seconds from the first frame until the frame that ended it."""
    seconds: float


def gaps(
    arrivals: Sequence[FrameArrival], backlog: Sequence[tuple[float, bool]], link: Profile
) -> list[Gap]:
    """Idle gaps between frames. `backlog`: looks at the remote's tree, in order of time."""
    found = []
    times = [at for at, _ in backlog]
    for before, after in pairwise(arrivals):
        idle = after.at - before.at - (after.size + MAX_HEADER) / link.rate_down
        if idle <= IDLE or before.at < arrivals[0].at + _START:
            continue
        # What arrives late was not sent in time: one way earlier, at the remote proxy.
        first, last = (bisect_left(times, at - link.delay) for at in (before.at, before.at + idle))
        looks = backlog[first:last]
        if looks and all(has for _, has in looks):
            found.append(Gap(after.at - arrivals[0].at, idle))
    return found


async def watch_backlog(pair: Pair, backlog: list[tuple[float, bool]]) -> None:
    """Note again and again whether the remote proxy's tree has something to send."""
    loop = asyncio.get_running_loop()
    while True:
        backlog.append((loop.time(), pair.remote.tree.multiplexer.has_data))
        await asyncio.sleep(_LOOK_EVERY)


async def measure(
    link: Profile, policies: Sequence[Policy], pages: Sequence[SyntheticPage], made: Prepared
) -> dict[str, Any]:
    """One load of both pages."""
    backlog: list[tuple[float, bool]] = []
    async with tcp_pair(link, Services(Shelf(pages), made), policies) as pair:
        assert pair.relay is not None
        looking = asyncio.create_task(watch_backlog(pair, backlog))
        received = pair.tap.received
        seen = len(pair.tap.arrivals)
        documents = await asyncio.gather(*(pair.load(page.url) for page in pages))
        await pair.complete(*documents)
        looking.cancel()
        received = pair.tap.received - received
        arrivals = pair.tap.arrivals[seen:]
        late = pair.relay.statistics().lateness
    took = arrivals[-1].at - arrivals[0].at
    control = [one.size for one in arrivals if one.component == CONTROL]
    data = [one.size for one in arrivals if one.component != CONTROL]
    idle = gaps(arrivals, backlog, link)
    return {
        "profile": link.name,
        "quantum": statistics.mode(data),
        "seconds": round(took, 2),
        "payload": sum(data),
        "control": sum(control),
        "used_pct": round(100 * received / took / link.rate_down, 1),
        "worst_second_pct": round(100 * _worst_second(arrivals) / link.rate_down, 1),
        "overhead_pct": round(100 * (received - sum(data) - sum(control)) / sum(data), 2),
        "control_pct": round(100 * sum(control) / sum(data), 2),
        "full_frames_pct": round(100 * _share_full(data), 1),
        "idle_pct": round(100 * sum(gap.seconds for gap in idle) / took, 2),
        "idle_gaps": [[round(gap.at, 2), round(gap.seconds * 1e3)] for gap in idle],
        "relay_late_ms": [round(one * 1e3, 2) for one in late],
    }


def _run(
    link: Profile, policies: Sequence[Policy], pages: Sequence[SyntheticPage], made: Prepared
) -> dict[str, Any]:
    return asyncio.run(measure(link, policies, pages, made))


def _worst_second(arrivals: Sequence[FrameArrival]) -> int:
    """Bytes in the worst second, the last one, which is not whole, aside."""
    start, seconds = arrivals[0].at, dict[int, int]()
    for one in arrivals:
        seconds[int(one.at - start)] = seconds.get(int(one.at - start), 0) + one.size
    whole = int(arrivals[-1].at - start)
    return min((seconds.get(number, 0) for number in range(whole)), default=0)


def _share_full(data: Sequence[int]) -> float:
    return data.count(statistics.mode(data)) / len(data)


def _pages(link: Profile) -> list[SyntheticPage]:
    size = int(link.rate_down * _SECONDS / 2)
    return [
        page(f"http://{name}.test/", text=size // 8, large=size * 7 // 8, seed=seed)
        for name, seed in (("a", 5), ("b", 6))
    ]


def run(*, profile: str | None = None) -> dict[str, Any]:
    """56k and 384k, or one link, with each quantum."""
    runs, checks = [], dict[str, Check]()
    print(
        f"{'link':<6}{'quantum':>9}{'used':>8}{'worst 1 s':>11}{'frames add':>12}"
        f"{'control':>9}{'idle':>8}"
    )
    for name in [profile] if profile else ["56k", "384k"]:
        if name not in profiles():
            raise ValueError(f"no profile {name!r}; there are {', '.join(profiles())}")
        link = profiles()[name]
        pages = _pages(link)
        made = prepared(pages)
        for quantum in (FITTED, *OVERHEAD):
            policies: list[Policy] = [Default()]
            if quantum:
                policies.append(FixedQuantum(quantum))
            row = undisturbed(partial(_run, link, policies, pages, made))
            runs.append(row)
            print(_line(row, quantum))
            checks |= _checks(row, quantum)
    return {"runs": runs, "checks": checks}


def _line(row: dict[str, Any], quantum: int) -> str:
    size = f"{row['quantum']}{'' if quantum else ' fit'}"
    return (
        f"{row['profile']:<6}{size:>9}{row['used_pct']:>6.1f} %{row['worst_second_pct']:>9.1f} %"
        f"{row['overhead_pct']:>10.2f} %{row['control_pct']:>7.2f} %{row['idle_pct']:>6.2f} %"
        f"  relay late {row['relay_late_ms']} ms {row['idle_gaps'] or ''}"
    )


def _checks(row: dict[str, Any], quantum: int) -> dict[str, Check]:
    name = f"{row['profile']}, quantum {quantum or 'fitted'}"
    used, idle = row["used_pct"], row["idle_pct"]
    found = {
        f"{name}: link used": Check(used, "%", f">= {LEAST:g}", used >= LEAST),
        f"{name}: idle with backlog": Check(idle, "%", f"<= {MOST_IDLE:g}", idle <= MOST_IDLE),
    }
    if quantum:
        most, overhead = OVERHEAD[quantum], row["overhead_pct"]
        found[f"{name}: frames add"] = Check(overhead, "%", f"<= {most:g}", overhead <= most)
    return found
