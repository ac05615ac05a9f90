"""RCP's figure 4: whether its flows leave TCP its share, and whether lost requests cost more than
lost acknowledgements.

20 flows share a bottleneck, some of them RCP; at several times after the start the mean of their
throughputs and how far these lie apart (4a, b). Then 20 flows of one protocol, while bursts of UDP
fill the way back until two of five requests or acknowledgements are lost (4c). In virtual time;
the RCP is the product's own, the TCP is a model (emulation/tcp/sack_sender.py).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from emulation.dumbbell.worlds import Dumbbell

FLOWS: Final = 20
TIMES: Final = (20.0, 60.0, 120.0, 300.0)
"""Seconds after the start at which throughput is looked at."""
FLAT: Final = 0.05
"""By which the mean may differ from that without RCP."""
CLOSE: Final = 0.97
"""Of TCP's throughput that RCP reaches whatever is lost on the way back."""
_KBIT: Final = 125.0


@dataclass(frozen=True, slots=True)
class FlowMix:
    """One run: how many flows of each kind, how many bursts the other way, which chance."""

    tcp: int
    rcp: int
    on_off: int
    seed: int
    seconds: float


@dataclass(frozen=True, slots=True)
class MixOutcome:
    """What one run has come to."""

    mix: FlowMix
    means: tuple[float, ...]
    """Bytes/second of a flow at each of `TIMES` that the run has reached."""
    spreads: tuple[float, ...]
    """The coefficient of variation: standard deviation of the flows' throughputs over the mean."""
    dropped: float
    """Of the packets that went back."""


def observe(mix: FlowMix) -> MixOutcome:
    """Runs one mix."""
    world = Dumbbell(tcp=mix.tcp, rcp=mix.rcp, on_off=mix.on_off, seed=mix.seed)
    means, spreads = [], []
    for at in _times(mix.seconds):
        rates = [delivered / at for delivered in world.delivered(at)]
        means.append(statistics.fmean(rates))
        spreads.append(statistics.pstdev(rates) / means[-1])
    back = world.backward
    dropped = back.dropped / back.offered
    return MixOutcome(mix, tuple(means), tuple(spreads), dropped)


def _times(seconds: float) -> list[float]:
    return [at for at in TIMES if at <= seconds] or [seconds]


def run(
    *,
    seed: int = 1,
    runs: int = 10,
    seconds: float = 300.0,
    proportions: Sequence[int] = (0, 5, 10, 15, 20),
    bursts: Sequence[int] = (0, 20, 40, 60, 80, 100),
    say: Callable[[str], None] = print,
) -> dict[str, Any]:
    """`runs` runs of each proportion of RCP flows, and of each number of bursts with either."""
    seeds = range(seed, seed + runs)
    shared = [FlowMix(FLOWS - rcp, rcp, 0, one, seconds) for rcp in proportions for one in seeds]
    bursty = [
        FlowMix(FLOWS - rcp, rcp, on_off, one, seconds)
        for on_off in bursts
        for rcp in (0, FLOWS)
        for one in seeds
    ]
    with ProcessPoolExecutor() as pool:
        outcomes = pool.map(observe, dict.fromkeys(shared + bursty))
        by_mix = {outcome.mix: outcome for outcome in _told(outcomes, say)}
    rows, checks = _proportions([by_mix[mix] for mix in shared], proportions, seconds, say)
    lost, more = _bursts([by_mix[mix] for mix in bursty], bursts, say)
    return {
        "runs": [*rows, *lost],
        "exhibits": [*_charts(rows, proportions), _lost_chart(lost)],
        "checks": checks | more,
    }


def _told(outcomes: Iterable[MixOutcome], say: Callable[[str], None]) -> Iterator[MixOutcome]:
    """Says as each kind of run begins: all of them take minutes."""
    last = None
    for outcome in outcomes:
        mix = outcome.mix
        kind = (mix.rcp, mix.on_off)
        if kind != last:
            say(f"{mix.rcp} RCP, {mix.tcp} TCP, {mix.on_off} bursts: {outcome.means[-1]:.0f} B/s")
        last = kind
        yield outcome


