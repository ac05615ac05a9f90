"""The origin of the conformance suite: it answers as each request's own query says.

So a page's script says in one place what is asked, what is answered and what must come of it. The
same handlers stand behind every name and port; `tests/conformance/topics/harness.js` speaks to
them. What was asked with a `key` is told to whoever asks `/seen` for that key.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import json
import ssl
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import brotli

from tests.conformance.media import film, sound
from tests.conformance.pictures import PICTURES
from tests.end_to_end.origin import Asked, FakeOrigin

TOPICS = Path(__file__).parent / "topics"
HARNESS = (TOPICS / "harness.js").read_text(encoding="utf-8")
TYPES = {".js": "text/javascript", ".html": "text/html;charset=utf-8", ".css": "text/css"}
BYTES = bytes(range(256)) * 16
"""What is asked in ranges: 4,096 bytes, each of which tells where it stands."""
ACCEPT_KEY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, 1.3."""
NOT_TOLD = frozenset({"connection", "proxy-connection", "keep-alive", "te"})
"""Fields of a connection, not of a request (RFC 9110, 7.6.1)."""


class Query:
    """A request's query, whose first value of a name counts."""

    def __init__(self, target: str) -> None:
        self._values = parse_qs(urlsplit(target).query, keep_blank_values=True)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get(self, name: str, default: str = "") -> str:
        return self._values.get(name, [default])[0]

    def fields(self) -> list[tuple[str, str]]:
        """The response's fields, each `h=name:value`."""
        pairs = [one.partition(":") for one in self._values.get("h", [])]
        return [(name.strip(), value.strip()) for name, _, value in pairs]


