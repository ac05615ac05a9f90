"""Integers of 1, 2, 4 or 8 bytes (RFC 9000, section 16), the shortest form only. Pure."""

from __future__ import annotations

from typing import Final

from wire.errors import LocalError, PeerError

LARGEST: Final = (1 << 62) - 1
_SMALLEST: Final = {1: 0, 2: 1 << 6, 4: 1 << 14, 8: 1 << 30}
"""Of each length: what is below has a shorter form, so each number has one form alone."""


def encode(value: int) -> bytes:
    """Raises LocalError for what no such integer can say."""
    if 0 <= value < 0x40:
        return value.to_bytes(1, "big")
    if 0 <= value < 0x4000:
        return (value | 0x4000).to_bytes(2, "big")
    if 0 <= value < 0x4000_0000:
        return (value | 0x8000_0000).to_bytes(4, "big")
    if 0 <= value <= LARGEST:
        return (value | 0xC000_0000_0000_0000).to_bytes(8, "big")
    raise LocalError(f"{value} does not fit an integer of the wire")


def size(value: int) -> int:
    """Bytes that `encode` makes of it."""
    return 1 if value < 0x40 else 2 if value < 0x4000 else 4 if value < 0x4000_0000 else 8


def decode(data: bytes, at: int) -> tuple[int, int]:
    """The integer that begins there, and where it ends. Raises PeerError."""
    if at >= len(data):
        raise PeerError("a frame ends within an integer")
    first = data[at]
    if first < 0x40:
        return first, at + 1
    length = 1 << (first >> 6)
    end = at + length
    if end > len(data):
        raise PeerError("a frame ends within an integer")
    value = int.from_bytes(data[at:end], "big") & ((1 << (8 * length - 2)) - 1)
    if value < _SMALLEST[length]:
        raise PeerError(f"the integer {value} takes {length} bytes where fewer would do")
    return value, end
