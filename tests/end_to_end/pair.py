"""Both proxies and an origin in one event loop, over real loopback sockets, and a small client.

`run` runs a test's coroutine and fails it for what nobody would see else: tasks that are left,
exceptions that nobody retrieved, callbacks that raised.
"""

from __future__ import annotations

import asyncio
import gc
import shutil
import ssl
from collections import Counter
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import h11
from aiohttp.abc import AbstractResolver

from bench.links.secured import paired
from configuration import LocalSettings
from local_proxy.authority import Authority
from local_proxy.main import LocalProxy
from local_proxy.paired import Remote as PairedRemote
from local_proxy.store import Store
from policies.loader import load
from remote_proxy.delivery import Services
from remote_proxy.guard import Guard
from remote_proxy.limits import Devices, Limits
from remote_proxy.origin import Origin, OriginConfig
from remote_proxy.server import RemoteServer
from remote_proxy.session import RemoteSession
from transcoders.registry import Transcoders
from transport.security import ServerSecurity
from transport.tcp import Listener

T = TypeVar("T")
Headers = list[tuple[str, str]]
Address = tuple[str, int]

LOOPBACK = ("127.0.0.0/8", "127.0.0.1:1")
"""Where tests have their origins, and a port where nobody listens; a remote proxy reaches only the
public internet by itself."""
TIMEOUT = 30.0
"""Seconds a test may take; they take a fraction of one."""


def run(work: Coroutine[Any, Any, T], *, timeout: float = TIMEOUT) -> T:
    """The result of the coroutine; fails for leaked tasks and for errors that nobody saw."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        unseen: list[dict[str, Any]] = []
        loop.set_exception_handler(lambda _, context: unseen.append(context))
        async with asyncio.timeout(timeout):
            result = await work
        for _ in range(5):  # what was closed just now takes its leave
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks left: {left}"
        gc.collect()
        await asyncio.sleep(0)
        assert not unseen, f"errors that nobody saw: {unseen}"
        return result

    return asyncio.run(watched())


async def until(true: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Let the loop run until it holds; fails after that time."""
    try:
        async with asyncio.timeout(seconds):
            while not true():  # noqa: ASYNC110 - many sorts of state are waited for
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s") from None


# -- the origin ------------------------------------------------------------------------------------


