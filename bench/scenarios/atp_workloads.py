"""ATP's priority and deadline workloads (section 5.4, table 2, figure 7).

Six mixtures of messages over a link that fades from 190 KB/s to nothing and recovers; ATP with our
estimator and the paper's against NAI-TCP and NAI-MTCP with one to four connections of high
priority, over modelled TCP, in virtual time. What counts is that all of a message is at the
receiver within its time, for all implementations alike; `said` is the sender's word, as the paper
has it. 1 KB is 1000 bytes, as in the trace. Trials differ in when messages enter.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#from bench.exhibits import Bars, Exhibit
from bench.links import traces
from bench.links.carrier import CarrierModel
from bench.messengers import IMPLEMENTATIONS, Entry, Outcome, play
from bench.report import Check
from bench.virtual_time import run as run_virtually

TRACE: Final = Path(__file__).resolve().parents[1] / "traces" / "atp-synthetic.trace"
SECONDS: Final = 300.0
LOW, MEDIUM, HIGH = 0, 1, 2
LEVELS: Final = {HIGH: "high", MEDIUM: "medium", LOW: "low"}
_KB: Final = 1000
_PACKET: Final = 1500
HEADER: Final = 40
"""Bytes of IP and TCP; ATP's reliable datagrams have about as much."""
_JITTER: Final = 0.1
"""Of the spacing, by which a message may enter later."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Messages of one class. Bytes, seconds."""

    priority: int
    size: int
    timer: float
    every: float
    count: int


TABLE_2: Final[Mapping[str, tuple[Kind, ...]]] = {
    "uniform": (
        Kind(HIGH, 4 * _KB, 1.0, 0.5, 600),
        Kind(HIGH, 32 * _KB, 4.0, 2.0, 150),
    ),
    "prioritised": (
        Kind(HIGH, 4 * _KB, 1.0, 0.5, 600),
        Kind(LOW, 256 * _KB, 16.0, 8.0, 38),
    ),
    "reversed": (
        Kind(HIGH, 64 * _KB, 16.0, 4.0, 75),  # "8 s" there: 75 would take ten minutes, not five
        Kind(LOW, 4 * _KB, 1.0, 0.5, 600),
    ),
    "filesystem": (
        Kind(HIGH, 64, 0.5, 0.1, 3000),
        Kind(LOW, 64 * _KB, 1.0, 1.0, 300),
    ),
    "overload": (
        Kind(HIGH, 16 * _KB, 1.0, 0.25, 1200),
        Kind(LOW, 64 * _KB, 1.0, 0.5, 600),
    ),
}
RANDOM: Final = "random"
WORKLOADS: Final = (*TABLE_2, RANDOM)


def messages(workload: str, *, seed: int, seconds: float = SECONDS) -> list[Entry]:
    """A trial's, which are the same for each implementation."""
    chance = random.Random(f"{workload} {seed}")
    return sorted(one for one in _all(workload, chance) if one.at < seconds)


def _all(workload: str, chance: random.Random) -> Iterator[Entry]:
    if workload == RANDOM:
        levels = [HIGH] * 204 + [MEDIUM] * 191 + [LOW] * 205
        chance.shuffle(levels)
        for number, level in enumerate(levels):
            at = 0.5 * (number + chance.random() * _JITTER)
            size, timer = chance.uniform(_KB, 64 * _KB), chance.uniform(0.5, 4.0)
            yield Entry(at, round(size), timer, level)
        return
    for kind in TABLE_2[workload]:
        phase = chance.random() * kind.every * (1 - _JITTER)
        for number in range(kind.count):
            at = phase + kind.every * (number + chance.random() * _JITTER)
            yield Entry(at, kind.size, kind.timer, kind.priority)


def model() -> CarrierModel:
    """The line that all have."""
    return CarrierModel(
        schedule=traces.read(TRACE), delay=0.005, header=HEADER, queue=50 * _PACKET
    )


def simulate(workload: str, name: str, *, seed: int, seconds: float = SECONDS) -> list[Outcome]:
    """One trial of one implementation."""

    async def trial() -> list[Outcome]:
        entries = messages(workload, seed=seed, seconds=seconds)
        return await play(entries, IMPLEMENTATIONS[name], model())

    return run_virtually(trial())


Shares = dict[tuple[str, str, int], float]
"""Of the messages delivered in time, by workload, implementation and priority."""
