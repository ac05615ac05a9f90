"""Both ends of a link over TLS, and strangers who say to a listening one what the test says."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from emulation.memory.secured import SecuredEnds, paired
from pairing.identity import Identity, device_identity
from tests.watched import until
from transport.link.interface import LinkError
from transport.stream import one_connection
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from transport.tcp.security import ServerSecurity
from transport.tcp.sockets import Listener
from wire.frames import Control, Data

Address = tuple[str, int]


def device() -> Identity:
    return device_identity(secrets.token_bytes(32))


class Quiet:
    """A session's end that sends what it is given and remembers what it hears."""

    quantum = 1024

    def __init__(self, *frames: Data | Control) -> None:
        self.sending = list(frames)
        self.frames: list[Data | Control] = []
        self.closed: list[LinkError | None] = []

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        return self.sending.pop(0) if self.sending else None

    def frames_received(self, frames: Any, *, now: float) -> None:
        self.frames += frames

    def link_closed(self, error: LinkError | None) -> None:
        self.closed.append(error)

    async def end(self) -> LinkError | None:
        await until(lambda: self.closed)
        return self.closed[0]


class Server:
    """A listening end; starts each link that it is given."""

    def __init__(self, security: ServerSecurity) -> None:
        self.security = security
        self.links: list[StreamLink] = []
        self.ends: list[Quiet] = []
        self.address: Address = ("", 0)
        self.listener: Listener | None = None

    def accept(self, link: StreamLink) -> None:
        end = Quiet(Control(b"hello"))
        self.links.append(link)
        self.ends.append(end)
        link.start(end, end)

    def socket(self) -> socket.socket:
        """The socket of its first link's connection."""
        connection = self.links[0].connection
        assert isinstance(connection, TcpConnection)
        return connection.socket

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Server]:
        async with await one_connection.serve(
            "127.0.0.1", 0, self.accept, security=self.security
        ) as listener:
            self.listener, self.address = listener, listener.address
            try:
                yield self
            finally:
                for link in self.links:
                    link.close()


@asynccontextmanager
async def serving(ends: SecuredEnds | None = None) -> AsyncIterator[tuple[Server, SecuredEnds]]:
    ends = ends or paired("phone")
    async with Server(ends.server).listening() as server:
        yield server, ends


async def answer_to(address: Address, data: bytes) -> bytes:
    """All that comes back to somebody who says this, until the connection ends."""
    loop = asyncio.get_running_loop()
    with socket.socket() as stranger:
        stranger.setblocking(False)
        await loop.sock_connect(stranger, address)
        answer = b""
        with contextlib.suppress(ConnectionError):
            await loop.sock_sendall(stranger, data)
            stranger.shutdown(socket.SHUT_WR)
            while more := await loop.sock_recv(stranger, 65536):
                answer += more
        return answer


async def tls_answer_to(address: Address, context: ssl.SSLContext) -> tuple[str, bytes]:
    """What OpenSSL as a stranger sees: how its handshake or first read ends, and the plain bytes.

    The bytes are what crossed the socket and what TLS made of it.
    """
    loop = asyncio.get_running_loop()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    seen = b""
    with socket.socket() as stranger:
        stranger.setblocking(False)
        await loop.sock_connect(stranger, address)
        work: Callable[[], object] = tls.do_handshake
        while True:
            try:
                work()
                seen += tls.getpeercert(binary_form=True) or b""
                work = lambda: tls.read(1)  # noqa: E731
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                return error.reason or "", seen
            await loop.sock_sendall(stranger, outgoing.read())
            data = await loop.sock_recv(stranger, 65536)
            if not data:
                return "closed", seen
            seen += data
            incoming.write(data)


def client_context(
    identity: Identity | None, tmp_path: Path, *, newest: ssl.TLSVersion | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if newest is not None:
        context.maximum_version = newest
    if identity is not None:
        (tmp_path / "identity.pem").write_bytes(identity.pem)
        context.load_cert_chain(tmp_path / "identity.pem")
    return context


def names_the_software(data: bytes) -> bool:
    return any(word in data.lower() for word in (b"sluice", b"proxy", b"python", b"pairing"))
