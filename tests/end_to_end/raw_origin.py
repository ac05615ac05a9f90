"""A server that keeps every byte it is sent and reads requests strictly: the judge of smuggling."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.end_to_end.listening import listening

TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
FORBIDDEN = frozenset(
    (b"keep-alive", b"proxy-connection", b"trailer", b"upgrade",
     b"http2-settings", b"proxy-authorization", b"expect")
)  # fmt: skip
"""Fields of one hop (RFC 9110, 7.6.1): none of them may be the client's."""


class Ambiguous(Exception):
    """Bytes that two servers could read in two ways."""


@dataclass(frozen=True)
class Seen:
    """A whole request as it came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key == name]


@dataclass
class RawOrigin:
    """Answers every whole request with `METHOD target body`, and complains of anything odd."""

    host: str = ""
    seen: list[Seen] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    answer: Callable[[Seen], bytes] | None = None
    close_behind: str = ""
    """A target: its answer ends with the connection."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[RawOrigin]:
        async with listening(self._connected) as (host, port):
            self.host = f"{host}:{port}"
            yield self

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (seen := await self._request(reader)) is not None:
                self.seen.append(seen)
                writer.write(self.answer(seen) if self.answer is not None else echo(seen))
                await writer.drain()
                if seen.target == self.close_behind:
                    writer.close()
                    return
        except (Ambiguous, ValueError, asyncio.LimitOverrunError) as error:
            self.complaints.append(str(error))
        finally:
            if not writer.is_closing():
                writer.transport.abort()

    async def _request(self, reader: asyncio.StreamReader) -> Seen | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as left:
            if left.partial:
                self.complaints.append(f"stray bytes: {left.partial[:80]!r}")
            return None
        line, *fields = head[:-4].split(b"\r\n")
        if re.fullmatch(rb"[!-~]+ [!-~]+ HTTP/1\.1", line) is None:
            raise Ambiguous(f"request line {line!r}")
        pairs = [_field(one) for one in fields]
        names = [name for name, _ in pairs]
        if names.count(b"host") != 1 or dict(pairs)[b"host"] != self.host.encode():
            raise Ambiguous(f"not exactly our Host: {pairs}")
        own = (b"TE", b"close, TE") if dict(pairs).get(b"te") == b"trailers" else (b"close",)
        if dict(pairs).get(b"connection", own[0]) not in (*own, b"keep-alive"):
            raise Ambiguous(f"the client's Connection: {pairs}")
        if FORBIDDEN.intersection(names) or (b"te" in names and own == (b"close",)):
            raise Ambiguous(f"hop-by-hop: {FORBIDDEN.intersection(names)}")
        body = await self._body(reader, pairs)
        method, target, _ = line.decode().split(" ")
        decoded = tuple((name.decode(), value.decode("latin-1")) for name, value in pairs)
        return Seen(method, target, decoded, body)

    async def _body(self, reader: asyncio.StreamReader, pairs: list[tuple[bytes, bytes]]) -> bytes:
        lengths = [value for name, value in pairs if name == b"content-length"]
        codings = [value for name, value in pairs if name == b"transfer-encoding"]
        if len(lengths) + len(codings) > 1:
            raise Ambiguous(f"framed twice: {lengths} {codings}")
        if lengths:
            if re.fullmatch(rb"[0-9]+", lengths[0]) is None:
                raise Ambiguous(f"Content-Length: {lengths[0]!r}")
            return await reader.readexactly(int(lengths[0]))
        if not codings:
            return b""
        if codings != [b"chunked"]:
            raise Ambiguous(f"Transfer-Encoding: {codings[0]!r}")
        data = bytearray()
        while True:
            line = await reader.readuntil(b"\r\n")
            if re.fullmatch(rb"[0-9a-fA-F]{1,8}\r\n", line) is None:
                raise Ambiguous(f"chunk size {line!r}")
            size = int(line, 16)
            chunk = await reader.readexactly(size + 2)
            if chunk[-2:] != b"\r\n":
                raise Ambiguous(f"chunk without an end, or trailers: {chunk[-80:]!r}")
            if not size:
                return bytes(data)
            data += chunk[:-2]


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or TOKEN.fullmatch(name) is None or re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise Ambiguous(f"field {line!r}")
    return name.lower(), value.strip(b" \t")


def echo(seen: Seen) -> bytes:
    """What was asked, as a response with its length."""
    body = b"" if seen.method == "HEAD" else f"{seen.method} {seen.target} ".encode() + seen.body
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
