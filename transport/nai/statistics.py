"""Statistics of a sender, for whoever watches."""

from __future__ import annotations

from dataclasses import dataclass

from transport.nai.estimators.estimator import NaiEstimate
from transport.nai.messages.message import Expiry, MessageState


@dataclass(frozen=True, slots=True)
class SenderStatistics:
    """An immutable snapshot."""

    queued: int
    """Messages under way."""
    waiting: int
    """Messages suspended or deferred."""
    bytes: int
    """Of messages under way, with headers."""
    delivered: int
    """Messages."""
    late: int
    early: int
    refused: int
    turned_away: int
    """Messages that the receiver did not take."""
    cancelled: int
    wasted: int
    """Bytes sent of messages that were cancelled or begun anew."""
    estimate: NaiEstimate


class SenderTally:
    """Counts as they grow."""

    def __init__(self) -> None:
        self.ended = dict.fromkeys(
            (MessageState.DELIVERED, MessageState.CANCELLED, MessageState.REJECTED), 0
        )
        self.expiries = dict.fromkeys(Expiry, 0)
        self.wasted = 0

    def statistics(
        self, queued: int, waiting: int, size: int, turned_away: int, estimate: NaiEstimate
    ) -> SenderStatistics:
        """With what is under way now: messages, messages aside, bytes; and refusals so far."""
        return SenderStatistics(
            queued=queued,
            waiting=waiting,
            bytes=size,
            delivered=self.ended[MessageState.DELIVERED],
            late=self.expiries[Expiry.LATE],
            early=self.expiries[Expiry.EARLY],
            refused=self.expiries[Expiry.REFUSED],
            turned_away=turned_away,
            cancelled=self.ended[MessageState.CANCELLED],
            wasted=self.wasted,
            estimate=estimate,
        )
