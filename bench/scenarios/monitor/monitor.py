"""Measures what sensors of bandwidth cost and how timely they are (figures 2 to 5 and table 1).

The experiment of Bolliger and Gross, "Bandwidth Monitoring for Network-Aware Applications", 3.1, on
one machine: a sender on loopback, paced at 100 Mbit/s in all, a receiver, and the observer's
daemon, each a process of its own; app-rcv, app-snd and the transport's sensor in turn. Costs are
processor time, so a busy machine makes them larger by what its caches lose, and timeliness worse.
"""

from __future__ import annotations

import socket
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from bench.reports.confidence import e95
from bench.reports.exhibits import Bars, Curve
from bench.reports.report import Check
from bench.scenarios.monitor.experiment import HERE, Laboratory, MonitorRun, laboratory
from bench.scenarios.monitor.monitor_figures import canvas, draw
from monitor.observer.datagrams import encode_update
from monitor.samples import ProgressSample, Samples, SensorKind
from observation.reporter import MonitoredConnection
from observation.wrappers import app_rcv, app_snd
from transport.tcp.tcp_sample import reader

GOAL_US: Final = 30.0
"""Microseconds of a transport sample, all in."""
GOAL_READ_US: Final = 3.0
"""Microseconds of reading TCP_INFO of one connection."""
GOAL_P90: Final = 1.1
"""Of the sampling interval: 90 % of the transport's samples come within."""
COUNTS: Final = (5, 10, 20, 40)
INTERVALS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds."""
PAPER: Final = {
    "app_rcv": "330, 759; 1.4, 0.9-5.1",
    "app_snd": "286, 639; 1.4, 0.9-4.4",
    "transport": "128, 284; 1.0, 1.0-1.1",
}
"""Processing and total, microseconds; timeliness: median, 10 and 90 % (table 1)."""
PAPER_BYTES: Final = 25
"""Of an update of app-rcv."""
HEADERS: Final = 28
"""Bytes of IPv4 and UDP before each datagram."""
SENSORS: Final = (SensorKind.APP_RCV, SensorKind.APP_SND, SensorKind.TRANSPORT)


def run(
    *,
    runs: int = 3,
    counts: Sequence[int] = COUNTS,
    intervals: Sequence[float] = INTERVALS,
    seconds: float = 4.0,
    plot: Path | None = None,
) -> dict[str, Any]:
    """All combinations, `runs` times, each for `seconds` or for four samples."""
    found: list[MonitorRun] = []
    figure_class = canvas() if plot is not None else None
    with laboratory() as here:
        for _ in range(runs):
            found += _round(here, counts, intervals, seconds)
    single = singles()
    print(_table(found), flush=True)
    for name, value in single.items():
        print(f"{name:<58}{value:>8.2f} us", flush=True)
    size = len(encode_update(SensorKind.APP_RCV, [ProgressSample(1, 1)], at=0.0))
    print(
        f"app_rcv costs the network {size} n f bytes/s, {size + HEADERS} n f with headers "
        f"(paper: {PAPER_BYTES} n f)"
    )
    if plot is not None:
        draw(found, plot, figure_class=figure_class)
    return {
        "runs": [one.as_json() for one in found],
        "checks": _checks(found, single),
        "exhibits": _exhibits(found),
        "notes": [
            *(f"paper, processing, total us; timeliness: {one} {PAPER[one]}" for one in PAPER),
            *(f"{name}: {value:.2f} us" for name, value in single.items()),
            f"an update of app_rcv: {size} bytes, {size + HEADERS} with IP and UDP; paper "
            f"{PAPER_BYTES}",
        ],
    }


def _round(
    here: Laboratory, counts: Sequence[int], intervals: Sequence[float], seconds: float
) -> list[MonitorRun]:
    found = []
    ways = [(sensor, "udp") for sensor in SENSORS] + [(SensorKind.TRANSPORT, HERE)]
    for connections in counts:
        for interval in intervals:
            for sensor, where in ways:
                one = here.run(
                    sensor,
                    connections=connections,
                    interval=interval,
                    seconds=seconds,
                    where=where,
                )
                found.append(one)
                print(_line(one), flush=True)
    return found


# -- what one step costs ---------------------------------------------------------------------------


class _Nowhere:
    """A reporter that tells nobody."""

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        """Nobody is told."""

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        """Nobody is told."""

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        """Nobody is told."""


def singles() -> dict[str, float]:
    """Microseconds of single steps, on real sockets; medians."""
    with ExitStack() as open_ones:
        listener = open_ones.enter_context(socket.create_server(("127.0.0.1", 0)))
        near = open_ones.enter_context(socket.create_connection(listener.getsockname()))
        far = open_ones.enter_context(listener.accept()[0])
        near.sendall(bytes(10_000))
        far.recv(10_000, socket.MSG_WAITALL)
        named = MonitoredConnection(1, "sender", "receiver")
        sender = app_snd(near, named, _Nowhere(), interval=3600.0)
        receiver = app_rcv(far, named, _Nowhere(), interval=3600.0)

        def plain() -> None:
            near.send(b"x")
            far.recv(100)

        def watched() -> None:
            sender.send(b"x")
            receiver.recv(100)

        both, none = _each(watched), _each(plain)
        return {
            "reading TCP_INFO of one connection": _each(reader(1, near)),
            "a wrapped send or recv, beyond the socket's own": max(0.0, (both - none) / 2),
        }


def _each(step: Callable[[], object], *, rounds: int = 9, times: int = 1000) -> float:
    """Microseconds of processor time."""
    figures = []
    for _ in range(rounds):
        begin = time.thread_time()
        for _ in range(times):
            step()
        figures.append((time.thread_time() - begin) / times * 1e6)
    return statistics.median(figures)


# -- tables ----------------------------------------------------------------------------------------


def _checks(found: Sequence[MonitorRun], single: dict[str, float]) -> dict[str, Check]:
    transport = [one for one in found if one.sensor == "transport" and one.where != HERE]
    cost = round(statistics.mean(one.all_in for one in transport), 1)
    read = round(single["reading TCP_INFO of one connection"], 2)
    shortest = min(one.interval for one in transport)
    late = max(
        statistics.median(
            one.p90
            for one in transport
            if one.interval == shortest and one.connections == connections
        )
        for connections in {one.connections for one in transport}
    )
    return {
        "a sample of transport, all in": Check(cost, "us", f"<= {GOAL_US:g}", cost <= GOAL_US),
        "reading TCP_INFO of one connection": Check(
            read, "us", f"<= {GOAL_READ_US:g}", read <= GOAL_READ_US
        ),
        f"transport's 90th percentile at {shortest:g} s, worst count": Check(
            round(late, 3), "of the interval", f"<= {GOAL_P90:g}", late <= GOAL_P90
        ),
    }


def _line(one: MonitorRun) -> str:
    return (
        f"{one.sensor:<10}{one.where:<5}{one.connections:>4} of {one.interval:<5g}s"
        f"{one.collection:>8.1f}{one.observer:>8.1f}{one.all_in:>8.1f} +-{one.all_in_e95:<6.1f}us"
        f"{one.p10:>8.2f}{one.median:>6.2f}{one.p90:>6.2f}"
    )


def _table(found: Sequence[MonitorRun]) -> str:
    """Our table 1, the paper's figures beside."""
    head = (
        f"{'':<16}{'collect':>9}{'process':>9}{'observer':>9}{'all in':>9}{'e95':>7}"
        f"{'median':>8}{'10 %':>6}{'90 %':>6}   paper: processing, total us; timeliness"
    )
    lines = [head]
    for sensor, where in dict.fromkeys((one.sensor, one.where) for one in found):
        own = [one for one in found if (one.sensor, one.where) == (sensor, where)]
        mean = {
            name: statistics.mean(getattr(one, name) for one in own)
            for name in ("collection", "processing", "observer", "all_in", "median", "p10", "p90")
        }
        lines.append(
            f"{sensor + ', ' + where:<16}{mean['collection']:>9.1f}{mean['processing']:>9.1f}"
            f"{mean['observer']:>9.1f}{mean['all_in']:>9.1f}{e95([o.all_in for o in own]):>7.1f}"
            f"{mean['median']:>8.2f}{mean['p10']:>6.2f}{mean['p90']:>6.2f}   {PAPER[sensor]}"
        )
    return "\n".join(lines)


