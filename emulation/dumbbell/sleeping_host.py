"""A mobile host whose channel is good or bad by turns, and whose radio may sleep while it is bad.

The RCP paper's 3.4.4: a two-state Markov channel, beacons every 100 ms that cost 2 ms of receiving,
and the powers of an 802.11b card. The host learns of the channel's state from beacons alone, so it
goes to sleep and wakes at those. A radio that is awake and does not send receives, or listens,
which takes as much.
"""

from __future__ import annotations

import random
from typing import Final

from emulation.dumbbell.flows import RcpFlow, SackFlow
from emulation.dumbbell.worlds import AIR_RATE, MobileHost

TRANSMIT: Final = 1.65
RECEIVE: Final = 1.4
ASLEEP: Final = 0.045
"""Watts in each state."""
BEACONS: Final = 0.1
"""Seconds between two."""
BEACON: Final = 0.002
"""Seconds of receiving that one takes."""
GOOD: Final = 10.0
"""Seconds that a good state lasts on average."""
LOSS_GOOD: Final = 0.0001
LOSS_BAD: Final = 0.1
"""Shares of packets lost in each state."""


class SleepingHost(MobileHost):
    """One flow over such a channel: RCP, whose receiver may sleep, or TCP, whose may not."""

    def __init__(
        self, kind: type[RcpFlow] | type[SackFlow], *, bad: float, sleeps: bool, seed: int = 1
    ) -> None:
        """`bad`: seconds that a bad state lasts on average. The same seed gives the same states."""
        super().__init__(kind, loss=LOSS_GOOD, eln=False, seed=seed)
        self._states = random.Random(seed)
        self._bad_for = bad
        self._bad = False
        self._slept = 0.0
        self._asleep_since: float | None = None
        self._beacons = 0
        """While asleep."""
        self.events.at(self._states.expovariate(1 / GOOD), self._turn)
        if sleeps:
            assert isinstance(self.flow, RcpFlow)
            self.events.at(BEACONS, self._look)

    @property
    def energy(self) -> float:
        """Joules that the radio has taken until now."""
        asleep = self._slept
        if self._asleep_since is not None:
            asleep += self.events.now - self._asleep_since
        listening = self._beacons * BEACON
        sending = self.air[1].carried / AIR_RATE
        awake = self.events.now - asleep + listening
        return TRANSMIT * sending + RECEIVE * (awake - sending) + ASLEEP * (asleep - listening)

    def _turn(self, _: object = None) -> None:
        """The channel changes its state."""
        self._bad = not self._bad
        for hop in self.air:
            hop.loss = LOSS_BAD if self._bad else LOSS_GOOD
        mean = self._bad_for if self._bad else GOOD
        self.events.at(self.events.now + self._states.expovariate(1 / mean), self._turn)

    def _look(self, _: object = None) -> None:
        """A beacon tells how the channel is."""
        now = self.events.now
        self.events.at(now + BEACONS, self._look)
        assert isinstance(self.flow, RcpFlow)
        if self._asleep_since is None:
            if self._bad:
                self._asleep_since = now
                self.flow.sleep()
            return
        self._beacons += 1
        if not self._bad:
            self._slept += now - self._asleep_since
            self._asleep_since = None
            self.flow.wake()
