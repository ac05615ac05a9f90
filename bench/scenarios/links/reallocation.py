"""How soon does it count when the reader turns to something else?

First how late a quantum is that the switch has put first, behind an unlimited backlog: on modelled
links in virtual time (bench/scenarios/links/priority.py), then on the same links over the kernel's
TCP (priority_tcp.py). Then a stricter measure, in virtual time and over real TCP: from when on the
shares are right. Two pages with more pictures than the link can carry in the time, the real
proxies, kernel TCP through a relay. The front changes again and again; a switch takes from the
moment that the local proxy is told until the shares at the receiver are right, and stay so until
the next (HATS, 4.1.2). With 256 KB the relay is a tunnel or an accelerator: it takes bytes that a
sender's kernel then believes to have arrived."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from bench.origins.synthetic import Prepared, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import Pair, memory_pair, tcp_pair, undisturbed
from bench.reports.report import Check
from bench.scenarios.links import priority, priority_tcp
from bench.scenarios.links.priority import HEADER, SEGMENT
from bench.scenarios.links.shares import SHARE, WINDOW, Switch, judge
from emulation.lines.profiles import Profile, profiles
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run as run_virtually
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

SWITCHES: Final = 10
QUEUES: Final = (65_536, 262_144)
_RTT: Final = 0.08
"""Seconds, of the links in virtual time."""
_WARM_UP: Final = 4.0
"""Seconds from the first picture's bytes until the first switch."""


class ReallocationGoal(NamedTuple):
    """The times that a case is to reach, seconds."""

    goal: float
    paper: float
    """Mean."""
    phase: float
    """From one switch to the next: longer than WINDOW quanta take, which are 644 bytes on slow
    links, and no multiple of what is periodic in the gate."""


GOALS: Final = {"56k": ReallocationGoal(0.4, 1.38, 8.3), "384k": ReallocationGoal(0.15, 0.24, 3.1)}


def _pages(link: Profile, goal: ReallocationGoal) -> list[SyntheticPage]:
    """Each alone outlasts the run at four fifths of the link."""
    size = int(link.rate_down * (SWITCHES + 4) * goal.phase * 0.75)
    return [page(f"http://{name}.test/", text=4_000, large=size) for name in ("a", "b")]


async def switch_focus(
    pair: Pair, documents: Sequence[int], goal: ReallocationGoal, *, switches: int = SWITCHES
) -> list[Switch]:
    """Bring the documents to the front in turn."""
    loop, marks = asyncio.get_running_loop(), []
    for number in range(switches):
        marks.append(loop.time())
        pair.focus(documents[number % 2])
        await asyncio.sleep(goal.phase)
    marks.append(loop.time())
    own = [set(pair.witness.components(document)) for document in documents]
    data = [one for one in pair.tap.arrivals if one.component in own[0] | own[1]]
    window = WINDOW * statistics.mode(one.size for one in data if one.at >= marks[0])
    return [
        judge(
            [one for one in data if marks[number] < one.at <= marks[number + 1]],
            own[number % 2],
            at=marks[number],
            window=window,
        )
        for number in range(switches)
    ]


def median_latency(link: Profile, model: LinkModel) -> float:
    """Seconds, in virtual time over that model of the link, which has to be one of GOALS."""
    goal = GOALS[link.name]
    pages = _pages(link, goal)
    switches = run_virtually(_virtual(model, goal, pages, prepared(pages)))
    return float(_row(link, switches, ())["median_s"])


def median_latency_over_tls(link: Profile, *, switches: int) -> float:
    """The same over the kernel's TCP, as between paired devices."""
    goal = GOALS[link.name]
    pages = _pages(link, goal)
    measuring = _measure(link, goal, pages, prepared(pages), secure=True, switches=switches)
    return float(asyncio.run(measuring)["median_s"])


def _model(link: Profile) -> LinkModel:
    return LinkModel(
        rate_up=link.rate_down,
        rate_down=link.rate_down,
        delay=_RTT / 2,
        queue=link.queue,
        segment=SEGMENT,
        header=HEADER,
    )


async def _virtual(
    model: LinkModel, goal: ReallocationGoal, pages: Sequence[SyntheticPage], made: Prepared
) -> list[Switch]:
    async with memory_pair(model, Services(Shelf(pages), made), [Default(share=SHARE)]) as pair:
        documents = await asyncio.gather(*(pair.load(page.url) for page in pages))
        await asyncio.sleep(_WARM_UP)
        return await switch_focus(pair, documents, goal)


async def _measure(
    link: Profile, goal: ReallocationGoal, pages: Sequence[SyntheticPage], made: Prepared, *,
    secure: bool = False, switches: int = SWITCHES,
) -> dict[str, Any]:  # fmt: skip
    services = Services(Shelf(pages), made)
    async with tcp_pair(link, services, [Default(share=SHARE)], secure=secure) as pair:
        documents = await asyncio.gather(*(pair.load(page.url) for page in pages))
        await asyncio.sleep(_WARM_UP)
        found = await switch_focus(pair, documents, goal, switches=switches)
        assert pair.relay is not None
        return _row(link, found, pair.relay.statistics().lateness)


