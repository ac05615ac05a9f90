"""One experiment of bandwidth monitoring: processes, laps, and the figures that come of them.

A daemon, a sender and a receiver, each a process of its own; the daemon's processor time is read
from /proc at the ends of WINDOWS parts of the experiment, which give the error of its mean. Knows
processes and figures; not how they are put in tables.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

from bench.reports.confidence import e95
from monitor.samples import SensorKind

WINDOWS: Final = 5
"""Parts of an experiment."""
LEAST_ROUNDS: Final = 4
"""Samples of a connection that an experiment is long enough for."""
HERE: Final = "here"
"""Where the observer is, in place of a daemon's address: in the process of the sensors."""
_US: Final = 1e6


@dataclass(frozen=True, slots=True)
class MonitorRun:
    """Figures of one experiment; costs are microseconds of processor time a sample."""

    sensor: str
    where: str
    """The observer: "udp" or "here"."""
    connections: int
    interval: float
    samples: int
    collection: float
    """At the sensors: reading, reporting, sending."""
    processing: float
    """At the observer: parsing, estimating, logging."""
    observer: float
    """All that the observer's process does, receiving included; 0 without a process."""
    all_in: float
    """The sensors' costs and the observer's."""
    all_in_e95: float
    """Half of the 95 % confidence interval of its mean, from the windows."""
    p10: float
    """Of samples' inter-arrival times, by the sampling interval."""
    median: float
    p90: float

    def as_json(self) -> dict[str, Any]:
        """One row of the report."""
        return asdict(self)


class _Talk:
    """A process that is spoken to in lines."""

    def __init__(self, module: str, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"bench.scenarios.monitor.{module}", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self.line().removeprefix("listening on ") if module else ""

    @property
    def _out(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def line(self) -> str:
        """The next one that it says. Raises RuntimeError when it has ended."""
        said = self._out.readline()
        if not said:
            raise RuntimeError(f"{self.process.args!r} has ended")
        return said.strip()

    def spent(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((one / "schedstat").read_text().split()[0]) for one in tasks) * 1e-9

    def ask(self) -> dict[str, Any]:
        """What it answers."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.line())
        return answer

    def end(self) -> None:
        """Have it end, at once where it does not by itself."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._out.close()


class Laboratory:
    """Runs experiments beside one daemon."""

    def __init__(self, daemon: _Talk) -> None:
        self._daemon = daemon

    def run(
        self, sensor: SensorKind, *, connections: int, interval: float, seconds: float, where: str
    ) -> MonitorRun:
        """One experiment; `where`: "udp" or HERE. Raises RuntimeError where a process fails."""
        seconds = max(seconds, LEAST_ROUNDS * interval)
        observer = HERE if where == HERE else self._daemon.address
        words = (sensor.name, str(connections), str(interval), observer, str(seconds))
        sender = _Talk("watched_transfers", "send", *words)
        receiver: _Talk | None = None
        try:
            receiver = _Talk("watched_transfers", "receive", *words, sender.address)
            assert sender.line() == receiver.address == "started"
            self._daemon.ask()
            ends = [(time.monotonic(), self._daemon.spent())]
            for _ in range(WINDOWS):
                time.sleep(seconds / WINDOWS)
                ends.append((time.monotonic(), self._daemon.spent()))
            log = self._daemon.ask()
            told = json.loads((receiver if sensor is SensorKind.APP_RCV else sender).line())
        finally:
            for one in (sender, receiver):
                if one is not None:
                    one.end()
        if where == HERE:
            log = told
        return _figures(sensor, where, told, log, ends, connections=connections, interval=interval)


@contextmanager
def laboratory() -> Iterator[Laboratory]:
    """One with a daemon of its own."""
    daemon = _Talk("watched_daemon")
    try:
        yield Laboratory(daemon)
    finally:
        daemon.end()


def _figures(
    sensor: SensorKind,
    where: str,
    told: dict[str, Any],
    log: dict[str, Any],
    ends: Sequence[tuple[float, float]],
    *,
    connections: int,
    interval: float,
) -> MonitorRun:
    """`told`: by the sensors; `log`: by the observer; `ends`: of windows, with time spent."""
    gaps = log["gaps"]
    if not told["samples"] or len(gaps) < 2:
        raise RuntimeError(f"{sensor.name} made no samples of {connections} connections")
    collection = told["spent"] / told["samples"] * _US
    if where == HERE:
        processing = told["reported"] / told["samples"] * _US
        observer, all_in, error = 0.0, collection, 0.0
        collection -= processing
    else:
        taken = sum(count for _, count in log["counts"])
        processing = log["spent"] / taken * _US
        observer = (ends[-1][1] - ends[0][1]) / taken * _US
        all_in = collection + observer
        error = e95(_by_window(log["counts"], ends))
    tenths = statistics.quantiles((gap / interval for gap in gaps), n=10)
    return MonitorRun(
        sensor=sensor.name.lower(), where=where, connections=connections, interval=interval,
        samples=told["samples"], collection=round(collection, 2), processing=round(processing, 2),
        observer=round(observer, 2), all_in=round(all_in, 2), all_in_e95=round(error, 2),
        p10=round(tenths[0], 3), median=round(tenths[4], 3), p90=round(tenths[8], 3),
    )  # fmt: skip


def _by_window(
    counts: Sequence[tuple[float, int]], ends: Sequence[tuple[float, float]]
) -> list[float]:
    """Microseconds a sample in each window that had any."""
    found = []
    for (begin, before), (end, after) in pairwise(ends):
        samples = sum(count for at, count in counts if begin <= at < end)
        if samples:
            found.append((after - before) / samples * _US)
    return found
