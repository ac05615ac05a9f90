"""Limits that one front grants its clients, whatever HTTP version they speak."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FrontLimits:
    """What one front grants its clients."""

    connections: int = 512
    """At a time; who gives way to whom: local_proxy/front/places.py."""
    head_time: float = 30.0
    """Seconds from a request's first byte to the end of its head."""
    idle_time: float = 300.0
    """Seconds that a connection may wait for a request, or a half-closed tunnel for bytes."""
    body: int = 1 << 32
    """Bytes of a request's body; answered 413 above."""
