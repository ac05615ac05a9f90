"""Draws the paths on which throughput models are tried: loss, round trip, rate, queue, receiver.

A path loses by chance, one packet or several in a row, or only where its queue overflows, or its
receiver's window is the limit: four kinds in turn, so that each sample has all. The chances are
those of a seed. Pure.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Final

from emulation.lines.profiles import Profile

KINDS: Final = ("loss", "loss", "runs", "link", "window")
"""What limits, in turn: three of five paths lose by chance, of these one several in a row."""
LOSSES: Final = (0.001, 0.05)
"""Share of packets, each way."""
ROUND_TRIPS: Final = (0.02, 0.3)
"""Seconds."""
RUNS: Final = (2.0, 4.0)
"""Packets lost in a row, on average, where several are: timeouts come of these."""
RATES: Final = {"link": (0.05e6, 0.5e6)}
"""Bytes/second. Slower where the link limits: a fast one takes minutes between two overflows."""
OTHER_RATES: Final = (0.5e6, 2.5e6)
QUEUES: Final = (0.25, 2.0)
"""Bandwidth-delay products."""
LEAST_QUEUE: Final = 15_000
"""Bytes: ten packets."""
WINDOWS: Final = (8_000, 64_000)
"""Bytes asked for as the receiver's buffer, where its window limits."""


@dataclass(frozen=True, slots=True)
class RandomPath:
    """One path and its receiver."""

    kind: str
    """"loss", "runs", "link" or "window"."""
    profile: Profile
    delays_acks: bool
    receive_buffer: int | None
    """Bytes; None: the kernel's own choice, which grows."""

    def row(self) -> dict[str, object]:
        """Its part of a run's record."""
        return {
            "kind": self.kind,
            "loss_percent": round(100 * self.profile.loss, 3),
            "lost_in_a_row": round(self.profile.loss_run, 2),
            "delay_rtt_ms": round(2000 * self.profile.delay, 1),
            "rate_kb_s": round(self.profile.rate_up / 1000, 1),
            "queue": self.profile.queue,
            "delays_acks": self.delays_acks,
            "receive_buffer": self.receive_buffer,
        }


def draw(count: int, *, seed: int) -> list[RandomPath]:
    """So many paths."""
    chance = random.Random(seed)
    return [_path(number, chance) for number in range(count)]


def _path(number: int, chance: random.Random) -> RandomPath:
    kind = KINDS[number % len(KINDS)]
    rate, delay = _between(RATES.get(kind, OTHER_RATES), chance), chance.uniform(*ROUND_TRIPS) / 2
    loss = 0.0 if kind == "link" else _between(LOSSES, chance)
    queue = round(max(LEAST_QUEUE, rate * 2 * delay * chance.uniform(*QUEUES)))
    buffer = round(_between(WINDOWS, chance)) if kind == "window" else None
    runs = chance.uniform(*RUNS) if kind == "runs" else 1.0
    profile = Profile(
        f"{kind} {number}",
        "drawn",
        rate_down=rate,
        rate_up=rate,
        delay=delay,
        queue=queue,
        loss=loss,
        loss_run=runs,
    )
    return RandomPath(kind, profile, chance.random() < 0.5, buffer)


def _between(ends: tuple[float, float], chance: random.Random) -> float:
    """Evenly by the logarithm: every order of magnitude has its share."""
    return math.exp(chance.uniform(*map(math.log, ends)))
