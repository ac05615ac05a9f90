"""Draws a bad link's trouble as it shows behind whoever terminates TCP: late, or gone.

    jitter    each segment is late by up to so many seconds, each way; order holds
    loss      of a packet: it and all behind it on that connection wait for its retransmission, one
              to two round trips, twice as long for each time that is lost too (RFC 6298, 5.5)
    outage    nothing moves for so long, every so often; at its end one in two resets what is open,
              as a modem does that has dialled anew and has another address

Retransmissions take none of the rate and senders do not slow down: both would need the TCP of the
network that is not there. Pure; the chances are those of a seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

SEGMENT: Final = 536
"""Bytes that are lost together: what TCP sends over thin links (RFC 9293, 3.7.1)."""
_APART: Final = 0.2
"""Seconds between bytes that do not share a segment."""


@dataclass(frozen=True, slots=True)
class Impairments:
    """Seconds, but for `loss`, a share of segments, and the seed. All zero: a good link."""

    jitter: float = 0.0
    loss: float = 0.0
    outage_every: float = 0.0
    """From one outage's start to the next; the first is half of it in."""
    outage: float = 0.0
    seed: int = 1

    @property
    def late(self) -> bool:
        """Whether packets are late at all."""
        return bool(self.jitter or self.loss)


GOOD: Final = Impairments()


class Lateness:
    """The lateness of one direction of one connection."""

    def __init__(self, impairments: Impairments, *, round_trip: float, chance: random.Random):
        """`round_trip` in seconds, without jitter."""
        self._impairments = impairments
        self._round_trip = round_trip
        self._chance = chance
        self._room = 0
        """Bytes that still share the latest segment."""
        self._began = float("-inf")
        self._due = float("-inf")

    def due(self, at: float, size: int) -> float:
        """When bytes are there that a good link would deliver `at`."""
        self._room -= size
        if self._room < 0 or at - self._began > _APART:
            self._room, self._began = SEGMENT - size, at
            self._due = max(self._due, at + self._segment())
        self._due = max(self._due, at)
        return self._due

    def _segment(self) -> float:
        """Seconds by which the next segment is late."""
        impairments, chance = self._impairments, self._chance
        late = chance.uniform(0.0, impairments.jitter)
        wait = self._round_trip * chance.uniform(1.0, 2.0)
        while chance.random() < impairments.loss:
            late, wait = late + wait, 2 * wait
        return late


class Outages:
    """When nothing moves."""

    def __init__(self, impairments: Impairments, *, now: float, chance: random.Random) -> None:
        self._impairments = impairments
        self._chance = chance
        self.start = now + impairments.outage_every / 2 if impairments.outage_every else None
        """Of the present outage, or the next; None: there are none."""

    @property
    def end(self) -> float | None:
        """When the present outage ends."""
        return None if self.start is None else self.start + self._impairments.outage

    def over(self) -> bool:
        """The present one is; whether it resets what is open."""
        assert self.start is not None
        self.start += self._impairments.outage_every
        return self._chance.random() < 0.5
