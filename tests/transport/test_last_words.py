"""A peer that says goodbye and is gone before anybody listens is heard, whoever writes first."""

from __future__ import annotations

import asyncio
import socket

from tests.transport.ends import Arrivals, Queue
from transport.link.interface import LinkError
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from wire.frames import Control, Data


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends over loopback, neither of which blocks."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far, _ = listening.accept()
    for one in (near, far):
        one.setblocking(False)
    return near, far


def test_a_goodbye_is_heard_though_what_we_say_comes_too_late() -> None:
    async def go() -> None:
        ours, theirs = connected()
        lost: list[LinkError | None] = []
        near = StreamLink(TcpConnection(ours), on_lost=lost.append)
        far = StreamLink(TcpConnection(theirs))
        from_near, at_near = Queue(256), Arrivals()
        from_far, at_far = Queue(256), Arrivals()
        near.start(from_near, at_near)
        far.start(from_far, at_far)
        await asyncio.sleep(0.05)
        # What it has not read makes the kernel answer further bytes with a reset.
        from_near.frames = [Data(1, bytes(200), False)]
        near.wake()
        await asyncio.sleep(0)
        far.close()
        from_near.frames = [Data(1, bytes(200), False), Control(b"late")]
        near.wake()
        await asyncio.sleep(0.2)
        assert near.closed
        assert lost == [None]

    asyncio.run(go())
