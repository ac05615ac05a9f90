"""An end's reports: how much of the peer's stream has come, and when the peer is told.

A report goes when there is progress and the last one is long enough ago: more rarely where reports
would fill one of the directions (transport/gate/report_spacing.py). Reports themselves are not
counted: a report must not call for another.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.sensors.delivered_rate import RateFilter
from transport.gate.report_spacing import REPORT_EVERY, REPORT_EVERY_THIN, THIN
from wire.frames import CLOCK_TICK, FrameReader, FrameWriter, Report

REPORT_SIZE: Final = len(FrameWriter().encode(Report(0, 0)))
"""Bytes of a report frame."""
_INCOMING_WINDOW: Final = 0.25
"""Seconds over which arrivals make a rate."""
_BUSY: Final = 0.2
"""Seconds of arrivals without a pause after which their rate says that the link is thin."""
PAUSE: Final = 0.1
"""Seconds without arrivals: above the 73 ms that 512 bytes take at 56 kbit/s."""


class OwnReports:
    """The reports of one end, over all connections that carry its stream."""

    def __init__(self, reader: FrameReader, *, now: float) -> None:
        """`reader` takes the frames out of what has come."""
        self._reader = reader
        self.received = 0
        """Bytes that have come, reports too."""
        self._reports_received = 0
        self._arriving = 0
        self._arrived_at = self._busy_since = now
        self._reported = 0
        self._reported_at = float("-inf")
        self._every = REPORT_EVERY
        """Seconds, as of the last one."""
        self._incoming = RateFilter()
        self._incoming_at = now

    def come(self, nbytes: int, *, arriving: int) -> bool:
        """So many more bytes are here, and `arriving` behind them can't be read before others have
        come. Whether what was said of the next report still holds."""
        # Of the rest of a record, whose part alone could wait longer, the report goes sooner.
        told_when = self.owed and bool(self._arriving) <= bool(arriving)
        self.received += nbytes
        self._arriving = arriving
        return told_when

    def read(self, arrived_at: float, *, reports: int) -> None:
        """What came then has been read, and so many reports were in it.

        That is when it came to this machine: the peer takes what waited here for a link that became
        slow.
        """
        self._reports_received += reports
        if self.owed:
            arrived_at = max(arrived_at, self._arrived_at)
            if arrived_at - self._arrived_at > PAUSE:
                self._busy_since = arrived_at
            self._arrived_at = arrived_at

    def come_apart(self, now: float) -> None:
        """Cells came in no order, which are not counted."""
        self._arrived_at = now

    @property
    def owed(self) -> bool:
        """Whether there is progress of which the peer has not been told."""
        return self.countable > self._reported

    @property
    def due(self) -> float:
        """When the next report may go, should there be progress."""
        # A protected report is half as large again: of a part of a record every other one will do.
        return self._reported_at + self._every * (2 if self._arriving else 1)

    @property
    def countable(self) -> int:
        """Bytes received but for reports."""
        unread = max(0, self._arriving - REPORT_SIZE)  # a report may be the first of it
        read = self.received - self._reports_received * REPORT_SIZE
        return read - self._reader.cut_report + unread

    def next_report(
        self, now: float, *, outgoing: Callable[[float], BandwidthEstimate | None]
    ) -> Report | None:
        """A report, if one is due; it counts as told. `outgoing`: what the other direction carries,
        as far as that is known."""
        if not self.owed or now < self.due:
            return None
        self._reported, self._reported_at = self.countable, now
        at = self._incoming_at = self._arrived_at
        self._incoming.add(at, self._reported, window=_INCOMING_WINDOW, sent_at=at)
        self._every = REPORT_EVERY_THIN if self._is_thin(outgoing(now)) else REPORT_EVERY
        return Report(self._reported, round(at / CLOCK_TICK))

    def incoming(self) -> BandwidthEstimate | None:
        """The rate of arrivals. Never sure: a receiver can't tell a slow link from a lazy peer."""
        rate = self._incoming.most_delivered() / _INCOMING_WINDOW
        return BandwidthEstimate(rate, self._incoming_at, 0.5, "receiver") if rate else None

    def lost(self) -> int:
        """The connection broke: bytes of the peer's stream that are here.

        Of a report that was cut off the rest will not come: reports are not sent again.
        """
        self._arriving = 0
        self.received -= self._reader.drop_cut_report()
        return self.countable

    def resume(self, now: float) -> None:
        """A new connection, whose peer has been told what is here."""
        self._reported = self.countable
        self._incoming = RateFilter()
        self._arrived_at = self._busy_since = now

    def _is_thin(self, outgoing: BandwidthEstimate | None) -> bool:
        """Whether reports would fill one of the directions."""
        incoming = self.incoming()
        busy = self._arrived_at - self._busy_since > _BUSY
        return (busy and incoming is not None and incoming.rate < THIN) or (
            outgoing is not None and outgoing.confidence > 0.5 and outgoing.rate < THIN
        )
