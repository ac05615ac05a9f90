"""Models: each maps what is known of one connection to an estimate of its bandwidth. Pure.

A model is made for each connection and sees all of its samples, so it may remember. The observer
asks for no more than the protocol here; other models of TCP's throughput plug in at
`BandwidthObserver(model=...)`. Must not know connections' names, nor who asks. Source: Bolliger
and Gross, 2 and 2.1.
"""

from __future__ import annotations

from typing import Final, Protocol

from monitor.estimate import BandwidthEstimate
from monitor.observer.smoothed_rate import MEMORY, SmoothedRate
from monitor.samples import ProgressSample, SensorKind, TransportSample

APP_SURE: Final = 0.5
"""Confidence of an application's sensor at most: it can't tell a slow path from a pause of the
application, nor bytes on the path from bytes in a buffer of the kernel's."""
ROUNDS: Final = 8
"""Round trips after which a transport's rate is as sure as it gets."""
LIMITED_SURE: Final = 0.3
"""Confidence at most while the application gives the path too little to do."""
SOURCES: Final = {kind: kind.name.lower() for kind in SensorKind}
"""How estimates name their sensor."""
_TRANSPORT: Final = SOURCES[SensorKind.TRANSPORT]


class ConnectionModel(Protocol):
    """What the observer asks of a model of one connection."""

    def estimate(
        self, sample: TransportSample, *, at: float, now: float
    ) -> BandwidthEstimate | None:
        """What the connection can do, as of this sample; None: not known yet.

        `at`: when it was taken, on the sensor's clock; `now`: when it is here, on the observer's,
        which is the estimate's time.
        """


class DeliveredModel:
    """Takes what the receiver has acknowledged for what the path carries.

    While the application has less to send than the window allows, or nothing is under way, an
    interval can raise the estimate and not lower it: the path could have carried more (as BBR
    treats such samples).
    """

    def __init__(self) -> None:
        self._acked = SmoothedRate()

    def estimate(
        self, sample: TransportSample, *, at: float, now: float
    ) -> BandwidthEstimate | None:
        """The rate of acknowledged bytes, smoothed; as sure as it covers round trips."""
        acked, limited = self._acked, bool(sample.limited & 1) or not sample.unacked
        acked.add(sample.acked, at, at_least=limited)
        if not acked.measured:
            return None
        sure = min(1.0, acked.measured / (ROUNDS * max(sample.rtt_us * 1e-6, 0.01)))
        if limited and sure > LIMITED_SURE:
            sure = LIMITED_SURE
        return BandwidthEstimate(acked.rate, now, sure, _TRANSPORT)


class AppModel:
    """Takes what an application has sent or received between reports for what the path carries."""

    def __init__(self, kind: SensorKind) -> None:
        self._passed = SmoothedRate()
        self._source = SOURCES[kind]

    def estimate(
        self, sample: ProgressSample, *, at: float, now: float
    ) -> BandwidthEstimate | None:
        """The rate of its bytes, smoothed; None until a second report."""
        passed = self._passed
        passed.add(sample.total, at)
        if not passed.measured:
            return None
        sure = APP_SURE * min(1.0, passed.measured / MEMORY)
        return BandwidthEstimate(passed.rate, now, sure, self._source)
