"""Every link owes a session the same: in memory, over TCP, in segments, over TLS."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest

from emulation.memory.memory import LinkModel, MemoryLink, memory_links
from emulation.memory.secured import SecuredEnds, paired
from emulation.memory.virtual_time import run as run_virtually
from tests.transport.ends import Arrivals, Queue
from transport.link.interface import Link, LinkError
from transport.stream import one_connection
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from transport.tcp.handshakes import dial_secured, listen_secured
from transport.tcp.segmented import Segmented
from transport.tcp.sockets import prepare
from wire.frames import MAX_PAYLOAD, Control, Data, FrameWriter, Report


class World(Protocol):
    """One kind of link: a pair of ends, and a way to put a hostile peer's bytes on it."""

    def run(self, main: Coroutine[Any, Any, None]) -> None: ...

    def pair(self) -> AbstractAsyncContextManager[tuple[Link, Link]]: ...

    def hostile(self, data: bytes) -> AbstractAsyncContextManager[Link]: ...


class InMemory:
    def run(self, main: Coroutine[Any, Any, None]) -> None:
        run_virtually(main)

    @asynccontextmanager
    async def pair(self) -> AsyncIterator[tuple[Link, Link]]:
        near, far = memory_links(LinkModel(rate_up=50_000, rate_down=50_000, delay=0.02))
        yield near, far
        near.close()
        far.close()

    @asynccontextmanager
    async def hostile(self, data: bytes) -> AsyncIterator[Link]:
        near, far = memory_links(LinkModel(rate_up=50_000, rate_down=50_000, delay=0.02))
        asyncio.get_running_loop().call_soon(self._inject, far, data)
        yield near

    @staticmethod
    def _inject(far: MemoryLink, data: bytes) -> None:
        far.inject(data)
        far.outgoing.end()


class OverTcp:
    def run(self, main: Coroutine[Any, Any, None]) -> None:
        asyncio.run(main)

    @asynccontextmanager
    async def pair(self) -> AsyncIterator[tuple[Link, Link]]:
        accepted: asyncio.Queue[StreamLink] = asyncio.Queue()
        async with await one_connection.serve("127.0.0.1", 0, accepted.put_nowait) as listener:
            near = await one_connection.connect(*listener.address)
            far = await accepted.get()
            yield near, far
            near.close()
            far.close()

    @asynccontextmanager
    async def hostile(self, data: bytes) -> AsyncIterator[Link]:
        accepted: asyncio.Queue[StreamLink] = asyncio.Queue()
        async with await one_connection.serve("127.0.0.1", 0, accepted.put_nowait) as listener:
            with socket.create_connection(listener.address) as peer:
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
                link = await accepted.get()
                yield link
                link.close()


class OverTls:
    """The same TCP link, protected."""

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        asyncio.run(main)

    @asynccontextmanager
    async def pair(self) -> AsyncIterator[tuple[Link, Link]]:
        ends, accepted = paired(), asyncio.Queue[StreamLink]()
        listener = await one_connection.serve(
            "127.0.0.1", 0, accepted.put_nowait, security=ends.server
        )
        async with listener:
            near = await one_connection.connect(*listener.address, security=ends.client)
            far = await accepted.get()
            yield near, far
            near.close()
            far.close()

    @asynccontextmanager
    async def hostile(self, data: bytes) -> AsyncIterator[Link]:
        """A paired device that has gone wrong."""
        loop, ends, accepted = asyncio.get_running_loop(), paired(), asyncio.Queue[StreamLink]()
        listener = await one_connection.serve(
            "127.0.0.1", 0, accepted.put_nowait, security=ends.server
        )
        async with listener:
            with socket.create_connection(listener.address) as peer:
                peer.setblocking(False)
                records = await ends.client.secure(peer)
                await loop.sock_sendall(peer, records.protect(data) + records.farewell())
                peer.shutdown(socket.SHUT_WR)
                link = await accepted.get()
                yield link
                link.close()


