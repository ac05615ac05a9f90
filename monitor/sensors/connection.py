"""Watches one TCP connection through the kernel's views of it: facts for throughput models. Pure.

    sensor = ConnectionSensor()
    sensor.add(now, view)         at even intervals, some 20 times a second
    sensor.facts()                what the models of monitor/models/ take

What a view does not tell is inferred: loss events and timeouts by loss_events.py, windows and the
receiver's way to acknowledge here. Knows no socket and no model.
"""

from __future__ import annotations

from typing import Final

from monitor.facts import ConnectionFacts
from monitor.sensors.loss_events import LossEvents
from monitor.tcp_view import TcpInfo

_LIMITED: Final = 0.1
"""Share of the time that the send buffer must have limited it to be called a limit."""

_INITIAL: Final = 10
"""Segments sent until then at most when a connection is called new (RFC 6928)."""


class ConnectionSensor:
    """Keeps what has been seen of one connection."""

    def __init__(self) -> None:
        self._losses = LossEvents()
        self._first: tuple[float, TcpInfo] | None = None
        self._last: tuple[float, TcpInfo] | None = None
        self._rounds = 0.0
        """Round trips that have passed."""
        self._window_seconds = 0.0
        """Bytes of the receiver's window, times how long it had them."""
        self._buffered = 0
        """Segments under way at most while the send buffer was the limit."""

    def add(self, now: float, view: TcpInfo | None) -> None:
        """A view has been taken; without one, or with one that goes back, nothing changes."""
        if view is None or view.rtt <= 0 or view.segment_size <= 0:
            return
        if self._first is None or self._last is None:
            self._first = self._last = now, view
            self._losses.add(now, view)
            return
        then, before = self._last
        if now <= then or _goes_back(before, view):
            return
        self._last = now, view
        self._losses.add(now, view)
        passed = now - then
        self._rounds += passed / view.rtt
        self._window_seconds += passed * (view.peer_window or 0)
        if (view.buffer_limited or 0.0) > (before.buffer_limited or 0.0):
            self._buffered = max(self._buffered, view.unacked_segments)

    def facts(self) -> ConnectionFacts | None:
        """What is known since the first view; None before there are two."""
        if self._first is None or self._last is None or self._first is self._last:
            return None
        (since, first), (at, last) = self._first, self._last
        sent = last.segments - first.segments
        losses = self._losses
        window = None if last.peer_window is None else self._window_seconds / (at - since)
        return ConnectionFacts(
            at=at,
            since=since,
            rtt=(at - since) / self._rounds,
            segment_size=last.segment_size,
            segments=sent,
            bytes_acked=last.bytes_acked - first.bytes_acked,
            from_start=first.segments <= _INITIAL and not first.retransmitted_segments,
            rtt_deviation=last.rtt_deviation,
            retransmission_timeout=last.retransmission_timeout,
            retransmitted=min(sent, last.retransmitted_segments - first.retransmitted_segments),
            loss_events=min(float(sent), losses.events),
            first_loss=_since(losses.first_loss, first.segments),
            timeouts=losses.timeouts,
            timeout_seconds=losses.timeout_seconds,
            segments_per_ack=_segments_per_ack(first, last),
            send_window=self._send_window(first, last, at - since),
            receive_window=window or None,
        )

    def _send_window(self, first: TcpInfo, last: TcpInfo, passed: float) -> float | None:
        limited = (last.buffer_limited or 0.0) - (first.buffer_limited or 0.0)
        if not self._buffered or limited < _LIMITED * passed:
            return None
        return float(self._buffered * last.segment_size)


def _goes_back(before: TcpInfo, view: TcpInfo) -> bool:
    """Whether a count has become less: it is another connection's view."""
    return (
        view.segments < before.segments
        or view.bytes_acked < before.bytes_acked
        or view.retransmitted_segments < before.retransmitted_segments
    )


def _since(first_loss: int | None, before: int) -> int | None:
    return None if first_loss is None else max(1, first_loss - before)


def _segments_per_ack(first: TcpInfo, last: TcpInfo) -> float:
    """Segments acknowledged by each acknowledgement that came without data."""
    came = last.segments_in - first.segments_in
    acks = came - (last.data_segments_in - first.data_segments_in)
    through = (last.bytes_acked - first.bytes_acked) / last.segment_size
    return max(1.0, through / acks) if acks > 0 else 1.0
