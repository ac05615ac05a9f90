"""Hands an HTTP/2 connection's frames down, a frame of the stream whose turn it is at a time.

Nothing is decided earlier than it must be: what is buffered can't be re-ordered, so there is at
most a batch of it. Must not know: requests, what the frames are about. Sources: RFC 9113, 5.2;
RFC 9218, 10.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from h2.connection import H2Connection

from local_proxy.front.http2.priority import Turns
from local_proxy.front.http2.streams import Http2Stream
from local_proxy.http.client_stream import ClientStream

QUANTUM: Final = 16384
"""Bytes of one stream before another has its turn: a frame (RFC 9113, 4.2)."""
BATCH: Final = 16384
"""Bytes handed down at once: small answers share a write, large ones don't wait for each other."""
MAX_OUT: Final = 65536
"""Bytes of field sections and replies that wait before the client's frames are read on."""


class Http2Writer:
    """One connection's, a task."""

    def __init__(
        self, http: H2Connection, client: ClientStream, *, piece_sent: Callable[[Http2Stream], None]
    ) -> None:
        """`piece_sent`: a DATA frame of this stream was made; perhaps its last."""
        self._http = http
        self._client = client
        self._piece_sent = piece_sent
        self._turns = Turns()
        self._ready: dict[int, Http2Stream] = {}
        self._out = bytearray()
        """Frames in the order in which h2 made them, not yet handed down."""
        self._wake = asyncio.Event()
        self._handed_down = asyncio.Event()
        self._over = False

    def __repr__(self) -> str:
        return f"<Http2Writer {self._turns!r}>"

    def wake(self) -> None:
        """h2 has frames to send, or windows have opened."""
        self._wake.set()

    def add(self, stream: Http2Stream) -> None:
        """It has something to send, or has changed its priority."""
        self._ready[stream.number] = stream
        self._turns.add(stream.number, stream.priority)
        self._wake.set()

    def __contains__(self, stream: Http2Stream) -> bool:
        return stream.number in self._ready

    def forget(self, stream: Http2Stream) -> None:
        """It is over."""
        self._ready.pop(stream.number, None)
        self._turns.forget(stream.number)

    def unsent(self) -> int:
        """Bytes of frames that are made and not handed down."""
        self._out += self._http.data_to_send()
        return len(self._out)

    async def room(self, *, at_most: int = MAX_OUT) -> None:
        """Until so few bytes of frames wait to be handed down; or never will be."""
        while self.unsent() > at_most and not self._over:
            self._handed_down.clear()
            self._wake.set()
            await self._handed_down.wait()

    async def run(self) -> None:
        """Hand down what is due, at the pace at which the client takes it, until cancelled."""
        try:
            while True:
                self._wake.clear()
                while data := self._batch():
                    await self._client.write(data)
                    self._handed_down.set()
                    await asyncio.sleep(0)  # what was just read may be more urgent
                self._handed_down.set()
                await self._wake.wait()
        except ConnectionError:
            pass  # who reads sees it, too
        finally:
            self._over = True
            self._handed_down.set()

    def _batch(self) -> bytes:
        """The next frames: replies and field sections first, then streams in their turn."""
        while self.unsent() < BATCH:
            number = self._turns.next(self._may_send)
            if number is None:
                break
            self._send_piece(self._ready[number])
        data = bytes(self._out)
        self._out.clear()
        return data

    def _may_send(self, number: int) -> bool:
        ended = self._ready[number].only_end_pending
        return ended or self._http.local_flow_control_window(number) > 0

    def _send_piece(self, stream: Http2Stream) -> None:
        window = self._http.local_flow_control_window(stream.number)
        room = min(window, self._http.max_outbound_frame_size, QUANTUM)
        piece, end = stream.take(max(0, room))
        self._http.send_data(stream.number, piece, end_stream=end)
        if not stream.pending:
            self._ready.pop(stream.number, None)
            self._turns.rest(stream.number)
        stream.sent(end=end)
        self._piece_sent(stream)
