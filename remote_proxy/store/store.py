"""A store of bytes by name, which may lose any of them at any time.

It is asked on the way of nobody's text: an answer that does not come soon is none. Nothing here
raises; a store that fails has nothing, takes nothing and lets everybody begin. Must not know what
the bytes are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Protocol

MAX_VALUE: Final = 16 << 20
"""Bytes of one value; what is larger is not kept."""


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """A snapshot, of this process alone."""

    kind: str
    """"memory", "valkey"."""
    answers: bool
    """It did when it was last asked."""
    found: int
    missed: int
    failed: int
    """Questions that it did not answer, or not in time."""


class Store(Protocol):
    """Where bytes are kept for all who know their name."""

    async def get(self, key: bytes) -> bytes | None:
        """The bytes; None: they are not there."""

    async def put(self, key: bytes, value: bytes, *, seconds: float) -> None:
        """Keep them for so long at most."""

    async def forget(self, key: bytes) -> None:
        """Nobody gets them any more."""

    async def claim(self, key: bytes, *, seconds: float) -> bool:
        """Whether whoever asks is the first, who is to do the work of that name; for so long the
        others are not."""

    async def release(self, key: bytes) -> None:
        """The work of that name is done, or given up."""

    async def claimed(self, key: bytes) -> bool:
        """Whether somebody is at that work."""

    async def close(self) -> None: ...

    def statistics(self) -> StoreStatistics: ...


def name(*parts: bytes | str) -> bytes:
    """A name that no other parts have, of 32 bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.digest()
