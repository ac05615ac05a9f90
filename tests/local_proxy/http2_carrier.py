"""A connection of HTTP/2, as its streams see it: it notes what they have it do."""

from __future__ import annotations

from h2.errors import ErrorCodes

from local_proxy.front.http2.head import EncodedFields
from local_proxy.front.http2.streams import Http2Stream

GET = [(":method", "GET"), (":scheme", "http"), (":authority", "a.test"), (":path", "/")]


class Carrier:
    """A connection, as a stream sees it: notes what the stream has it do."""

    local_address = ("127.0.0.1", 8118)
    peer_address = ("127.0.0.1", 50_000)

    def __init__(self) -> None:
        self.heads: list[tuple[EncodedFields, bool]] = []
        self.credited: list[int] = []
        self.resets: list[ErrorCodes] = []
        self.sent = bytearray()
        self.flows = True
        """What is written goes out at once."""

    def send_head(self, stream: Http2Stream, fields: EncodedFields, *, end: bool) -> None:
        self.heads.append((fields, end))

    def has_output(self, stream: Http2Stream) -> None:
        if self.flows:
            self.flush(stream)

    def flush(self, stream: Http2Stream, size: int = 1 << 20) -> bool:
        piece, end = stream.take(size)
        self.sent += piece
        stream.sent(end=end)
        return end

    def credit(self, stream: Http2Stream, amount: int) -> None:
        self.credited.append(amount)

    def reset(self, stream: Http2Stream, code: ErrorCodes) -> None:
        self.resets.append(code)
        stream.lose()
