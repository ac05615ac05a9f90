"""Errors between an application and its connection."""

from __future__ import annotations

from wire.errors import LocalError


class PayloadRefused(LocalError):
    """The connection takes no more payloads now: look at `room` before sending."""