class InSegments:
    """TCP with segments of one size, over TLS."""

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        asyncio.run(main)

    @asynccontextmanager
    async def pair(self) -> AsyncIterator[tuple[Link, Link]]:
        async with self.listening() as (ends, address, accepted):
            connection = await dial_secured(*address, security=ends.client)
            connection.segment_stream()
            near, far = StreamLink(connection), await accepted.get()
            yield near, far
            near.close()
            far.close()

    @asynccontextmanager
    async def hostile(self, data: bytes) -> AsyncIterator[Link]:
        loop = asyncio.get_running_loop()
        async with self.listening() as (ends, address, accepted):
            with socket.create_connection(address) as peer:
                peer.setblocking(False)
                records = Segmented(await ends.client.secure(peer))
                await loop.sock_sendall(peer, records.protect(data) + records.farewell())
                peer.shutdown(socket.SHUT_WR)
                link = await accepted.get()
                yield link
                link.close()

    @staticmethod
    @asynccontextmanager
    async def listening() -> AsyncIterator[
        tuple[SecuredEnds, tuple[str, int], asyncio.Queue[StreamLink]]
    ]:
        ends, accepted = paired(), asyncio.Queue[StreamLink]()

        def accept(connection: TcpConnection) -> None:
            connection.segment_stream()
            accepted.put_nowait(StreamLink(connection))

        async with await listen_secured("127.0.0.1", 0, accept, security=ends.server) as listener:
            yield ends, listener.address, accepted


@pytest.fixture(params=[InMemory, OverTcp, OverTls, InSegments])
def world(request: pytest.FixtureRequest) -> World:
    kind: type[World] = request.param
    return kind()


