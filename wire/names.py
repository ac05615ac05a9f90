"""Names that stand for URLs where the other side knows these too: 4 bytes for 80. Pure."""

from __future__ import annotations

import zlib
from typing import Final

from wire.continuation import Continuation

NAME: Final = 4
"""Bytes that stand for a URL in `Continuation.known` and in `Kept`."""
MAX_NAMES: Final = 64
"""Names in a Kept that anybody sends: 256 bytes, 60 ms of a modem's way up."""


def name_of(url: str) -> bytes:
    """What stands for a URL: two that share it cost one of them a round trip, no more."""
    return zlib.crc32(url.encode()).to_bytes(NAME, "big")


def known_names(resume: Continuation | None) -> frozenset[bytes]:
    """The names in `known`."""
    return names_in(resume.known if resume is not None else b"")


def names_in(names: bytes) -> frozenset[bytes]:
    """What was written one behind the other."""
    return frozenset(names[at : at + NAME] for at in range(0, len(names), NAME))