@dataclass
class Asked:
    """A request as the origin got it; `reader` stands at its body."""

    method: str
    target: str
    headers: Headers
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key == name)

    async def body(self) -> bytes:
        """All of the body, by its length or its chunks."""
        if self.header("transfer-encoding") == "chunked":
            data = bytearray()
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                data += await self.reader.readexactly(size)
                await self.reader.readuntil(b"\r\n")
            await self.reader.readuntil(b"\r\n")
            return bytes(data)
        return await self.reader.readexactly(int(self.header("content-length") or 0))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(
        self, body: bytes = b"", content_type: str = "text/html", *, status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """A whole response with its length."""
        fields = [("content-length", str(len(body))), *headers]
        if content_type:
            fields.append(("content-type", content_type))
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{n}: {v}\r\n" for n, v in fields) + "\r\n"
        await self.send(head.encode("latin-1") + (b"" if self.method == "HEAD" else body))

    async def reset(self) -> None:
        """Break the connection off."""
        self.writer.transport.abort()


Handler = Callable[[Asked], Awaitable[None]]


class FakeOrigin:
    """A server made of handlers by path; counts what it is asked."""

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        """`tls`: it speaks https."""
        self.paths: dict[str, Handler] = {}
        self.asked: list[Asked] = []
        self.connections = 0
        self.address: Address = ("", 0)
        self.name = ""
        """By which its certificate knows it; empty: its address."""
        self._tls = tls
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def base(self) -> str:
        scheme = "https" if self._tls is not None else "http"
        return f"{scheme}://{self.name or self.address[0]}:{self.address[1]}"

    def counts(self) -> Counter[str]:
        return Counter(asked.target for asked in self.asked)

    def serve(
        self, path: str, body: bytes, content_type: str = "text/html", *, status: int = 200,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:  # fmt: skip
        """Always answer the same."""
        fixed = list(headers)

        async def handler(asked: Asked) -> None:
            await asked.answer(body, content_type, status=status, headers=fixed)

        self.paths[path] = handler

    @asynccontextmanager
    async def running(self, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[FakeOrigin]:
        server = await asyncio.start_server(
            self._connected, host, port, limit=1 << 20, ssl=self._tls
        )
        self.address = server.sockets[0].getsockname()[:2]
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (asked := await _asked(reader, writer)) is not None:
                self.asked.append(asked)
                handler = self.paths.get(asked.target.partition("?")[0])
                if handler is None:
                    await asked.answer(b"nothing here", "text/plain", status=404)
                else:
                    await handler(asked)
                if writer.transport.is_closing():
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *fields = head[:-4].split("\r\n")
    method, target, _ = line.split(" ")
    pairs = [field.split(":", 1) for field in fields]
    headers = [(name.lower(), value.strip()) for name, value in pairs]
    return Asked(method, target, headers, reader, writer)


# -- the client ------------------------------------------------------------------------------------


class Broken(Exception):
    """The connection ended before the response did."""


@dataclass
class Answer:
    """A response, its head read; `read` for the body as it comes."""

    status: int
    headers: Headers
    stream: AsyncIterator[bytes] = field(repr=False)
    body: bytes = b""

    def header(self, name: str) -> str:
        return ", ".join(value for key, value in self.headers if key == name)


class Client:
    """Speaks HTTP/1.1 to the local proxy, one connection a request."""

    def __init__(self, proxy: Address) -> None:
        self._proxy = proxy

    async def get(self, url: str, headers: Headers | None = None, **more: Any) -> Answer:
        """The whole answer. Raises Broken."""
        async with self.open(url, headers, **more) as answer:
            answer.body = b"".join([chunk async for chunk in answer.stream])
            return answer

    @asynccontextmanager
    async def open(
        self, url: str, headers: Headers | None = None, *, method: str = "GET",
        body: bytes | AsyncIterator[bytes] | None = None,
    ) -> AsyncIterator[Answer]:  # fmt: skip
        """The answer as soon as its head is there; leaving closes the connection."""
        reader, writer = await asyncio.open_connection(*self._proxy)
        upload = None
        try:
            http = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
            host = url.split("/", 3)[2]
            fields = [("host", host), *(headers if headers is not None else [("accept", "*/*")])]
            if isinstance(body, bytes):
                fields.append(("content-length", str(len(body))))
            elif body is not None:
                fields.append(("transfer-encoding", "chunked"))
            writer.write(http.send(h11.Request(method=method, target=url, headers=fields)) or b"")
            upload = asyncio.ensure_future(_send_body(http, writer, body))
            head = await _event(http, reader)
            while isinstance(head, h11.InformationalResponse):
                head = await _event(http, reader)
            assert isinstance(head, h11.Response)
            pairs = [(n.decode(), v.decode("latin-1")) for n, v in head.headers]
            yield Answer(head.status_code, pairs, _body(http, reader))
        finally:
            if upload is not None:
                upload.cancel()
                await asyncio.gather(upload, return_exceptions=True)
            writer.close()
            await asyncio.gather(writer.wait_closed(), return_exceptions=True)

    async def connect(
        self, authority: str
    ) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
        """A tunnel: the status, and the streams."""
        reader, writer = await asyncio.open_connection(*self._proxy)
        writer.write(f"CONNECT {authority} HTTP/1.1\r\nhost: {authority}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        return int(head.split(b" ")[1]), reader, writer


async def _send_body(
    http: h11.Connection, writer: asyncio.StreamWriter, body: bytes | AsyncIterator[bytes] | None
) -> None:
    if isinstance(body, bytes):
        for at in range(0, len(body), 65536):
            writer.write(http.send(h11.Data(data=body[at : at + 65536])) or b"")
            await writer.drain()
    elif body is not None:
        async for chunk in body:
            writer.write(http.send(h11.Data(data=chunk)) or b"")
            await writer.drain()
    writer.write(http.send(h11.EndOfMessage()) or b"")
    await writer.drain()


async def _event(http: h11.Connection, reader: asyncio.StreamReader) -> Any:
    try:
        while (event := http.next_event()) is h11.NEED_DATA:
            http.receive_data(await reader.read(65536))
    except (h11.RemoteProtocolError, ConnectionError) as error:
        raise Broken(str(error)) from error
    if isinstance(event, h11.ConnectionClosed):
        raise Broken("closed")
    return event


async def _body(http: h11.Connection, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while isinstance(event := await _event(http, reader), h11.Data):
        yield bytes(event.data)


_AGENT = ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0 Safari/537.36")
_LANGUAGE = ("accept-language", "en-US,en;q=0.9")
_CODINGS = ("accept-encoding", "gzip, deflate")
_PICTURES = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
_PAGES = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"
    "*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"
)


class Browser(Client):
    """Sends what Chromium sends to http origins on another host than localhost."""

    async def navigate(self, url: str, **more: Any) -> Answer:
        return await self.get(url, self.navigation(), **more)

    @staticmethod
    def navigation() -> Headers:
        return [("upgrade-insecure-requests", "1"), _AGENT, ("accept", _PAGES), _CODINGS, _LANGUAGE]

    @staticmethod
    def part(page: str, accept: str = "*/*") -> Headers:
        return [_AGENT, ("accept", accept), ("referer", page), _CODINGS, _LANGUAGE]

    def picture(self, page: str) -> Headers:
        return self.part(page, _PICTURES)

    async def style(self, url: str, page: str) -> Answer:
        return await self.get(url, self.part(page, "text/css,*/*;q=0.1"))

    async def script(self, url: str, page: str) -> Answer:
        return await self.get(url, self.part(page))

    async def image(self, url: str, page: str) -> Answer:
        return await self.get(url, self.picture(page))


# -- the pair --------------------------------------------------------------------------------------


class Remote:
    """A remote proxy that can be stopped and started again on the same port."""

    def __init__(
        self, config: OriginConfig | None = None, *, memory: int = 64 << 20,
        patience: float = 60.0, limits: Limits | None = None, allow: Sequence[str] = LOOPBACK,
        resolver: AbstractResolver | None = None, tls: ssl.SSLContext | None = None,
        security: ServerSecurity | None = None,
    ) -> None:  # fmt: skip
        self.port = 0
        self.security = security
        self._tls = tls
        self._patience = patience
        self._config = config
        self._memory = memory
        self._allow = allow
        self._devices = Devices(limits)
        self._resolver = resolver
        self._origin: Origin | None = None
        self._transcoders: Transcoders | None = None
        self._server: RemoteServer | None = None
        self._listener: Listener | None = None

    @property
    def sessions(self) -> list[RemoteSession]:
        return self._server.sessions if self._server is not None else []

    async def start(self) -> None:
        guard = Guard(self._allow)
        self._origin = await Origin(
            self._config, guard=guard, resolver=self._resolver, tls=self._tls
        ).__aenter__()
        self._transcoders = Transcoders(workers=2)
        services = Services(self._origin, self._transcoders, self._devices)
        self._server = RemoteServer(
            services, quantum=1024, memory=self._memory, congestion="cubic", patience=self._patience
        )
        self._listener = await self._server.listen("127.0.0.1", self.port, security=self.security)
        self.port = self._listener.address[1]

    async def stop(self) -> None:
        if self._server is None:
            return
        assert self._listener and self._transcoders and self._origin
        self._listener.close()
        await self._server.close()
        await self._transcoders.close()
        await self._origin.__aexit__(None, None, None)
        self._server = None


@dataclass
class Pair:
    """Both proxies, connected."""

    remote: Remote
    local: LocalProxy
    address: Address
    """Where browsers reach the local proxy."""

    @property
    def browser(self) -> Browser:
        return Browser(self.address)

    @property
    def client(self) -> Client:
        return Client(self.address)

    @property
    def session(self) -> RemoteSession:
        """The remote's one session."""
        (session,) = self.remote.sessions
        return session

    async def connected(self) -> None:
        """Until the proxies have said hello, and the policies have had their say."""
        assert await self.local.uplink.wait_session(10) is not None


@asynccontextmanager
async def pair(
    *, policy: Iterable[str] = ("default",), patience: float = 2.0, export: str = "auto",
    config: OriginConfig | None = None, memory: int = 64 << 20, start_remote: bool = True,
    remote_port: int = 0, remote_patience: float = 60.0, tls: ssl.SSLContext | None = None,
    allow: Sequence[str] = LOOPBACK, limits: Limits | None = None,
    resolver: AbstractResolver | None = None, authority: Authority | None = None,
    tunnel: Iterable[str] = (), jpegtran: str | None = shutil.which("jpegtran"),
    secure: bool = False, sites: Mapping[str, Any] | None = None, store: Store | None = None,
) -> AsyncIterator[Pair]:  # fmt: skip
    """Start both, end both. `secure`: TLS between them. Raises what the local proxy raised.

    `tls`: whom the remote trusts. `authority`: the local proxy takes TLS off, but to `tunnel`.
    `jpegtran`: the device's. `sites`, `store`: the local proxy's.
    """
    server, client = paired("test") if secure else (None, None)
    remote = Remote(
        config, memory=memory, patience=remote_patience, allow=allow, limits=limits,
        resolver=resolver, tls=tls, security=server,
    )  # fmt: skip
    remote.port = remote_port
    if start_remote:
        await remote.start()
    settings = LocalSettings(
        listen="127.0.0.1:0",
        remote=f"127.0.0.1:{remote.port}",
        policy=list(policy),
        device="test",
        security="none",
        patience=patience,
        notice=patience,
        export=export,
        tunnel=list(tunnel),
        sites=dict(sites or {}),
    )
    local = LocalProxy(
        settings,
        [load(name) for name in settings.policy],
        remote=PairedRemote(settings.remote, client),
        authority=authority,
        jpegtran=jpegtran,
        store=store,
    )
    address = await local.listen()
    running = asyncio.ensure_future(local.run())
    both = Pair(remote, local, address)
    try:
        if start_remote:
            await both.connected()
        yield both
    finally:
        running.cancel()
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        await remote.stop()
        if not isinstance(ended, asyncio.CancelledError):
            raise RuntimeError("the local proxy ended by itself") from ended


@asynccontextmanager
async def all_three(**settings: Any) -> AsyncIterator[tuple[FakeOrigin, Pair]]:
    """An origin and the pair."""
    async with FakeOrigin().running() as origin, pair(**settings) as both:
        yield origin, both
