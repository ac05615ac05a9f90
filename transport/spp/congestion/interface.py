"""The interface between SPP and congestion control. Pure.

Bytes are those of IP packets. The five events and answers are all there is, so that an algorithm
needs to know neither packets nor timers.
"""

from __future__ import annotations

from typing import Protocol

from transport.spp.congestion.round_trip import RoundTrip


class Congestion(Protocol):
    """Controls the congestion of one direction of one connection."""

    def allowance(self, round_trip: RoundTrip) -> tuple[float, float]:
        """Bytes that may be under way, and bytes/second at which they may leave."""

    def sent(self, size: int, *, under_way: int, now: float) -> None:
        """A packet left; with it so many bytes are under way. Only this tells of what is cancelled,
        or lost in the air: that is said to be neither acknowledged nor lost."""

    def acknowledged(self, size: int, *, sent_at: float, now: float, limited: bool) -> None:
        """Packets arrived, the newest of which was sent then.

        `limited`: the allowance was used up, so their arrival says something about it.
        """

    def lost(self, size: int, *, sent_at: float, now: float) -> None:
        """Packets are lost, the newest of which was sent then."""

    def timed_out(self, *, now: float) -> None:
        """Nothing of a long while arrived, or the path is another one: what is known is void."""
