"""Decides on a CONNECT: TLS is taken off here on the device, or the tunnel stays opaque.

Ours are the connections on which a client says, in the first bytes of its TLS, that it will speak
HTTP to the very host it asked for. Everything else passes through as it comes: other protocols,
other hosts inside, hosts that are never to be adapted, clients that do not take our certificates.
For every front, whatever HTTP version carries the CONNECT. Must not know: sockets, components.
Sources: RFC 9110, 9.3.6 (CONNECT); RFC 7301 (ALPN).
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import structlog

from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.awaited import Awaited
from local_proxy.front.tls.client_hello import ClientHello, parse_client_hello
from local_proxy.front.tls.kept_rejections import Lessons
from local_proxy.front.tls.rejections import Learnt, Rejections
from local_proxy.front.tls.tls_stream import HandshakeFailed, TlsStream
from local_proxy.http.client_stream import ClientStream, Serve
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Core, Duplex, Response
from local_proxy.http.pump import pump
from local_proxy.kept.store import LocalStore

log = structlog.get_logger(__name__)

SILENCE: Final = 0.3
"""Seconds after which a client that says nothing is taken to wait for the server (SSH, SMTP)."""
SILENCE_HTTPS: Final = 10.0
"""The same at port 443, where no server speaks first but a busy browser may take its time."""
HELLO_TIME: Final = 10.0
"""Seconds from the first byte of a ClientHello to its last."""
HANDSHAKE_TIME: Final = 30.0
"""Seconds for the rest of the handshake: some clients ask their user about a certificate."""


class ConnectWay(Protocol):
    """How a CONNECT goes on after its 200."""

    async def carry(self, client: ClientStream, early: bytes) -> None:
        """Until it is over. `early`: what the client sent behind its CONNECT."""

    async def close(self) -> None:
        """Called once, last, even if the 200 could not be said."""


class Https:
    """Which connections TLS is taken off, and what was learnt of clients that won't have it."""

    def __init__(
        self,
        authority: Authority,
        *,
        tunnel: Iterable[str] = (),
        now: Callable[[], float],
        store: LocalStore | None = None,
        tunnelled: Callable[[str], bool] = lambda host: False,
    ) -> None:
        """`tunnel`: hosts never adapted; `*.bank.example` means bank.example and all below it.

        `tunnelled`: says the same of a host for now. `store`: where lessons are kept.
        """
        self.authority = authority
        self._tunnelled = tunnelled
        self._tunnel = tuple(pattern.lower().rstrip(".") for pattern in tunnel)
        self._now = now
        self._rejections = Rejections()
        self.lessons = Lessons(
            self._rejections,
            store,
            authority=hashlib.sha256(authority.certificate_pem).hexdigest(),
            now=now,
        )

    def adapts(self, host: str, client: str) -> bool:
        """Whether TLS to `host` may be taken off for the client of this User-Agent."""
        name = _bare(host)
        if self._tunnelled(name) or any(_matches(name, pattern) for pattern in self._tunnel):
            return False
        return not self._rejections.refuses(name, client, now=self._now())

    async def takes(self, host: str, client: str) -> bool:
        """The same, after asking whether clients have been made to trust us meanwhile."""
        if self._rejections.refuses(_bare(host), client, now=self._now()):
            await self.lessons.look()
        return self.adapts(host, client)

    def learnt(self) -> tuple[Learnt, ...]:
        """Hosts and clients left alone for now, with the loop's time until which."""
        return self._rejections.learnt(now=self._now())

    async def forget(self) -> None:
        """Try everybody again. Raises Unavailable if it holds for this run alone."""
        await self.lessons.forget()

    def accepted(self, host: str, client: str) -> None:
        """A request came inside TLS of ours."""
        self._rejections.accepted(_bare(host), client, now=self._now())

    def rejected(self, host: str, client: str, *, sure: bool) -> None:
        """TLS of ours came to nothing, with or without a word."""
        learn = self._rejections.rejected if sure else self._rejections.suspected
        news = learn(_bare(host), client, now=self._now())
        if news is not None:
            log.warning(news, host=host, client=client)