def test_frames_arrive_in_order_once_and_whole(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            there, back, at_near, at_far = Queue(), Queue(512), Arrivals(), Arrivals()
            sizes = (0, 1, 255, 256, 257, 256, 5000, MAX_PAYLOAD, 3)
            frames: list[Data | Control] = [
                Data(1 + number // 2, bytes([number]) * size, last=number % 2 == 1)
                for number, size in enumerate(sizes)
            ]
            frames.insert(4, Control(b"message"))
            there.frames, back.frames = list(frames), list(frames)
            near.start(there, at_near)
            far.start(back, at_far)
            await at_far.count(len(frames))
            await at_near.count(len(frames))
            assert at_far.frames == frames
            assert at_near.frames == frames

    world.run(main())


def test_a_wake_makes_a_resting_link_ask_again(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            there, at_far = Queue(), Arrivals()
            near.start(there, Arrivals())
            far.start(Queue(), at_far)
            for number in range(5):
                there.frames.append(Control(bytes([number])))
                near.wake()
                near.wake()
                await at_far.count(number + 1)
            assert at_far.frames == [Control(bytes([number])) for number in range(5)]

    world.run(main())


def test_an_urgent_frame_overtakes_the_backlog(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            there, at_far = Queue(), Arrivals()
            there.frames = [Data(2, bytes(256)) for _ in range(4000)]
            near.start(there, Arrivals())
            far.start(Queue(), at_far)
            await at_far.count(20)
            there.urgent.append(Control(b"now"))
            near.wake()
            sent_before = there.taken
            await at_far.wait(lambda: Control(b"now") in at_far.frames)
            assert at_far.frames.index(Control(b"now")) <= sent_before + 1

    world.run(main())


def test_the_outbox_is_asked_only_for_what_may_go(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            there, at_far = Queue(), Arrivals()
            there.frames = [Data(2, bytes(256)) for _ in range(1000)]
            near.start(there, Arrivals())
            await asyncio.sleep(0.2)  # the peer has not started: nobody reports
            taken = there.taken
            statistics = near.statistics()
            assert 0 < taken <= 4
            assert statistics.under_way <= statistics.cap
            far.start(Queue(), at_far)
            await at_far.count(1000)
            assert there.taken == 1000

    world.run(main())


def test_reports_and_quanta_stay_within_the_link(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            there, at_near, at_far = Queue(), Arrivals(), Arrivals()
            near.start(there, at_near)
            far.start(Queue(), at_far)
            for quantum in (256, 300, 700):
                there.quantum = quantum
                there.frames += [Data(2, bytes(quantum)) for _ in range(20)]
                near.wake()
                await at_far.count(len(at_far.frames) + 20)
            await at_far.count(60)
            assert [len(frame.payload) for frame in at_far.frames[::20]] == [256, 300, 700]
            assert at_near.frames == []
            await asyncio.sleep(0.1)  # the last report
            assert near.statistics().under_way == 0
            assert near.statistics().received > 0
            outgoing = near.statistics().outgoing
            assert outgoing is not None
            assert outgoing.rate > 10_000

    world.run(main())


def test_closing_on_purpose_reaches_both_inboxes_once(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            at_near, at_far = Arrivals(), Arrivals()
            near.start(Queue(), at_near)
            far.start(Queue(), at_far)
            near.close()
            near.close()
            near.wake()
            assert await at_far.end() is None
            assert at_near.closed == [None]
            await asyncio.sleep(0.05)
            assert at_far.closed == [None]

    world.run(main())


def test_closing_with_an_error_tells_the_own_inbox_why(world: World) -> None:
    async def main() -> None:
        async with world.pair() as (near, far):
            at_near, at_far, error = Arrivals(), Arrivals(), LinkError("enough")
            near.start(Queue(), at_near)
            far.start(Queue(), at_far)
            near.close(error)
            assert await at_near.end() is error
            assert await at_far.end() is None

    world.run(main())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xff\xff", "unknown frame"),
        (b"\x20\x00\x01x", "continues a component"),
        (FrameWriter().encode(Report(1, 0)), "report of 1 bytes more"),
        (FrameWriter().encode(Report(0xFFFFFFFF, 0)), "under way"),
        (FrameWriter().encode(Data(1, b"cut off"))[:-1], "end 12 bytes into a frame"),
        (b"GET / HTTP/1.1\r\n\r\n", "unknown frame"),
    ],
)
def test_a_peer_that_breaks_the_protocol_closes_the_link(
    world: World, data: bytes, message: str
) -> None:
    async def main() -> None:
        async with world.hostile(data) as near:
            at_near = Arrivals()
            near.start(Queue(), at_near)
            error = await at_near.end()
            assert isinstance(error, LinkError)
            assert message in str(error)
            assert at_near.frames == []

    world.run(main())


def test_frames_before_the_garbage_in_another_read_are_delivered(world: World) -> None:
    async def main() -> None:
        async with world.hostile(FrameWriter().encode(Control(b"hello"))) as near:
            at_near = Arrivals()
            near.start(Queue(), at_near)
            assert await at_near.end() is None
            assert at_near.frames == [Control(b"hello")]

    world.run(main())


def test_an_outbox_that_fails_closes_the_link_and_is_logged_once(world: World) -> None:
    async def main() -> None:
        logged: list[object] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: logged.append(context["exception"])
        )
        async with world.pair() as (near, far):
            there, at_near, at_far = Queue(), Arrivals(), Arrivals()
            there.frames = [Control(bytes(MAX_PAYLOAD + 1))]
            near.start(there, at_near)
            far.start(Queue(), at_far)
            error = await at_near.end()
            assert isinstance(error, LinkError)
            assert "65536" in str(error)
            assert await at_far.end() is None
            assert len(logged) == 1

    world.run(main())


def test_a_reset_is_the_transports_fault() -> None:
    async def main() -> None:
        accepted: asyncio.Queue[StreamLink] = asyncio.Queue()
        async with await one_connection.serve("127.0.0.1", 0, accepted.put_nowait) as listener:
            with socket.create_connection(listener.address) as peer:
                link, inbox = await accepted.get(), Arrivals()
                link.start(Queue(), inbox)
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            error = await inbox.end()
            assert isinstance(error, LinkError)
            assert "reset" in str(error)

    asyncio.run(main())


def test_connecting_to_nobody_says_so() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(LinkError, match="refused"):
            asyncio.run(one_connection.connect(*unused.getsockname()))


def test_an_unknown_congestion_control_is_refused_on_both_sides() -> None:
    async def main() -> None:
        with pytest.raises(LinkError, match="no_such"):
            await one_connection.serve("127.0.0.1", 0, lambda link: None, congestion="no_such")
        async with await one_connection.serve(
            "127.0.0.1", 0, lambda link: link.close()
        ) as listener:
            with pytest.raises(LinkError, match="no_such"):
                await one_connection.connect(*listener.address, congestion="no_such")

    asyncio.run(main())


class AllowsNoCubic(socket.socket):
    """As a system has them that allows other congestion controls alone to who is not root."""

    def setsockopt(self, level: int, option: int, value: Any, *more: Any) -> None:
        if (level, option) == (socket.IPPROTO_TCP, socket.TCP_CONGESTION):
            raise PermissionError(1, "Operation not permitted")
        super().setsockopt(level, option, value, *more)


def test_where_the_usual_congestion_control_is_not_allowed_the_system_s_own_does() -> None:
    with AllowsNoCubic() as one:
        prepare(one, "")
        with pytest.raises(LinkError, match="cubic"):
            prepare(one, "cubic")
    with socket.socket() as one:
        prepare(one, "")
        assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).startswith(b"cubic")


def test_the_kernels_opinion_is_readable() -> None:
    async def main() -> None:
        async with OverTcp().pair() as (near, far):
            there, at_far = Queue(), Arrivals()
            there.frames = [Data(2, bytes(256)) for _ in range(50)]
            near.start(there, Arrivals())
            far.start(Queue(), at_far)
            await at_far.count(50)
            assert isinstance(near, StreamLink)
            info = near.tcp_info()
            assert info is not None
            assert 0 < info.min_rtt < 1.0
            assert 1 <= info.segments <= 60
            # A kernel whose peer is late tries the last one again (RFC 8985, 7).
            assert info.retransmitted_segments < info.segments / 10

    asyncio.run(main())
