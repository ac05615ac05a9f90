"""Any bytes at all: the HTTP/2 front answers, says goodbye or hangs up, and stays small."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from local_proxy.front.http2.connection import Http2Connection
from local_proxy.front.http2.flood import PREFACE, Flood, FrameMeter
from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Duplex, Request, Response


@dataclass
class Memory:
    """A client that has sent all it ever will (local_proxy.http.client_stream.ClientStream)."""

    pieces: list[bytes]
    sent: bytearray = field(default_factory=bytearray)
    ended: bool = False
    lost: bool = False
    over: str = ""
    on_leave: Callable[[], object] | None = None

    async def read(self) -> bytes:
        await asyncio.sleep(0)
        if self.pieces:
            return self.pieces.pop(0)
        for _ in range(5):  # what was begun may go on for a moment
            await asyncio.sleep(0)
        self.ended = True
        return b""

    async def write(self, data: bytes) -> None:
        self.sent += data

    def end(self, last: bytes = b"") -> None:
        self.sent += last

    def close(self, last: bytes = b"") -> None:
        self.over = "closed"

    def abort(self) -> None:
        self.over = "aborted"


class Core:
    """Reads every body and answers with as much."""

    async def handle(self, request: Request) -> Response:
        size = 0
        if request.body is not None:
            async for chunk in request.body:
                size += len(chunk)
        return Response(200, [], b"x" * size)

    async def connect(self, host: str, port: int, **how: object) -> Duplex | Response:
        return Response(502, [], b"")


def fed(pieces: list[bytes]) -> Memory:
    """The client after the front has dealt with these bytes, and nothing else is left running."""

    async def main() -> Memory:
        client = Memory([piece for piece in pieces if piece])
        connection = Http2Connection(Core(), client, limits=FrontLimits(body=100_000))
        async with asyncio.timeout(60):
            await connection.run()
        assert connection.statistics().streams == 0
        assert len(asyncio.all_tasks()) == 1
        return client

    return asyncio.run(main())


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    head = len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4)
    return head + payload


GET = b"\x82\x86\x84\x41\x01a"
POST = b"\x83\x86\x84\x41\x01a"
frames = st.one_of(
    st.builds(
        frame,
        st.integers(0, 17),
        st.integers(0, 255),
        st.integers(0, 9),
        st.one_of(st.binary(max_size=40), st.sampled_from([GET, POST, bytes(4), bytes(8)])),
    ),
    st.builds(
        frame,
        st.sampled_from([0, 1, 3, 8, 9]),
        st.sampled_from([0, 1, 4, 5]),
        st.sampled_from([0, 1, 3, 5]),
        st.sampled_from([GET, POST, bytes(4), b"\0\0\0\x08", b"\0\0\xff\xff", b"\x7f" * 4]),
    ),
    st.binary(max_size=20),
)
BEGUN = PREFACE + frame(4, 0, 0, b"")


@settings(max_examples=150, deadline=None)
@given(st.lists(frames, max_size=25), st.integers(1, 200))
def test_any_frames_in_any_cut(sent: list[bytes], cut: int) -> None:
    data = BEGUN + b"".join(sent)
    client = fed([data[at : at + cut] for at in range(0, len(data), cut)])
    assert client.over == "closed"  # never by an exception of ours
    kinds = frame_kinds(bytes(client.sent))
    assert kinds[0] == 4  # SETTINGS
    assert kinds.count(7) <= 1  # one GOAWAY
    assert 7 not in kinds[:-1]  # and nothing behind it


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    assert fed([data]).over == "closed"


def frame_kinds(data: bytes) -> list[int]:
    kinds, at = [], 0
    while at < len(data):
        kinds.append(data[at + 3])
        at += 9 + int.from_bytes(data[at : at + 3])
    assert at == len(data)
    return kinds


@given(st.lists(frames, max_size=30), st.integers(1, 50))
def test_the_meter_sees_the_same_in_any_cut(sent: list[bytes], cut: int) -> None:
    data = PREFACE + b"".join(sent)
    at_once, in_pieces = FrameMeter(), FrameMeter()
    results = []
    for meter, step in ((at_once, len(data)), (in_pieces, cut)):
        try:
            for at in range(0, len(data), step):
                meter.feed(data[at : at + step], now=0.0)
            results.append(("fine", meter.block_since is None))
        except Flood as flood:
            results.append((str(flood), False))
    assert results[0] == results[1]