class Connects:
    """The CONNECTs of one front."""

    def __init__(
        self,
        core: Core,
        *,
        https: Https | None,
        serve: Mapping[str, Serve],
        idle_time: float,
        silence: float = SILENCE,
    ) -> None:
        """`serve`: by ALPN name, the best first. `https` None: all tunnels are opaque."""
        self._core = core
        self._https = https
        self._serve = dict(serve)
        self._idle_time = idle_time
        self._silence = silence

    async def open(self, host: str, port: int, *, client: str) -> ConnectWay | Response:
        """What to do after a 200, or what to answer instead. `client`: its User-Agent.

        A connection that may be ours needs nothing from the link yet.
        """
        if self._https is not None and await self._https.takes(host, client):
            return _Heard(self, self._https, host, port, client)
        return await self.tunnel(host, port)

    async def tunnel(self, host: str, port: int, early: bytes = b"") -> _Opaque[Duplex] | Response:
        """An opaque one, as far as the server, which gets `early` first."""
        try:
            far = await self._core.connect(host, port, early=early)
        except Exception as error:
            log.exception("core failed", host=host, port=port)
            return error_page(502, f"The proxy failed: {type(error).__name__}.")
        return far if isinstance(far, Response) else _Opaque(far, self._idle_time)

    @property
    def protocols(self) -> tuple[str, ...]:
        """What is spoken inside TLS, the best first."""
        return tuple(self._serve)

    def server(self, protocol: str | None) -> Serve:
        """Who speaks it."""
        return self._serve[protocol or "http/1.1"]

    def patience(self, port: int) -> float:
        """Seconds to wait for a client's first byte."""
        return max(self._silence, SILENCE_HTTPS) if port == 443 else self._silence


_Far = TypeVar("_Far", bound=Duplex)


@dataclass(frozen=True, slots=True)
class _Opaque(Generic[_Far]):
    """Bytes both ways, never looked at."""

    far: _Far
    idle_time: float

    async def carry(self, client: ClientStream, early: bytes) -> None:
        await pump(client, self.far, early, idle_time=self.idle_time)

    async def close(self) -> None:
        await self.far.close()


