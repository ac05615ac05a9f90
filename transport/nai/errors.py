"""Errors of this package, named by who must act.

`NaiError`: wrong use by the application. `PeerFault`: the other end broke the protocol; the
connection ends. `CarrierError`: what carries the segments is gone.
"""

from __future__ import annotations


class NaiError(Exception):
    """The application asked for something that can't be; the message says what would do."""


class SegmentFault(NaiError):
    """What arrived is no segment that an honest sender makes."""


class CarrierError(NaiError):
    """There is nothing that carries segments any more."""


class NotSent(NaiError):
    """A message ended without having been sent: cancelled, rejected, or its bytes not to be had."""


class NotTaken(NotSent):
    """The receiver refused a message, and says why; what it had of it is forgotten there."""

    def __init__(self, id: int, reason: str) -> None:
        super().__init__(reason)
        self.id = id
        """Of the message, as the receiver knew it."""
