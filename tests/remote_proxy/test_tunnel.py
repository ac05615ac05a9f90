"""Tests of a tunnel's far end: whom it may reach, and bytes both ways to their ends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from hats.disciplines.registry import INITIAL, create
from hats.tree.hierarchy import Hierarchy
from remote_proxy.origin.tunnel import dial, pump
from remote_proxy.reach.connector import Reach
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.guard import Guard
from remote_proxy.reach.hosts import Host
from tests.remote_proxy.raw_origin import HERE, Serve, saying, server
from tests.watched import run
from transport.sending.incoming import Incoming
from transport.sending.outgoing import Budget, Outgoing


class Tunnel:
    """The near end: what the device sends up, and what comes down to it."""

    def __init__(self) -> None:
        hierarchy = Hierarchy(root=create(INITIAL))
        self.leaf = hierarchy.attach(hierarchy.root, "1", kind="tunnel")
        self.up = Incoming(lambda amount: None)
        self.down = Outgoing(1, self.leaf, hierarchy, Budget(1 << 20), wake=lambda: None)
        self.coming: list[int] = []
        self.counted: list[int] = []

    async def pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pump(
            reader, writer, self.up, self.down, coming=self.coming.append,
            count=self.counted.append,
        )  # fmt: skip

    @property
    def came(self) -> bytes:
        return self.down.take(self.down.held)


async def reached(
    base: str, *, guard: Guard = HERE
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reach = Reach(guard)
    try:
        return await dial(base.partition("//")[2], reach, device="phone")
    finally:
        await reach.close()


def through(serve: Serve, use: Callable[[Tunnel], None]) -> Tunnel:
    async def main() -> Tunnel:
        tunnel = Tunnel()
        async with server(serve) as base:
            reader, writer = await reached(base)
            use(tunnel)
            await tunnel.pump(reader, writer)
        return tunnel

    return run(main())


@pytest.mark.parametrize("authority", ["a.test", "a.test:", "a.test:0", "a.test:65536", "a.test:٣",
                                       "a.test:http", ":80:"])  # fmt: skip
def test_what_is_no_host_and_port_is_refused_before_any_lookup(authority: str) -> None:
    async def main() -> None:
        reach = Reach(HERE)
        with pytest.raises(OriginError) as raised:
            await dial(authority, reach, device="phone")
        assert raised.value.kind is Failure.PROTOCOL
        await reach.close()

    run(main())


def test_the_guard_is_asked() -> None:
    async def main() -> None:
        async with server(saying(b"never")) as base:
            with pytest.raises(OriginError) as raised:
                await reached(base, guard=Guard())
            assert raised.value.kind is Failure.FORBIDDEN

    run(main())


class Wary(Reach):
    """Finds out whom it is connected to, and does not like it."""

    def peer(
        self, host: Host, transport: asyncio.BaseTransport | None, *, tunnel: bool = False
    ) -> None:
        raise OriginError(Failure.FORBIDDEN, "another address than was judged")


def test_a_connection_with_whom_it_must_not_be_is_closed_before_a_byte() -> None:
    async def main() -> None:
        heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heard.set_result(await reader.read())

        async with server(serve) as base:
            reach = Wary(HERE)
            with pytest.raises(OriginError, match="another address"):
                await dial(base.partition("//")[2], reach, device="phone")
            async with asyncio.timeout(60.0):
                assert await heard == b""
            await reach.close()

    run(main())


def test_where_nobody_listens_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(OriginError, match="could not be reached") as raised:
            run(reached(f"http://127.0.0.1:{port}"))
        assert raised.value.kind is Failure.REFUSED


def test_bytes_go_both_ways_until_both_have_ended() -> None:
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read())  # until the device has said all
        writer.write(b"the answer")

    def use(tunnel: Tunnel) -> None:
        tunnel.up.arrive(b"a ", last=False)
        tunnel.up.arrive(b"question", last=True)

    tunnel = through(serve, use)
    assert asked == [b"a question"]
    assert tunnel.came == b"the answer"
    assert sum(tunnel.coming) == len(b"the answer")
    assert sum(tunnel.counted) == len(b"a question" + b"the answer")
    assert tunnel.leaf.finished


def test_a_device_that_breaks_off_ends_it_for_the_host() -> None:
    async def main() -> None:
        ended = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                await reader.read()
            finally:
                ended.set()

        tunnel = Tunnel()
        tunnel.up.arrive(b"half", last=False)
        async with server(serve) as base:
            reader, writer = await reached(base)
            running = asyncio.ensure_future(tunnel.pump(reader, writer))
            await asyncio.sleep(0)
            assert not running.done()
            tunnel.up.cut()
            await running
            async with asyncio.timeout(60.0):
                await ended.wait()

    run(main())


def test_a_host_that_resets_is_an_error_and_what_it_said_before_comes() -> None:
    async def main() -> None:
        tunnel = Tunnel()
        tunnel.up.arrive(b"\r\n\r\n", last=False)
        async with server(saying(b"half of it", pause=0.05, reset=True)) as base:
            reader, writer = await reached(base)
            with pytest.raises(OSError):
                await tunnel.pump(reader, writer)
        assert tunnel.came == b"half of it"
        assert not tunnel.leaf.finished
        assert writer.is_closing()

    run(main())


def test_what_had_come_before_a_reset_was_heard_of_comes_all_the_same() -> None:
    async def main() -> None:
        tunnel = Tunnel()
        async with server(saying(b"x", stay=True)) as base:
            _, writer = await reached(base)
            reader = asyncio.StreamReader()
            reader.feed_data(b"half of it")
            reader.set_exception(ConnectionResetError("the host reset"))
            with pytest.raises(ConnectionResetError):
                await tunnel.pump(reader, writer)
        assert tunnel.came == b"half of it"
        assert sum(tunnel.counted) == len(b"half of it")

    run(main())


def test_who_counts_may_end_it() -> None:
    async def main() -> None:
        tunnel = Tunnel()
        refusal = OriginError(Failure.LIMIT, "enough for today")

        def count(amount: int) -> None:
            raise refusal

        tunnel.up.arrive(b"\r\n\r\n", last=False)
        async with server(saying(b"x", stay=True)) as base:
            reader, writer = await reached(base)
            with pytest.raises(OriginError) as raised:
                await pump(reader, writer, tunnel.up, tunnel.down, coming=lambda amount: None,
                           count=count)  # fmt: skip
            assert raised.value is refusal
            assert writer.is_closing()

    run(main())
