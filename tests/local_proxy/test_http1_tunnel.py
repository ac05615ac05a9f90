"""Tunnels through the HTTP/1.1 front: half-closed, refused, broken, silent."""

from __future__ import annotations

import pytest

from local_proxy.http.front_limits import FrontLimits
from local_proxy.http.model import Response
from tests.local_proxy.http1_client import GET, Dial, response, served
from tests.local_proxy.small_core import Echo, SmallCore


def test_tunnel_with_half_close() -> None:
    far = Echo(goodbye=b"bye")
    core = SmallCore(far=far)

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT Host.Test:443 HTTP/1.1\r\nHost: x\r\n\r\nearly")
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"transfer-encoding" not in head.lower()
        assert await reader.readexactly(5) == b"early"
        writer.write(b"late")
        assert await reader.readexactly(4) == b"late"
        writer.write_eof()
        assert await reader.read() == b"bye"

    assert served(core, talk).statistics().tunnels == 1
    assert core.asked == [("host.test", 443)]
    assert far.closed.is_set()


def test_tunnel_refused_and_then_a_request() -> None:
    core = SmallCore(far=Response(403, [], b"no"))

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n" + GET % b"1")
        head, body = await response(reader)
        assert head.startswith(b"HTTP/1.1 403 ")
        assert body == b"no"
        assert (await response(reader))[1].endswith(b"1")

    served(core, talk)


def test_tunnel_ends_with_the_front() -> None:
    far = Echo()

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")

    served(SmallCore(far=far), talk)
    assert far.closed.is_set()


@pytest.mark.parametrize("error", [OSError("the link broke"), ConnectionResetError("reset")])
def test_a_tunnel_that_breaks_resets_the_client(error: Exception) -> None:
    class Breaking(Echo):
        async def write(self, data: bytes) -> None:
            raise error

    far = Breaking()

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"x")
        with pytest.raises(ConnectionResetError):
            await reader.read()

    served(SmallCore(far=far), talk)
    assert far.closed.is_set()


def test_a_half_closed_tunnel_in_which_nothing_moves_ends() -> None:
    class Silent(Echo):
        async def end(self) -> None:
            pass

    far = Silent()

    async def talk(dial: Dial) -> None:
        reader, writer = await dial()
        writer.write(b"CONNECT a:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        writer.write_eof()
        assert await reader.read() == b""

    served(SmallCore(far=far), talk, limits=FrontLimits(idle_time=0.02))
    assert far.closed.is_set()
