"""Errors of pairings; every text says what to do."""

from __future__ import annotations


class PairingError(Exception):
    """A pairing string, a device's name or the state folder is not usable."""
