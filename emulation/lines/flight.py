"""Carries packets on from the serialiser: late, overtaken, lost, doubled. Pure.

jitter      extra delay that wanders; correlated, since independent draws with order kept delay
            everything by the worst of them
loss        each packet by itself, or in runs (Gilbert: good and bad states)
reordering  a share of packets is held back, so that those behind overtake
duplication a share of packets arrives twice

The chances are those of a seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final, NamedTuple

JITTER_STEP: Final = 0.02
"""Seconds between two draws of jitter at least: a queue elsewhere does not change faster."""


@dataclass(frozen=True, slots=True)
class Disturbances:
    """The disturbances of one direction. All zero: a good link."""

    jitter: float = 0.0
    """Seconds of extra delay at most; their mean is half of that."""
    jitter_step: float = 0.0
    """Seconds between two draws. 0: such that what comes later never has to arrive sooner."""
    loss: float = 0.0
    """Share of packets."""
    loss_run: float = 1.0
    """Packets lost in a row, on average."""
    reorder: float = 0.0
    """Share of packets that are held back."""
    reorder_delay: float = 0.0
    """Seconds for which they are."""
    duplicate: float = 0.0
    """Share of packets that arrive twice, the copy right behind."""

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self.jitter or self.loss or self.reorder or self.duplicate)

    def __post_init__(self) -> None:
        if not (0 <= self.loss < 1 and 0 <= self.reorder <= 1 and self.loss_run >= 1):
            raise ValueError("loss and reordering are shares of packets, a run of losses 1 or more")
        if not 0 <= self.duplicate <= 1:
            raise ValueError("duplication is a share of packets")
        if min(self.jitter, self.jitter_step, self.reorder_delay) < 0:
            raise ValueError("jitter and reordering delay, they do not hasten")


class Fate(NamedTuple):
    """The fate of a packet that arrives. Seconds."""

    late: float
    """Those behind it wait for it."""
    held: float
    """Those behind it do not."""
    twice: bool = False
    """A copy comes right behind it."""


_PUNCTUAL: Final = Fate(0.0, 0.0)


class Wander:
    """Extra delay between 0 and `most`, linear between draws."""

    def __init__(self, most: float, *, step: float, seed: int) -> None:
        """`most` and `step` in seconds."""
        self._most = most
        self._step = step
        self._chance = random.Random(seed)
        self._from = self._to = 0.0
        self._draws = 0
        self._epoch: float | None = None

    def at(self, now: float) -> float:
        """`now` never goes back, but by less than a step."""
        if not self._most:
            return 0.0
        if self._epoch is None:
            self._epoch = now - now % self._step
        steps = (now - self._epoch) / self._step
        while self._draws <= steps:
            self._draws += 1
            self._from, self._to = self._to, self._chance.uniform(0.0, self._most)
        share = max(0.0, steps - (self._draws - 1))
        return self._from + (self._to - self._from) * share


class Flight:
    """Decides for one packet after the other."""

    def __init__(self, disturbances: Disturbances, *, seed: int) -> None:
        self._of = disturbances
        self._chance = random.Random(seed)
        step = disturbances.jitter_step or max(JITTER_STEP, disturbances.jitter)
        self._wander = Wander(disturbances.jitter, step=step, seed=seed + 1)
        self._losing = False
        # Of a chain whose stays in the bad state are `loss_run` long: how often it goes there.
        self._worsens = disturbances.loss / (1 - disturbances.loss) / disturbances.loss_run

    def fate(self, at: float) -> Fate | None:
        """The fate of the packet that leaves the serialiser `at`; None: it is lost."""
        if self._lost():
            return None
        if not self._of.jitter and not self._of.reorder and not self._of.duplicate:
            return _PUNCTUAL
        held = self._of.reorder_delay if self._chance.random() < self._of.reorder else 0.0
        twice = self._of.duplicate > 0 and self._chance.random() < self._of.duplicate
        return Fate(self._wander.at(at), held, twice)

    def _lost(self) -> bool:
        if not self._of.loss:
            return False
        if self._of.loss_run == 1:
            return self._chance.random() < self._of.loss
        chance = 1 - 1 / self._of.loss_run if self._losing else self._worsens
        self._losing = self._chance.random() < chance
        return self._losing