@dataclass(frozen=True, slots=True)
class _Heard:
    """Hears the client's first bytes before it decides."""

    connects: Connects
    https: Https
    host: str
    port: int
    client: str

    async def carry(self, client: ClientStream, early: bytes) -> None:
        said = bytearray(early)
        hello = await self._listen(client, said, self.connects.patience(self.port))
        if hello is not None and self._ours(hello):
            await self._terminate(client, bytes(said))
        elif not said and not client.ended:
            await self._hear_both(client)
        elif not client.lost and (said or self.port != 443):
            await self._pass_through(client, bytes(said))

    async def close(self) -> None:
        """Nothing is open yet but what `carry` closes itself."""

    async def _listen(
        self, client: ClientStream, said: bytearray, patience: float | None
    ) -> ClientHello | None:
        """The hello that the client's first bytes are, which are put into `said`.

        `patience`: seconds until the first of them; None: there is no limit.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(HELLO_TIME if said else patience) as deadline:
                while (hello := parse_client_hello(said)) is None:
                    if not (more := await client.read()):
                        break
                    if not said:
                        deadline.reschedule(loop.time() + HELLO_TIME)
                    said += more
        except (TimeoutError, ValueError):
            return None
        return hello

    async def _hear_both(self, client: ClientStream) -> None:
        """A client that has said nothing yet waits for the server, or is busy: who speaks first?"""
        said = bytearray()
        words = asyncio.create_task(self._listen(client, said, None))
        server = asyncio.create_task(self._opened())
        try:
            await asyncio.wait((words, server), return_when=asyncio.FIRST_COMPLETED)
            if server.done() and (way := server.result()) is not None:
                await asyncio.wait((words, way.far.first), return_when=asyncio.FIRST_COMPLETED)
            hello = words.result() if words.done() else None
            words.cancel()
            await asyncio.wait((words,))
            ours = hello is not None and self._ours(hello)
            left = client.lost or (client.ended and not said and not server.done())
            if not ours and not left:
                await self._carry_on(client, bytes(said), server)
        finally:
            words.cancel()
            await _let_go(server)
        if ours:
            await self._terminate(client, bytes(said))

    def _ours(self, hello: ClientHello) -> bool:
        """Whether it will speak HTTP, in a way we can, to the host that it named to us.

        Who says nothing of HTTP may speak anything (mail, databases); browsers always do. Since it
        asked for this connection another of its own may have refused us.
        """
        if not self.https.adapts(self.host, self.client):
            return False
        if hello.server_name not in (None, _bare(self.host)):
            log.info("another name inside TLS", host=self.host, inside=hello.server_name)
            return False
        return hello.modern and any(one in self.connects.protocols for one in hello.alpn)

    async def _terminate(self, client: ClientStream, first: bytes) -> None:
        try:
            context = self.https.authority.context_for(self.host, alpn=self.connects.protocols)
        except (ValueError, OSError) as error:  # a name for no certificate; a full disk
            log.warning("no certificate", host=self.host, why=str(error))
            await self._pass_through(client, first)
            return
        tls = TlsStream(client, context)
        tls.program = self.client
        tls.on_first_bytes = lambda: self.https.accepted(self.host, self.client)
        try:
            async with asyncio.timeout(HANDSHAKE_TIME):
                await tls.handshake(first)
        except TimeoutError:
            client.abort()
            return
        except ConnectionError as failed:
            log.info("no TLS with the client", host=self.host, why=str(failed))
            if isinstance(failed, HandshakeFailed) and failed.answered:
                self.https.rejected(self.host, self.client, sure=failed.lasting)
            client.close()
            return
        origin = f"https://{self.host}" + (f":{self.port}" if self.port != 443 else "")
        await self.connects.server(tls.alpn)(tls, origin)
        if not tls.trusted:
            self.https.rejected(self.host, self.client, sure=tls.distrusted)

    async def _pass_through(self, client: ClientStream, first: bytes) -> None:
        server = asyncio.create_task(self._opened(first))
        try:
            await self._carry_on(client, b"", server)
        finally:
            await _let_go(server)

    async def _carry_on(
        self, client: ClientStream, first: bytes, server: asyncio.Task[_Opaque[Awaited] | None]
    ) -> None:
        """Bytes both ways, once the tunnel is open."""
        task = asyncio.current_task()
        assert task is not None
        client.on_leave = task.cancel if not client.ended else None
        try:
            way = await server
        finally:
            client.on_leave = None
        if way is None:  # it has had its 200: all that is left to say is no
            client.abort()
        else:
            await way.carry(client, first)

    async def _opened(self, early: bytes = b"") -> _Opaque[Awaited] | None:
        """A tunnel, whose first bytes are awaited; None: there is none."""
        way = await self.connects.tunnel(self.host, self.port, early)
        return None if isinstance(way, Response) else _Opaque(Awaited(way.far), way.idle_time)


async def _let_go(server: asyncio.Task[_Opaque[Awaited] | None]) -> None:
    """Nobody needs a tunnel that is open, or being opened."""
    server.cancel()
    await asyncio.wait((server,))
    if not server.cancelled() and (way := server.result()) is not None:
        await way.close()


def _bare(host: str) -> str:
    """As certificates and TLS name it: no brackets, no final dot."""
    return host.strip("[]").rstrip(".").lower()


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name == pattern[2:] or name.endswith(pattern[1:])
    return pattern in ("*", name)
