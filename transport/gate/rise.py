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
"""Loops until what a burst says is old: the second one goes at once,"""
_REMEMBERED: Final = 60.0
"""or, where there was nothing more to send, seconds: what both say counts."""
_REPAIRED: Final = 1000
"""Reports after a loss, 5 s of use at least, in which no second burst goes on purpose: where bytes
are lost now and then it costs more of them than it tells."""
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
        self._once = 0.0
        """Bytes/second, as a burst said then that no second one followed; 0: there is none."""
        self._believed_at = float("-inf")
        self._wary, self._wary_until = _WARY, float("-inf")
        self._unsure = 0
        """Reports until a loss is long ago."""

    @property
    def pace(self) -> float:
        """Bytes/second at which the second burst goes; 0: there is none."""
        return 0.0 if self._unsure else _AHEAD * self._seen

    def more(self, delivered: float) -> float:
        """Bytes of the second burst, that may be under way beyond the cap: no more than the path is
        known to hold, `delivered`."""
        return 0.0 if self._unsure else min(_SECOND * self._seen, delivered)

    def heard(self, now: float, burst: BurstSample | None, *, rate: float, loop: float) -> float:
        """A report came `loop` seconds after what it tells of had left; `rate` is known so far.
        Bytes/second that the link carries now; 0: it is as it was."""
        if self._seen and now > self._seen_at + _PATIENCE * loop:
            self._once, self._seen = self._seen, 0.0
        if now > self._seen_at + _REMEMBERED:
            self._once = 0.0
        self._unsure = max(0, self._unsure - 1)
        if burst is None or now < self._wary_until:
            return 0.0
        if burst.rate < _FASTER * rate:
            if burst.drawn_out and burst.sent_at >= self._seen_at:
                self._seen = self._once = 0.0
            return 0.0
        if burst.sent_at >= self._seen_at and (self._seen or self._once > _FASTER * rate):
            rate = burst.rate if self._seen else min(self._once, burst.rate)
            self._seen, self._once, self._believed_at = 0.0, 0.0, now
            return rate
        if not self._seen:
            self._seen_at = now
        self._seen = max(self._seen, burst.rate)
        return 0.0

    def repaired(self) -> None:
        """Bytes have come that had waited behind a lost one."""
        self._seen, self._once = 0.0, 0.0
        self._unsure = _REPAIRED

    def slower(self, now: float, *, loop: float) -> bool:
        """The link has become slower. Whether it had not become faster."""
        self._seen = self._once = 0.0
        if now > self._believed_at + max(_SOON, _REFUTED * loop):
            return False
        self._believed_at = float("-inf")
        self._wary_until = now + self._wary
        self._wary = min(_WARIEST, 2 * self._wary)
        return True
