"""Estimates by TCP's models what a connection carries, from a transport sensor's samples. Pure.

Bolliger and Gross, 2.2: the observer applies throughput models to what the transport tells. Those
of monitor/models/ take losses, timeouts, round trips and windows; while these tell nothing yet, or
the application has little to send, what was delivered is the answer. They are TCP Reno's: CUBIC,
which most kernels use, carries more on long fat paths. Must not know connections' names, nor who
asks.
"""

from __future__ import annotations

from dataclasses import replace

from monitor.estimate import BandwidthEstimate
from monitor.models import model
from monitor.observer.model import DeliveredModel
from monitor.samples import TransportSample
from monitor.sensors.connection import ConnectionSensor
from monitor.tcp_view import TcpInfo


class ThroughputModel:
    """Takes what Cardwell's or Padhye's model makes of a connection for what it can do."""

    def __init__(self) -> None:
        self._sensor = ConnectionSensor()
        self._delivered = DeliveredModel()

    def estimate(
        self, sample: TransportSample, *, at: float, now: float
    ) -> BandwidthEstimate | None:
        """By the model that fits; by what was delivered, while none does."""
        delivered = self._delivered.estimate(sample, at=at, now=now)
        self._sensor.add(at, view_of(sample))
        facts = self._sensor.facts()
        if facts is None or sample.application_limited:
            return delivered
        modelled = model.estimate(facts)
        return delivered if modelled is None else replace(modelled, at=now)


def view_of(sample: TransportSample) -> TcpInfo:
    """The sample as a view of the connection, as far as it tells."""
    return TcpInfo(
        rtt=sample.rtt,
        min_rtt=sample.min_rtt,
        unacked_segments=sample.unacked,
        window_segments=sample.window,
        unsent=0,
        retransmitted_segments=sample.retransmitted,
        segments=sample.segments,
        delivery_rate=float(sample.delivery_rate),
        rtt_deviation=sample.rttvar,
        retransmission_timeout=sample.timeout,
        segment_size=sample.mss,
        congestion_state=sample.state,
        backoff=sample.backoff,
        slow_start_threshold=sample.threshold,
        bytes_acked=sample.acked,
        segments_in=sample.acknowledgements,
        peer_window=sample.peer_window or None,
    )
