"""The stream that goes up: pushed over the quickest path, and what it owes over another. Pure.

Requests are few, small and urgent, and who receives them can't know of them, so here the sender
decides (R2CP, 5.2.1). SPP repeats what a path loses; what a path owes that answers no more goes
over another as well, and the receiver drops what comes twice.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from transport.rcp.receive_buffer import ReceiveBuffer
from wire.errors import PeerError

CAPACITY: Final = 4 << 20
"""Bytes that may have come behind a gap; SPP's window is no larger."""


class UplinkSender:
    """What was sent and has not arrived, whatever path it took."""

    def __init__(self) -> None:
        self.written = 0
        """Bytes of the stream so far."""
        self.counts_from = 0
        """Nobody counts the arrival of what is before."""
        self._unacked: dict[int, bytes] = {}
        """By offset, rising."""
        self._sent: dict[int, dict[int, int]] = {}
        """By path, the offset that each of its payloads carries."""
        self._again: deque[int] = deque()
        """Offsets that are to go over another path,"""
        self._waits: set[int] = set()
        """each once."""

    @property
    def in_order(self) -> int:
        """All bytes before have arrived."""
        return next(iter(self._unacked), self.written)

    @property
    def under_way(self) -> int:
        """Pieces that have not arrived."""
        return len(self._unacked)

    def write(self, data: bytes) -> int:
        """The next piece of the stream: its offset."""
        offset = self.written
        self.written += len(data)
        self._unacked[offset] = data
        return offset

    def sent(self, path: int, payload: int, offset: int) -> None:
        """A path's payload of that number carries the piece."""
        self._sent.setdefault(path, {})[payload] = offset

    def arrived(self, path: int, payload: int) -> int:
        """A payload is over there: how many bytes that had not arrived before, and count."""
        offset = self._sent.get(path, {}).pop(payload, None)
        if offset is None:
            return 0
        size = len(self._unacked.pop(offset, b""))
        return size if offset >= self.counts_from else 0

    def owe(self, offset: int) -> None:
        """No path could carry the piece, or the one that did answers no more: the next is to."""
        if offset not in self._waits:
            self._again.append(offset)
            self._waits.add(offset)

    def give_up(self, path: int) -> None:
        """The path is gone, or answers no more: what it owes is to go over another."""
        for offset in sorted(self._sent.pop(path, {}).values()):
            self.owe(offset)

    def next_again(self) -> tuple[int, bytes] | None:
        """A piece that is to be sent once more, with its offset; None: there is none."""
        while self._again:
            offset = self._again.popleft()
            self._waits.discard(offset)
            if offset in self._unacked:
                return offset, self._unacked[offset]
        return None


class UplinkReceiver:
    """Puts it in order, each byte once."""

    def __init__(self) -> None:
        self._buffer = ReceiveBuffer(CAPACITY)

    def came(self, offset: int, data: bytes) -> None:
        """A piece has come. Raises PeerError where there can be none such."""
        if not self._buffer.accept(offset, data):
            raise PeerError(f"{len(data)} bytes at {offset} are beyond what may be sent")

    def read(self) -> bytes:
        """What is in order and was not read."""
        return self._buffer.read()