@dataclass
class Site:
    """All servers of one run, two of each protocol."""

    seen: dict[str, list[dict[str, object]]] = field(default_factory=lambda: defaultdict(list))
    times: Counter[str] = field(default_factory=Counter)
    kept: dict[str, bytes] = field(default_factory=dict)
    waiting: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    http: list[int] = field(default_factory=list)
    https: list[int] = field(default_factory=list)

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext) -> AsyncIterator[Site]:
        async with AsyncExitStack() as stack:
            for context, ports in ((None, self.http), (tls, self.https)) * 2:
                server = FakeOrigin(tls=context)
                for path, handler in self._handlers().items():
                    server.paths[path] = _forgiving(handler)
                await stack.enter_async_context(server.running())
                ports.append(server.address[1])
            yield self

    def _handlers(self) -> dict[str, Callable[[Asked], Awaitable[None]]]:
        files = {f"/topics/{one.name}": self._file(one) for one in TOPICS.iterdir()}
        runs = {
            f"/run/{one.stem}": self._page(one.stem) for one in TOPICS.glob("*.js")
        } | {f"/run/{one.stem}": self._file(one) for one in TOPICS.glob("*.html")}  # fmt: skip
        pictures = {f"/{name}": self._picture(name) for name in PICTURES}
        return {
            **files, **runs, **pictures,
            "/harness.js": self._harness,
            "/give": self._give,
            "/echo": self._echo,
            "/seen": self._seen,
            "/asked": self._asked,
            "/keep": self._keep,
            "/kept": self._kept,
            "/wait": self._wait,
            "/go": self._go,
            "/slow": self._slow,
            "/bytes": self._bytes,
            "/film.webm": self._bytes,
            "/sound.wav": self._bytes,
            "/check": self._check,
            "/count": self._count,
            "/coded": self._coded,
            "/cut": self._cut,
            "/events": self._events,
            "/socket": self._socket,
            "/favicon.ico": self._icon,
        }  # fmt: skip

    # -- files ------------------------------------------------------------------------------

    def _file(self, path: Path) -> Callable[[Asked], Awaitable[None]]:
        data = path.read_bytes()

        async def handler(asked: Asked) -> None:
            await asked.answer(data, TYPES[path.suffix])

        return handler

    def _page(self, topic: str) -> Callable[[Asked], Awaitable[None]]:
        page = (
            f"<!doctype html><html><head><meta charset=utf-8><title>{topic}</title>"
            f"<script src=/harness.js></script></head><body><script src=/topics/{topic}.js>"
            "</script></body></html>"
        ).encode()

        async def handler(asked: Asked) -> None:
            await asked.answer(page, "text/html;charset=utf-8")

        return handler

    def _picture(self, name: str) -> Callable[[Asked], Awaitable[None]]:
        async def handler(asked: Asked) -> None:
            kind = PICTURES[name].kind
            await self._answer(asked, PICTURES[name].data, Query(asked.target).get("type", kind))

        return handler

    async def _harness(self, asked: Asked) -> None:
        ports = {"http": self.http, "https": self.https}
        text = HARNESS.replace("@PORTS@", json.dumps(ports))
        await asked.answer(text.encode(), "text/javascript")

    async def _icon(self, asked: Asked) -> None:
        await asked.answer(b"", "image/x-icon", status=204)

    # -- answers as they are ordered --------------------------------------------------------

    async def _answer(self, asked: Asked, body: bytes, kind: str) -> None:
        query = Query(asked.target)
        note = await asked.body()
        if query.get("key"):
            self.note(query.get("key"), asked, note)
        status, fields = int(query.get("status", "200")), query.fields()
        if asked.method == "OPTIONS" and asked.header("access-control-request-method"):
            status, body = int(query.get("preflight", "204")), b""
            fields += [
                ("access-control-allow-" + name[len("allow-") :], query.get(name))
                for name in ("allow-methods", "allow-headers")
                if name in query
            ]
        await asked.answer(body, kind, status=status, headers=fields)

    async def _give(self, asked: Asked) -> None:
        query = Query(asked.target)
        body = query.get("body").encode()
        if "file" in query:
            body = PICTURES[query.get("file")].data
        if "base64" in query:
            body = base64.b64decode(query.get("base64"))
        await self._answer(asked, body, query.get("type", "text/plain"))

    async def _echo(self, asked: Asked) -> None:
        query = Query(asked.target)
        body = await asked.body()
        text = json.dumps(told(asked, body)).encode()
        status = 204 if asked.method == "OPTIONS" else int(query.get("status", "200"))
        fields = query.fields()
        if "html" in query:
            text = b"<!doctype html><script>const told = %s;\n" % text.replace(b"<", b"\\u003c")
            text += query.get("html").encode() + b"</script>"
            await asked.answer(text, "text/html;charset=utf-8", status=status, headers=fields)
            return
        await asked.answer(text, "application/json", status=status, headers=fields)

    def note(self, key: str, asked: Asked, body: bytes) -> None:
        one = told(asked, body)
        self.times[key] += 1
        if one not in self.seen[key]:
            self.seen[key].append(one)
        self.waiting["seen" + key].set()

    async def _seen(self, asked: Asked) -> None:
        """All that was asked with a key; `wait`: at least one, however long it takes."""
        query = Query(asked.target)
        if "wait" in query:
            with suppress(TimeoutError):
                async with asyncio.timeout(40):
                    await self.waiting["seen" + query.get("key")].wait()
        await asked.answer(
            json.dumps(self.seen.get(query.get("key"), [])).encode(),
            "application/json",
            headers=[("cache-control", "no-store"), ("access-control-allow-origin", "*")],
        )

    async def _asked(self, asked: Asked) -> None:
        """How often something was asked for with a key."""
        count = self.times[Query(asked.target).get("key")]
        await asked.answer(str(count).encode(), headers=[("cache-control", "no-store")])

    async def _keep(self, asked: Asked) -> None:
        """Keep a body for `/kept`: what a page tells another one."""
        key = Query(asked.target).get("id")
        self.kept[key] = await asked.body()
        self.waiting["kept" + key].set()
        await asked.answer(b"", headers=[("access-control-allow-origin", "*")])

    async def _kept(self, asked: Asked) -> None:
        query = Query(asked.target)
        with suppress(TimeoutError):
            async with asyncio.timeout(40):
                await self.waiting["kept" + query.get("id")].wait()
        fields = [("access-control-allow-origin", "*"), ("cache-control", "no-store")]
        await asked.answer(
            self.kept.get(query.get("id"), b"never"),
            query.get("type", "text/plain"),
            headers=fields + query.fields(),
        )

    async def _wait(self, asked: Asked) -> None:
        """Answers as `/give` does once `/go` was asked with the same id."""
        with suppress(TimeoutError):
            async with asyncio.timeout(40):
                await self.waiting["go" + Query(asked.target).get("id")].wait()
        await self._give(asked)

    async def _go(self, asked: Asked) -> None:
        self.waiting["go" + Query(asked.target).get("id")].set()
        await asked.answer(b"")

    async def _slow(self, asked: Asked) -> None:
        """`first`, and once `/go` was asked for the id, `second`; chunked, maybe with trailers."""
        query = Query(asked.target)
        head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncache-control: no-store\r\n"
        head += f"content-type: {query.get('type', 'text/plain')}\r\n"
        await asked.send(f"{head}\r\n5\r\nfirst\r\n".encode())
        with suppress(TimeoutError):
            async with asyncio.timeout(40):
                await self.waiting["go" + query.get("id")].wait()
        await asked.send(b"6\r\nsecond\r\n0\r\n" + b"x-late: yes\r\n" + b"\r\n")

    # -- ranges, validators, codings --------------------------------------------------------

    async def _bytes(self, asked: Asked) -> None:
        """Bytes in ranges (RFC 9110, 14), with an entity tag and If-Range."""
        query = Query(asked.target)
        path = asked.target.partition("?")[0]
        data, kind = {
            "/film.webm": (film(), "video/webm"),
            "/sound.wav": (sound(), "audio/wav"),
        }.get(path, (BYTES, "application/octet-stream"))
        if query.get("key"):
            self.note(query.get("key"), asked, b"")
        tag = '"' + hashlib.sha256(data).hexdigest()[:12] + '"'
        fields = [("accept-ranges", "bytes"), ("etag", tag), ("cache-control", "no-cache")]
        fields += query.fields()
        wanted, unless = asked.header("range"), asked.header("if-range")
        if not wanted or "none" in query or (unless and unless != tag):
            await asked.answer(data, kind, headers=fields)
            return
        spans = [_span(one, len(data)) for one in wanted.removeprefix("bytes=").split(",")]
        good = [one for one in spans if one is not None]
        if not good:
            fields.append(("content-range", f"bytes */{len(data)}"))
            await asked.answer(b"", "", status=416, headers=fields)
        elif len(good) == 1:
            first, last = good[0]
            fields.append(("content-range", f"bytes {first}-{last}/{len(data)}"))
            await asked.answer(data[first : last + 1], kind, status=206, headers=fields)
        else:
            body = b"".join(
                b"--cut\r\ncontent-range: bytes %d-%d/%d\r\n\r\n%s\r\n"
                % (first, last, len(data), data[first : last + 1])
                for first, last in good
            )
            kind = "multipart/byteranges; boundary=cut"
            await asked.answer(body + b"--cut--\r\n", kind, status=206, headers=fields)

    async def _check(self, asked: Asked) -> None:
        """A validator, and 304 to who has it; the body counts how often it was made."""
        query = Query(asked.target)
        self.note(query.get("key"), asked, b"")
        fields = query.fields()
        values = dict(fields)
        known = asked.header("if-none-match") == values.get("etag", "-")
        since = asked.header("if-modified-since") == values.get("last-modified", "-")
        if known or since:
            await asked.answer(b"", "", status=304, headers=fields)
            return
        made = sum(1 for one in self.seen[query.get("key")] if not one["conditional"])
        body = f"made {made}" if "count" in query else "made"
        await asked.answer(body.encode(), query.get("type", "text/plain"), headers=fields)

    async def _count(self, asked: Asked) -> None:
        """How often this very address was asked for, this time included."""
        query = Query(asked.target)
        self.seen["count" + query.get("id")].append({})
        count = len(self.seen["count" + query.get("id")])
        await asked.answer(
            str(count).encode(), query.get("type", "text/plain"), headers=query.fields()
        )

    async def _coded(self, asked: Asked) -> None:
        """A text in a content coding."""
        query = Query(asked.target)
        body = query.get("body").encode(query.get("charset", "utf-8"))
        coding = query.get("coding")
        for one in filter(None, coding.split(", ")):
            body = {"gzip": gzip.compress, "br": brotli.compress}[one](body)
        if "short" in query:
            body = body[: len(body) // 2]
        fields = [("content-encoding", coding), *query.fields()]
        await asked.answer(body, query.get("type", "text/plain"), headers=fields)

    async def _cut(self, asked: Asked) -> None:
        """A body that ends before its length."""
        await asked.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100\r\n\r\n"
        )
        await asked.send(b"only this")
        asked.writer.close()

    # -- streams ----------------------------------------------------------------------------

    async def _events(self, asked: Asked) -> None:
        query = Query(asked.target)
        if query.get("key"):
            self.note(query.get("key"), asked, b"")
        known = asked.header("last-event-id")
        text = f"id: 7\nretry: 10\ndata: last {known or 'none'}\n\n"
        text += "event: other\ndata: one\ndata: two\n\n: a comment\n\n"
        body = text.encode()
        kind = query.get("type", "text/event-stream")
        await asked.answer(body, kind, headers=[("cache-control", "no-store"), *query.fields()])

    async def _socket(self, asked: Asked) -> None:
        """An echo of WebSocket messages, after one that tells the request; RFC 6455."""
        query = Query(asked.target)
        if "refuse" in query:
            await asked.answer(b"no", "text/plain", status=403)
            return
        key = asked.header("sec-websocket-key") + ACCEPT_KEY
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        offered = asked.header("sec-websocket-protocol").split(", ")
        chosen = f"sec-websocket-protocol: {offered[-1]}\r\n" if offered[-1] else ""
        await asked.send(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            f"{chosen}sec-websocket-accept: {accept}\r\n\r\n".encode()
        )
        await asked.send(_frame(1, json.dumps(told(asked, b"")).encode()))
        while True:
            first, second = await asked.reader.readexactly(2)
            length = second & 127
            if length >= 126:
                size = await asked.reader.readexactly(2 if length == 126 else 8)
                length = int.from_bytes(size)
            mask = await asked.reader.readexactly(4)
            data = bytes(
                one ^ mask[at % 4] for at, one in enumerate(await asked.reader.readexactly(length))
            )
            await asked.send(_frame(first & 15, data))
            if first & 15 == 8:
                asked.writer.close()
                return


def told(asked: Asked, body: bytes) -> dict[str, object]:
    """A request as JSON; addresses without ports, which differ from run to run."""
    fields = {name: asked.header(name) for name, _ in asked.headers if name not in NOT_TOLD}
    return {
        "method": asked.method,
        "path": asked.target.partition("?")[0],
        "headers": fields,
        "body": body.decode("latin-1"),
        "conditional": "if-none-match" in fields or "if-modified-since" in fields,
    }


def _span(text: str, length: int) -> tuple[int, int] | None:
    first, _, last = text.strip().partition("-")
    if not first:
        return max(0, length - int(last)), length - 1
    if int(first) >= length:
        return None
    return int(first), min(int(last or length - 1), length - 1)


def _frame(opcode: int, data: bytes) -> bytes:
    size = len(data)
    head = bytes([128 | opcode])
    if size < 126:
        return head + bytes([size]) + data
    if size < 65536:
        return head + bytes([126]) + size.to_bytes(2) + data
    return head + bytes([127]) + size.to_bytes(8) + data


def _forgiving(handler: Callable[[Asked], Awaitable[None]]) -> Callable[[Asked], Awaitable[None]]:
    async def forgiving(asked: Asked) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await handler(asked)

    return forgiving
