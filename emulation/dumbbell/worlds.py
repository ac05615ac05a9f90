"""Builds the two worlds of the RCP paper's figure 3: flows that share a wired bottleneck, and one
mobile host behind a wireless hop.

What the paper leaves open is chosen here. The bottleneck has 10 Mbit/s, for 100 on/off sources
then lose 40 % of what goes the other way, as the paper has it. Round trips are 100 ms without
queues, give or take 5; a queue holds what the line carries in that time.
"""

from __future__ import annotations

import random
from typing import Final

from emulation.dumbbell.events import Events
from emulation.dumbbell.flows import PACKET, Flow, RcpFlow, Route, SackFlow
from emulation.dumbbell.hops import Hop
from emulation.dumbbell.on_off import OnOffSource

RATE: Final = 1_250_000.0
"""Bytes/second of the bottleneck, each way."""
DELAY: Final = 0.02
"""Seconds one way over the bottleneck."""
ACCESS: Final = 0.03
"""Seconds one way over all other links of a flow, on average."""
SPREAD: Final = 0.0025
"""Seconds by which that differs from flow to flow at most."""
QUEUE: Final = int(RATE * 2 * (DELAY + ACCESS) / PACKET)
"""Packets: one bandwidth-delay product."""
START: Final = 1.0
"""Seconds within which flows start."""

AIR_RATE: Final = 250_000.0
AIR_DELAY: Final = 0.015
"""The wireless hop (3.4): 2 Mbit/s, 15 ms."""


class Dumbbell:
    """Flows side by side over one bottleneck, and bursts against them."""

    def __init__(self, *, tcp: int, rcp: int, on_off: int = 0, seed: int = 1) -> None:
        self.events = Events()
        chance = random.Random(seed)
        self.forward = Hop(self.events, rate=RATE, delay=DELAY, queue=QUEUE)
        self.backward = Hop(self.events, rate=RATE, delay=DELAY, queue=QUEUE)
        kinds: list[type[RcpFlow] | type[SackFlow]] = [RcpFlow] * rcp + [SackFlow] * tcp
        chance.shuffle(kinds)
        self.flows: list[Flow] = []
        for kind in kinds:
            access = ACCESS + chance.uniform(-SPREAD, SPREAD)
            down, up = Route((self.forward,), access), Route((self.backward,), access)
            flow = kind(self.events, down, up)
            self.events.at(chance.uniform(0.0, START), flow.start)
            self.flows.append(flow)
        for _ in range(on_off):
            OnOffSource(self.events, self.backward, random.Random(chance.random()))

    def delivered(self, until: float) -> list[int]:
        """Bytes of each flow by then, seconds."""
        self.events.run(until)
        return [flow.delivered for flow in self.flows]


class MobileHost:
    """One flow over the wired bottleneck and a wireless hop that loses both ways."""

    def __init__(
        self, kind: type[RcpFlow] | type[SackFlow], *, loss: float, eln: bool, seed: int = 1
    ) -> None:
        self.events = Events()
        chance = random.Random(seed)
        wired = [Hop(self.events, rate=RATE, delay=DELAY, queue=QUEUE) for _ in range(2)]
        queue = int(AIR_RATE * 2 * (DELAY + AIR_DELAY) / PACKET)
        self.air = air = [
            Hop(
                self.events,
                rate=AIR_RATE,
                delay=AIR_DELAY,
                queue=queue,
                chance=random.Random(chance.random()),
                loss=loss,
            )
            for _ in range(2)
        ]
        down, up = Route((wired[0], air[0])), Route((air[1], wired[1]))
        self.flow: Flow = kind(self.events, down, up, eln=eln)
        self.flow.start()

    def delivered(self, until: float) -> int:
        """Bytes by then, seconds."""
        self.events.run(until)
        return self.flow.delivered