def _proportions(
    outcomes: Sequence[MixOutcome],
    proportions: Sequence[int],
    seconds: float,
    say: Callable[[str], None],
) -> tuple[list[dict[str, Any]], dict[str, Check]]:
    """Figure 4a and b."""
    rows = []
    for rcp in proportions:
        ones = [outcome for outcome in outcomes if outcome.mix.rcp == rcp]
        for place, at in enumerate(_times(seconds)):
            means = [one.means[place] for one in ones]
            spreads = [one.spreads[place] for one in ones]
            rows.append(
                {
                    "rcp": rcp,
                    "after_s": at,
                    "mean": round(statistics.fmean(means), 1),
                    "mean_e95": round(e95(means), 1),
                    "cov": round(statistics.fmean(spreads), 4),
                    "cov_e95": round(e95(spreads), 4),
                }
            )
            say("  ".join(f"{name} {value}" for name, value in rows[-1].items()))
    none = {row["after_s"]: row for row in rows if row["rcp"] == 0}
    others = [row for row in rows if row["rcp"]]
    off = max(abs(row["mean"] / none[row["after_s"]]["mean"] - 1) for row in others)
    checks = {
        "4a: mean throughput of all flows, from that of TCP alone": Check(
            round(100 * off, 2), "% at most", f"<= {100 * FLAT:g} %", off <= FLAT
        )
    }
    for rcp in proportions:
        if rcp:
            outside = [
                row["after_s"]
                for row in others
                if row["rcp"] == rcp
                and row["cov"] > none[row["after_s"]]["cov"] + none[row["after_s"]]["cov_e95"]
            ]
            last = next(row for row in reversed(others) if row["rcp"] == rcp)
            bound = none[last["after_s"]]["cov"] + none[last["after_s"]]["cov_e95"]
            checks[f"4b: coefficient of variation, {rcp} of {FLOWS} RCP"] = Check(
                last["cov"],
                f"at the end; above TCP's interval after {outside or 'no'} s",
                f"<= {bound:.4f}",
                last["cov"] <= bound,
            )
    return rows, checks


def _bursts(
    outcomes: Sequence[MixOutcome], bursts: Sequence[int], say: Callable[[str], None]
) -> tuple[list[dict[str, Any]], dict[str, Check]]:
    """Figure 4c."""
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    for on_off in bursts:
        tcp, rcp = (
            [one for one in outcomes if one.mix.on_off == on_off and one.mix.rcp == count]
            for count in (0, FLOWS)
        )
        ratios = [ours.means[-1] / one.means[-1] for ours, one in zip(rcp, tcp, strict=True)]
        ratio = statistics.fmean(ratios)
        rows.append(
            {
                "bursts": on_off,
                "tcp": round(statistics.fmean(one.means[-1] for one in tcp), 1),
                "rcp": round(statistics.fmean(one.means[-1] for one in rcp), 1),
                "ratio": round(ratio, 4),
                "ratio_e95": round(e95(ratios), 4),
                "tcp_dropped": round(statistics.fmean(one.dropped for one in tcp), 3),
                "rcp_dropped": round(statistics.fmean(one.dropped for one in rcp), 3),
            }
        )
        say("  ".join(f"{name} {value}" for name, value in rows[-1].items()))
        checks[f"4c: RCP beside {on_off} bursts, {rows[-1]['rcp_dropped']:.0%} lost"] = Check(
            round(ratio, 3), "of TCP's throughput", f">= {CLOSE}", ratio >= CLOSE
        )
    return rows, checks


def _charts(rows: Sequence[dict[str, Any]], proportions: Sequence[int]) -> list[Bars]:
    """Figure 4a and b: a group for each number of RCP flows, a bar a time."""
    times = list(dict.fromkeys(row["after_s"] for row in rows))
    drawn = []
    for title, name, scale, unit in (
        ("Figure 4a: mean throughput of a flow, by RCP flows of 20", "mean", _KBIT, "kbit/s"),
        ("Figure 4b: coefficient of variation, by RCP flows of 20", "cov", 1.0, ""),
    ):
        series = [
            Curve(
                f"after {time:g} s",
                [
                    (float(proportions.index(row["rcp"])), row[name] / scale)
                    for row in rows
                    if row["after_s"] == time
                ],
                tone,
            )
            for tone, time in enumerate(times)
        ]
        most = max(row[name] for row in rows) / scale
        drawn.append(Bars(title, unit, [str(count) for count in proportions], series, most))
    return drawn


def _lost_chart(rows: Sequence[dict[str, Any]]) -> Bars:
    """Figure 4c."""
    series = [
        Curve(label, [(float(n), row[name] / _KBIT) for n, row in enumerate(rows)], tone)
        for tone, (name, label) in enumerate({"tcp": "TCP", "rcp": "RCP"}.items())
    ]
    most = max(value for curve in series for _, value in curve.points)
    labels = [str(row["bursts"]) for row in rows]
    title = "Figure 4c: throughput of a flow, by sources of bursts on the way back"
    return Bars(title, "kbit/s", labels, series, most)