def _run(
    link: Profile, goal: ReallocationGoal, pages: Sequence[SyntheticPage], made: Prepared
) -> dict[str, Any]:
    return asyncio.run(_measure(link, goal, pages, made))


def run(
    *,
    profile: str | None = None,
    real: Sequence[str] = priority.LINKS,
    seconds: float = 20.0,
    queues: Sequence[int] = QUEUES,
) -> dict[str, Any]:
    """Every link, or one. `real`: of which also over kernel TCP, each for `seconds`.

    `queues`: bytes of the relays through which shares switch. Raises ValueError for no such link.
    """
    real = [name for name in real if profile in (None, name)]
    print("An urgent quantum behind a backlog, in virtual time")
    first = priority.run(profile=profile)
    over = _over_tcp(real, seconds)
    runs, checks = first["runs"] + over["runs"], first["checks"] | over["checks"]
    names = [name for name in GOALS if name in real]
    if names:
        print("\nFrom a switch until the shares stand")
        print(
            f"{'link':<6}{'queue':>8}{'median':>9}{'p90':>8}{'most':>8}{'share after':>20}  paper"
        )
    for name in names:
        shares = _shares(name, queues)
        runs, checks = runs + shares["runs"], checks | shares["checks"]
    return {"runs": runs, "checks": checks}


def _over_tcp(real: Sequence[str], seconds: float) -> dict[str, Any]:
    """Urgent quanta over the kernel's TCP: the cases without TLS."""
    runs, checks = [], dict[str, Check]()
    print("\nThe same links over the kernel's TCP")
    print(
        f"{'link':<34}{'over':>6}{'quantum':>9}{'median':>8}{'p90':>6}{'goal':>6}"
        f"{'goodput':>9}{'goal':>6}"
    )
    for case in priority.CASES:
        if case.model.record or case.link not in real:
            continue
        row = undisturbed(partial(_one_over_tcp, case, seconds))
        runs.append(row)
        print(
            f"{row['link']:<34}{row['over']:>6}{row['quantum']:>7} B"
            f"{1e3 * row['median_s']:>5.0f} ms{1e3 * row['p90_s']:>6.0f}{1e3 * case.median:>6.0f}"
            f"{row['goodput']:>9.3f}{case.goodput:>6g}  late {row['relay_late_ms']} ms"
        )
        checks |= priority.judge(
            case, median=row["median_s"], goodput=row["goodput"], over=f", {row['over']}"
        )
    return {"runs": runs, "checks": checks}


def _one_over_tcp(case: priority.Case, seconds: float) -> dict[str, Any]:
    return asyncio.run(priority_tcp.measure(case, seconds=seconds))


def _shares(name: str, queues: Sequence[int]) -> dict[str, Any]:
    """One link: in virtual time, then with each queue."""
    goal, link = GOALS[name], profiles()[name]
    pages = _pages(link, goal)
    made = prepared(pages)
    row = _row(link, run_virtually(_virtual(_model(link), goal, pages, made)), ())
    runs = [row | {"link": "virtual"}]
    print(_line(row, goal) + " virtual time, RTT 80 ms, packets with headers")
    checks = {f"{name}, virtual: new share stands": _check(row, goal)}
    for queue in queues:
        slow = msgspec.structs.replace(link, queue=queue)
        row = undisturbed(partial(_run, slow, goal, pages, made))
        runs.append(row)
        print(_line(row, goal))
        checks[f"{name}, {queue >> 10} KB queue: new share stands"] = _check(row, goal)
    return {"runs": runs, "checks": checks}


def _check(row: dict[str, Any], goal: ReallocationGoal) -> Check:
    late = row["p90_s"]
    return Check(late, "s, 90th percentile", f"<= {goal.goal:g}", late <= goal.goal)


def _row(link: Profile, switches: Sequence[Switch], late: Sequence[float]) -> dict[str, Any]:
    """One link with one queue. A share that never stood counts as infinitely late."""
    times = sorted(float("inf") if one.latency is None else one.latency for one in switches)
    shares = sorted(one.share for one in switches)
    return {
        "profile": link.name,
        "queue": link.queue,
        "median_s": round(statistics.median(times), 3),
        "p90_s": round(times[round(0.9 * (len(times) - 1))], 3),
        "most_s": round(times[-1], 3),
        "all_s": [one.latency and round(one.latency, 3) for one in switches],
        "share": [round(share, 3) for share in (shares[0], statistics.median(shares), shares[-1])],
        "relay_late_ms": [round(one * 1e3, 2) for one in late],
    }


def _line(row: dict[str, Any], goal: ReallocationGoal) -> str:
    shares = " ".join(f"{100 * share:.1f}" for share in row["share"])
    return (
        f"{row['profile']:<6}{row['queue'] >> 10:>5} KB"
        f"{row['median_s']:>7.3f} s{row['p90_s']:>8.3f}{row['most_s']:>8.3f}{shares:>18} %"
        f"  {goal.paper:g} s, ours {row['median_s'] / goal.paper:.2f} of it;"
        f" relay late {row['relay_late_ms']} ms"
    )