def _exhibits(found: Sequence[MonitorRun]) -> list[Bars]:
    """Figures 2 to 5: by sampling interval, a panel a count and a series a sensor, or turned."""
    over_udp = [one for one in found if one.where != HERE]
    ways: tuple[tuple[str, str, str, str, str], ...] = (
        ("Cost of a sample, all in", "us", "all_in", "connections", "sensor"),
        ("Cost of a sample, all in", "us", "all_in", "sensor", "connections"),
        ("Timeliness, 90th percentile", "of the interval", "p90", "connections", "sensor"),
        ("Timeliness, 90th percentile", "of the interval", "p90", "sensor", "connections"),
    )
    return [
        _panel(f"{title}, {column} {value}", unit, own, figure=figure, series=series)
        for title, unit, figure, column, series in ways
        for value in dict.fromkeys(getattr(one, column) for one in over_udp)
        if (own := [one for one in over_udp if getattr(one, column) == value])
    ]


def _panel(title: str, unit: str, own: Sequence[MonitorRun], *, figure: str, series: str) -> Bars:
    """Means of one figure, grouped by sampling interval."""
    intervals = sorted({one.interval for one in own})
    curves = []
    for tone, value in enumerate(dict.fromkeys(getattr(one, series) for one in own)):
        values: dict[float, list[float]] = {}
        for one in own:
            if getattr(one, series) == value:
                values.setdefault(one.interval, []).append(getattr(one, figure))
        means = [(float(intervals.index(at)), statistics.mean(some)) for at, some in values.items()]
        curves.append(Curve(str(value), sorted(means), tone))
    most = max(mean for one in curves for _, mean in one.points)
    return Bars(title, unit, [f"{at:g} s" for at in intervals], curves, most)
