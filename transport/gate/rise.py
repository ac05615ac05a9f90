"""Finds a link that has become much faster, and believes it when a second burst says the same.

The margin grows by parts of the rate (transport/gate/margin.py), so on a long path a rise by ten
takes 40 s. But what goes at once, after a rest or as the margin grows, tells the rate of
the link (monitor/sensors/burst_rate.py). Radios and shapers let a few packets pass faster than what
follows, so another burst goes, longer than a rate takes to be told; if that is as fast, so is the
link. If it becomes slower soon afterwards, it was none: others use it, or a shaper has had its
fill. Then nothing is believed for a while.

Pure. It knows rates and bytes; the gate knows what to do about them.
"""

from __future__ import annotations

from typing import Final

from monitor.sensors.burst_rate import SPAN, BurstSample

_FASTER: Final = 1.5
"""Times the rate: less is found by the margin, and beside a call it is what the call takes."""
_SECOND: Final = 1.5 * SPAN
"""Seconds of the rate that was seen, which the second burst lasts,"""
_AHEAD: Final = 2.0
"""and times that rate, at which it goes: who goes as fast as a link carries sees no faster one. So
half of it is queued at most, which is less than a margin."""
_PATIENCE: Final = 2.5
"""Loops until what a burst says is old: the second one goes at once."""
_REPAIRED: Final = 1000
"""Reports after a loss, 5 s of use at least, in which nothing is believed: where bytes are lost now
and then a burst costs more of them than it tells."""
_REFUTED: Final = 4.0
"""Loops, or"""
_SOON: Final = 1.0
"""seconds, within which a link that becomes slower had not become faster."""
_WARY: Final = 30.0
"""Seconds after that in which nothing is believed; twice as long each time,"""
_WARIEST: Final = 480.0
"""and at most."""


class Rise:
    """Watches one link."""

    def __init__(self) -> None:
        self._seen = 0.0
        """Bytes/second, as the first burst said; 0: none has."""
        self._seen_at = float("-inf")
        self._believed_at = float("-inf")
        self._wary, self._wary_until = _WARY, float("-inf")
        self._unsure = 0
        """Reports until a loss is long ago."""

    @property
    def pace(self) -> float:
        """Bytes/second at which the second burst goes; 0: there is none."""
        return _AHEAD * self._seen

    def more(self, delivered: float) -> float:
        """Bytes of the second burst, that may be under way beyond the cap: no more than the path is
        known to hold, `delivered`."""
        return min(_SECOND * self._seen, delivered)

    def heard(self, now: float, burst: BurstSample | None, *, rate: float, loop: float) -> float:
        """A report came `loop` seconds after what it tells of had left; `rate` is known so far.
        Bytes/second that the link carries now; 0: it is as it was."""
        if now > self._seen_at + _PATIENCE * loop:
            self._seen = 0.0
        self._unsure = max(0, self._unsure - 1)
        if burst is None or burst.rate < _FASTER * rate or now < self._wary_until or self._unsure:
            return 0.0
        if not self._seen:
            self._seen, self._seen_at = burst.rate, now
        elif burst.sent_at >= self._seen_at:
            self._seen, self._believed_at = 0.0, now
            return burst.rate
        else:
            self._seen = max(self._seen, burst.rate)
        return 0.0

    def repaired(self) -> None:
        """Bytes have come that had waited behind a lost one."""
        self._seen, self._unsure = 0.0, _REPAIRED

    def slower(self, now: float, *, loop: float) -> bool:
        """The link has become slower. Whether it had not become faster."""
        self._seen = 0.0
        if now > self._believed_at + max(_SOON, _REFUTED * loop):
            return False
        self._believed_at = float("-inf")
        self._wary_until = now + self._wary
        self._wary = min(_WARIEST, 2 * self._wary)
        return True
