"""TLS on memory buffers over any client's stream: closing, forging, order, both directions."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.tls_stream import HandshakeFailed, TlsStream
from local_proxy.http.client_stream import ClientStream


class Below:
    """A client's stream of which the test is the other end."""

    def __init__(self) -> None:
        self.on_leave: Callable[[], object] | None = None
        self.ended = self.lost = False
        self.coming: asyncio.Queue[bytes] = asyncio.Queue()
        self.gone = bytearray()
        self.how = "open"

    async def read(self) -> bytes:
        return await self.coming.get()

    async def write(self, data: bytes) -> None:
        self.gone += data
        await asyncio.sleep(0)

    def end(self, last: bytes = b"") -> None:
        self.gone += last
        self.how = "half-closed"

    def close(self, last: bytes = b"") -> None:
        self.gone += last
        self.how = "closed"

    def abort(self) -> None:
        self.how = "aborted"


class Client:
    """The client's end of the TLS."""

    def __init__(self, below: Below, trusted: bytes, *, newest: ssl.TLSVersion) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=trusted.decode())
        context.maximum_version = newest
        self._below = below
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname="a.test")

    def pump(self) -> None:
        """Carry what waits in both directions."""
        self._in.write(bytes(self._below.gone))
        self._below.gone.clear()
        if data := self._out.read():
            self._below.coming.put_nowait(data)

    def hello(self) -> bytes:
        with pytest.raises(ssl.SSLWantReadError):
            self.tls.do_handshake()
        return self._out.read()

    async def shake(self) -> None:
        while True:
            self.pump()
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                await asyncio.sleep(0)
            except ssl.SSLError:
                self.pump()
                raise
            else:
                self.pump()
                return

    def read(self) -> bytes:
        self.pump()
        return self.tls.read(1 << 20)


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def check(below: Below) -> ClientStream:
    """mypy sees that it is one."""
    return below


async def joined(folder: Path, newest: ssl.TLSVersion) -> tuple[Below, Client, TlsStream]:
    """Both ends, after the handshake."""
    authority, below = Authority.open(folder), Below()
    client = Client(below, authority.certificate_pem, newest=newest)
    stream = TlsStream(check(below), authority.context_for("a.test", alpn=("http/1.1",)))
    task = asyncio.ensure_future(stream.handshake(client.hello()))
    await client.shake()
    await task
    return below, client, stream


@pytest.mark.parametrize("newest", VERSIONS)
def test_bytes_both_ways_and_an_orderly_end(tmp_path: Path, newest: ssl.TLSVersion) -> None:
    async def go() -> None:
        below, client, stream = await joined(tmp_path, newest)
        assert stream.alpn is None
        trusted: list[bool] = []
        stream.on_first_bytes = lambda: trusted.append(True)
        client.tls.write(b"x" * 100_000)
        client.pump()
        assert await stream.read() == b"x" * 100_000
        client.tls.write(b"y")
        client.pump()
        assert await stream.read() == b"y"
        assert trusted == [True]
        await stream.write(b"a" * 50_000)
        stream.close(b"bye")
        assert below.how == "closed"
        data = b""
        while more := client.read():
            data += more
        assert data == b"a" * 50_000 + b"bye"
        with pytest.raises(ConnectionError):
            await stream.write(b"too late")

    asyncio.run(go())


@pytest.mark.parametrize("newest", VERSIONS)
def test_after_our_end_the_client_is_still_heard(tmp_path: Path, newest: ssl.TLSVersion) -> None:
    async def go() -> None:
        below, client, stream = await joined(tmp_path, newest)
        stream.end()
        assert below.how == "half-closed"
        client.tls.write(b"more")
        client.pump()
        assert await stream.read() == b"more"
        below.coming.put_nowait(b"")
        assert await stream.read() == b""
        assert stream.ended

    asyncio.run(go())


def test_a_clients_close_notify_ends_reading_but_not_writing(tmp_path: Path) -> None:
    async def go() -> None:
        _, client, stream = await joined(tmp_path, ssl.TLSVersion.TLSv1_3)
        client.tls.write(b"last")
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.unwrap()
        client.pump()
        assert await stream.read() == b"last"
        assert await stream.read() == b""
        await stream.write(b"answer")

    asyncio.run(go())


def test_a_forged_record_breaks_the_connection(tmp_path: Path) -> None:
    async def go() -> None:
        below, _, stream = await joined(tmp_path, ssl.TLSVersion.TLSv1_3)
        below.coming.put_nowait(b"\x17\x03\x03\x00\x20" + bytes(32))
        with pytest.raises(ConnectionError):
            await stream.read()
        assert not stream.trusted
        assert not stream.distrusted

    asyncio.run(go())


@pytest.mark.parametrize("newest", VERSIONS)
def test_a_client_that_does_not_know_the_authority(tmp_path: Path, newest: ssl.TLSVersion) -> None:
    async def go() -> None:
        ours, other = Authority.open(tmp_path / "a"), Authority.open(tmp_path / "b")
        below = Below()
        client = Client(below, other.certificate_pem, newest=newest)
        stream = TlsStream(check(below), ours.context_for("a.test", alpn=("http/1.1",)))
        task = asyncio.ensure_future(stream.handshake(client.hello()))
        with pytest.raises(ssl.SSLCertVerificationError):
            await client.shake()
        with pytest.raises(HandshakeFailed, match="UNKNOWN_CA") as raised:
            await task
        assert raised.value.lasting

    asyncio.run(go())


@pytest.mark.parametrize("answered", [True, False])
def test_a_client_that_leaves_in_the_handshake(tmp_path: Path, answered: bool) -> None:
    """After our certificate it is a judgement of it, before that it is nothing."""

    async def go() -> None:
        authority, below = Authority.open(tmp_path), Below()
        client = Client(below, authority.certificate_pem, newest=ssl.TLSVersion.TLSv1_3)
        stream = TlsStream(check(below), authority.context_for("a.test", alpn=("http/1.1",)))
        hello = client.hello()
        below.coming.put_nowait(b"")
        with pytest.raises(HandshakeFailed) as raised:
            await stream.handshake(hello if answered else hello[:50])
        assert not raised.value.lasting
        assert raised.value.answered is answered

    asyncio.run(go())
