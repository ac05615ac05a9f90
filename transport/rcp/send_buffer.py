"""Keeps what was written until the receiver has it. Pure."""

from __future__ import annotations

from typing import Protocol


class Content(Protocol):
    """What a sender sends: a buffer, or whatever knows its bytes."""

    @property
    def written(self) -> int:
        """All before this byte can be sent."""

    @property
    def ended(self) -> bool:
        """Nothing comes after that."""

    @property
    def dry(self) -> bool:
        """To ask for what is behind it makes no more of it now."""

    @property
    def purged(self) -> int:
        """All before this byte is gone."""

    def slice(self, begin: int, end: int) -> bytes:
        """These bytes, which are neither purged nor yet to be written."""

    def purge(self, upto: int) -> None:
        """Nobody will ask for what is before."""


class SendBuffer:
    """The bytes between SEG.DEQ and the last one written; implements Content."""

    def __init__(self, capacity: int) -> None:
        self._bytes = bytearray()
        self.capacity = capacity
        """Bytes that it has room for."""
        self.purged = 0
        self.ended = False
        self.dry = True

    @property
    def written(self) -> int:
        return self.purged + len(self._bytes)

    @property
    def room(self) -> int:
        """Bytes that may be written now."""
        return 0 if self.ended else self.capacity - len(self._bytes)

    def write(self, data: bytes) -> None:
        """Raises ValueError for more than there is room for."""
        if len(data) > self.room:
            raise ValueError(f"{len(data)} bytes do not fit: there is room for {self.room}")
        self._bytes += data

    def end(self) -> None:
        """Nothing more will be written."""
        self.ended = True

    def slice(self, begin: int, end: int) -> bytes:
        return bytes(self._bytes[begin - self.purged : end - self.purged])

    def purge(self, upto: int) -> None:
        if upto > self.purged:
            del self._bytes[: upto - self.purged]
            self.purged = upto
