"""Tells which quanta go out no slower, behind the one before, than the link is said to carry.

Of those the receiver knows that what they take longer to arrive is the link's doing: it notices a
fade by them, though word of it waits behind all that was sent before the sender knew. Pure.
"""

from __future__ import annotations

from typing import Final, TypeVar

from wire.frames import Control, Data

LATE: Final = 1.25
"""Times the time that the link takes for a chunk, after which the next one may go,"""
TIMER: Final = 0.002
"""and seconds by which a busy machine's timers are late."""
REPLAYED: Final = 3.0
"""Seconds after a connection broke in which quanta may be those of before: what was true of them
then is not now, when they go again as a link allows of which nothing is known."""

Frame = TypeVar("Frame", Data, Data | Control)


class SentPace:
    """One direction, at its sender."""

    def __init__(self) -> None:
        self._at = float("-inf")
        self._nbytes = 0
        self._keeps = self._has_data = False

    def begins(self, now: float, rate: float) -> None:
        """A chunk is made that goes now. `rate`: bytes/second that the link is known to carry; 0:
        it is not known."""
        self._keeps = rate > 0 and now - self._at <= LATE * self._nbytes / rate + TIMER
        self._has_data = False

    def marked(self, frame: Data | Control) -> Data | Control:
        """A frame of it, as it is to go: what keeps no pace loses the mark."""
        if not isinstance(frame, Data):
            return frame
        self._has_data = True
        return frame if self._keeps else unmarked(frame)

    def ends(self, now: float, nbytes: int) -> None:
        """The chunk has so many bytes. One without data counts for nothing, for the receiver goes
        by data."""
        if self._has_data:
            self._at, self._nbytes = now, nbytes


def unmarked(frame: Frame) -> Frame:
    """The same without the mark."""
    if isinstance(frame, Data) and frame.paced:
        return Data(frame.component, frame.payload, frame.last, frame.offset)
    return frame
