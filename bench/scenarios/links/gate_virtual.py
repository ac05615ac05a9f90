"""The gate over modelled links in virtual time: deterministic, so that tests can set bounds.

The same question as bench/scenarios/links/gate.py, on links that a laptop can't offer: satellites
with shallow queues, jitter, rates that swing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bench.scenarios.links.gate import CHUNK, ChunkWatch, EndlessOutbox, Silent
from emulation.memory.memory import LinkModel, memory_links
from emulation.memory.virtual_time import run as run_virtually
from transport.gate.statistics import GateStatistics
from transport.link.interface import LinkStatistics

_STEP: Final = 0.05
"""Seconds between two looks at the link."""
_CHUNK_EVERY: Final = 0.97
"""Seconds; no multiple of what else is periodic here."""
UNFITTED: Final = 1024
"""Bytes of a quantum before the link has been measured."""
_FIT_EVERY: Final = 5
"""Looks; a session fits its quantum as often."""
_SURE: Final = 0.5


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """What came of a run."""

    goodput: float
    """Payload delivered after the warm-up, as a share of what the link could carry."""
    median: float
    """Seconds from wanting to send a chunk to its arrival."""
    p90: float
    full_after: float
    """Seconds until half a second's goodput first reached 0.9; infinite: never."""
    dropped: int
    """Bytes."""
    peak_queue: int
    """Bytes."""
    quantum: int
    """Bytes, in the end."""
    gate: GateStatistics


async def _scenario(
    model: LinkModel,
    *,
    quantum: int | None,
    chunk: int | None,
    bypass: bool,
    seconds: float,
    warm_up: float,
    swing: tuple[float, Sequence[float]] | None,
    full_back: int,
) -> GateOutcome:
    loop = asyncio.get_running_loop()
    near, far = memory_links(model)
    backlog, watch = EndlessOutbox(quantum or UNFITTED, bypass=bypass), ChunkWatch()
    near.start(EndlessOutbox(full_back) if full_back else Silent(), watch)
    far.start(backlog, ChunkWatch())
    asked: list[float] = []
    looks: list[tuple[float, int]] = [(0.0, 0)]
    """Bytes the link could have carried; payload delivered."""
    rate = model.rate_down
    for step in range(1, round(seconds / _STEP) + 1):
        now = step * _STEP
        await asyncio.sleep(now - loop.time())
        looks.append((looks[-1][0] + rate * _STEP, watch.payload))
        if swing is not None:
            every, rates = swing
            wanted = rates[int(now / every + 1e-9) % len(rates)]
            if wanted != rate:
                rate = wanted
                far.outgoing.set_rate(rate)
        if quantum is None and step % _FIT_EVERY == 0:
            fit(backlog, far.statistics())
        if now >= warm_up + len(asked) * _CHUNK_EVERY and now < seconds - 3.0:
            asked.append(now)
            backlog.add_chunk(chunk or backlog.quantum)
            far.wake()
    start = looks[round(warm_up / _STEP)]
    delays = sorted(done - at for at, done in zip(asked, watch.chunks, strict=True))
    line = far.outgoing.statistics()
    return GateOutcome(
        goodput=(looks[-1][1] - start[1]) / (looks[-1][0] - start[0]),
        median=delays[len(delays) // 2],
        p90=delays[int(len(delays) * 0.9)],
        full_after=_full_after(looks),
        dropped=line.dropped,
        peak_queue=line.peak_backlog,
        quantum=backlog.quantum,
        gate=far.endpoint.gate.statistics(loop.time()),
    )


def _full_after(looks: Sequence[tuple[float, int]]) -> float:
    """Seconds until ten steps together delivered nine tenths of what they could."""
    for step, (before, after) in enumerate(zip(looks, looks[10:], strict=False), start=10):
        if after[1] - before[1] >= 0.9 * (after[0] - before[0]):
            return step * _STEP
    return float("inf")


class Fitted(Protocol):
    """An outbox whose quantum may be set."""

    quantum: int


def fit(backlog: Fitted, link: LinkStatistics) -> float | None:
    """Fit the quantum to the link as the remote proxy's session does.

    Returns the bytes/second that it is fitted to; None: too little is known, and it stays.
    """
    estimate = link.outgoing
    if estimate is None or estimate.confidence < _SURE:
        return None
    backlog.quantum = link.chunks.quantum(estimate.rate)
    return estimate.rate


def simulate(
    model: LinkModel,
    *,
    quantum: int | None,
    chunk: int | None = CHUNK,
    bypass: bool = True,
    seconds: float = 20.0,
    warm_up: float = 3.0,
    swing: tuple[float, Sequence[float]] | None = None,
    full_back: int = 0,
) -> GateOutcome:
    """Run a backlog and chunks of high priority downwards.

    `quantum` in bytes; None: fitted to the link as it is measured. `chunk` in bytes; None: one
    quantum. `bypass`: chunks pass a closed gate. `swing`: seconds per phase, rates in turn.
    `full_back`: the quantum of a backlog upwards, among which reports find their way; 0: none.
    """
    return run_virtually(
        _scenario(
            model,
            quantum=quantum,
            chunk=chunk,
            bypass=bypass,
            seconds=seconds,
            warm_up=warm_up,
            swing=swing,
            full_back=full_back,
        )
    )
