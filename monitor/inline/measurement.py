"""One measurement of available bandwidth after the other, each by up to four streams.

    measurement = InlineMeasurement(packet=1200)
    stream = measurement.stream          # send its packets at its offsets
    measurement.observed(StreamTimes(sent, arrived))    # -> a result, or None: another stream

Source: ImTCP, III-B; the steps are in the modules beside. Step 5's edges are as the text means
them, not as it has them: there is at least Bu where the range is exceeded (a = 0), and at most Bl
where it is not reached (a = k + 1); the formula has them the other way round.

Pure: times are the caller's, by whatever clock each end has. It does not know what carries packets,
nor when a stream may be sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from monitor.inline import sub_range, two_lines
from monitor.inline.search_range import RangeHistory, SearchRange, how_many
from monitor.inline.stream import MeasurementStream, StreamTimes, at_once, covering
from monitor.inline.trend import Trend, trend

PACKETS: Final = 5
"""N: with 3 trends can't be told, 8 take longer (III-C)."""
EARLY: Final = 2
"""Streams in a row without a trend after which the slower ones would have none (step 3)."""

SLOWEST: Final = 0.5
"""Of what arrives, below which nothing is looked for: a slower stream would hold up what TCP sends
meanwhile, and that would leave as one burst behind it. A search begins there, too (step 1)."""

PATIENCE: Final = 2
"""Results in a row above their ranges after which a burst is sooner than growing by half: nine of
ten steps of a line's load are found within 7 to 11 measurements then, 29 to 35 without."""


class Where(Enum):
    """Where available bandwidth is, seen from the range in which it was looked for."""

    INSIDE = "inside"
    ABOVE = "above"
    """It is at least the result."""
    BELOW = "below"
    """It is at most the result."""


@dataclass(frozen=True, slots=True)
class InlineResult:
    """What one measurement has found."""

    available: float
    """A, in bytes/second."""
    where: Where
    searched: SearchRange
    streams: int
    """Streams that it took."""


class InlineMeasurement:
    """Measures one path, again and again."""

    def __init__(self, *, packet: int, count: int = PACKETS, patience: int | None = None) -> None:
        """`packet`: M, bytes of each that is sent for it; `count`: N, packets of a stream.

        `patience`: after so many results in a row above their ranges a burst tells where to begin
        anew, which is ours; None: never, as the paper has it, so that the range grows by half at a
        time. Below, a burst would tell nothing.
        """
        if count < 3:
            raise ValueError(f"streams of {count} packets have no trend")
        self.packet = packet
        """M, which may change between two streams: what is found is bytes/second."""
        self._count, self._patience = count, patience
        self._above = 0
        """Results in a row that were above."""
        self._history = RangeHistory()
        self._range: SearchRange | None = None
        self._parts: list[SearchRange] = []
        self._trends: list[Trend] = []
        self._points: list[list[tuple[float, float]]] = []
        """Of each stream the rates at which its packets left, and came."""
        self.latest: InlineResult | None = None

    @property
    def searched(self) -> SearchRange | None:
        """The range in which the present measurement looks; None: it finds out where to begin."""
        return self._range

    @property
    def stream(self) -> MeasurementStream:
        """What to send next. One that failed, for want of packets or by a loss, is the same
        again."""
        if self._range is None:
            return at_once(packet=self.packet, count=self._count)
        part = self._parts[len(self._trends)]
        return covering(part, packet=self.packet, count=self._count)

    def ahead(self, unheard: int) -> MeasurementStream | None:
        """What to send behind so many streams that have left and that `observed` has not been told
        of; None: this measurement has no more than these."""
        if self._range is None:
            return self.stream if unheard == 0 else None
        at = len(self._trends) + unheard
        if at >= len(self._parts):
            return None
        return covering(self._parts[at], packet=self.packet, count=self._count)

    def observed(self, times: StreamTimes, *, resolution: float = 0.0) -> InlineResult | None:
        """The stream's packets have come; None: there is another one to send.

        `resolution`: seconds below which two arrivals can't be told apart.
        """
        if self._range is None:
            self._begin(times, resolution)
            return None
        self._trends.append(trend(times.delays, resolution=resolution))
        self._points.append(times.rates(self.packet, resolution=resolution))
        none = self._trends[-EARLY:] == [Trend.NONE] * EARLY
        if not none and len(self._trends) < len(self._parts):
            return None
        return self._conclude(self._range, resolution)

    def begin_at(self, rough: float) -> None:
        """Step 1 without a burst: about so many bytes/second are known to arrive."""
        self._search(SearchRange(rough / 2, rough), rough)

    def at_least(self, arrives: float) -> None:
        """So many bytes/second of the connection arrive, so that they are available: the present
        measurement, unless it has begun, looks at half of them and more, and up to all of them."""
        searched, low = self._range, SLOWEST * arrives
        if searched is None or self._trends or searched.low >= low:
            return
        if searched.high < low:
            self._history.forget()
        self._search(SearchRange(low, max(searched.high, arrives)), arrives)

    def restart(self) -> None:
        """Find out anew where to begin: this is another path."""
        self._history.forget()
        self._above = 0
        self._range = None
        self._parts, self._trends, self._points = [], [], []

    def _begin(self, times: StreamTimes, resolution: float) -> None:
        """Step 1: at what rate a burst came says in which range to look first."""
        took = max(times.arrived[-1] - times.arrived[0], resolution, 1e-9)
        self.begin_at(self.packet * (len(times.arrived) - 1) / took)

    def _search(self, searched: SearchRange, latest: float) -> None:
        self._range = searched
        self._parts = searched.sub_ranges(how_many(searched, latest))
        self._trends, self._points = [], []

    def _conclude(self, searched: SearchRange, resolution: float) -> InlineResult:
        streams = len(self._trends)
        unsent = len(self._parts) - streams
        at = sub_range.choose([*self._trends, *[Trend.NONE] * unsent])
        if at == 0:
            found, where, then = searched.high, Where.ABOVE, searched.above()
        elif at > len(self._parts):
            found, where, then = searched.low, Where.BELOW, searched.below()
        else:
            found = two_lines.available(self._points[at - 1], low=self._parts[at - 1].low)
            where, then = Where.INSIDE, self._history.add(found)
        self.latest = InlineResult(found, where, searched, streams)
        self._search(then, found)
        if where is not Where.INSIDE:
            self._history.forget()
        self._above = self._above + 1 if where is Where.ABOVE else 0
        if self._above == self._patience:
            self.restart()
        return self.latest
