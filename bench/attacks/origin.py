"""A hostile origin: answers that are endless, enormous, cut, forged, or made to cost time."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import itertools
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from bench.attacks.tally import AttackTally, Targets
from bench.origins.site import Address
from bench.pairs.processes import text

FORGED: Final = "x-forged"
"""A field that only a second answer, hidden in the first, has."""
_LIMIT: Final = aiohttp.ClientTimeout(total=6)
_MOST: Final = 8 << 20
"""Bytes of an answer that are taken; the rest is left."""
_BOMB: Final = gzip.compress(bytes(64 << 20), 9)


def answers() -> dict[str, bytes]:
    """By path, all that is said to whoever asks for it."""

    def page(body: bytes, *fields: str) -> bytes:
        lines = ["HTTP/1.1 200 OK", "content-type: text/html", *fields]
        lines.append(f"content-length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + body

    forged = b"HTTP/1.1 200 OK\r\nx-forged: yes\r\ncontent-length: 2\r\n\r\nno"
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n"
    return {
        "/policies": page(b"<head><meta " + b" content-security-policy" * 3000),
        "/attributes": page(b"<html " + b"a " * 40_000),
        "/nested": page(b"<div>" * 60_000),
        "/styles": page(b"<style>" + b"a{b:url(" * 20_000),
        "/sets": page(b"<img srcset='" + b"a 1x, " * 20_000 + b"'>"),
        "/names": page(b"".join(b"<img src=//n%d.invalid/a.png>" % n for n in range(2000))),
        "/fields": b"HTTP/1.1 200 OK\r\n" + b"".join(b"x-%d: y\r\n" % n for n in range(5000)),
        "/line": b"HTTP/1.1 200 " + b"x" * 300_000,
        "/gzip": page(_BOMB, "content-encoding: gzip"),
        "/picture": _picture(50_000, 50_000),
        "/split": page(b"hi") + forged,
        "/lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 99\r\n\r\nhi"
        + forged,
        "/both": chunked + b"content-length: 5\r\n\r\n0\r\n\r\n" + forged,
        "/chunks": chunked + b"\r\nfffffffffffffffffff\r\n" + forged,
        "/newline": b"HTTP/1.1 200 OK\nx: y\r\rx-forged: yes\r\ncontent-length: 0\r\n\r\n",
        "/folded": b"HTTP/1.1 200 OK\r\na: b\r\n x-forged: yes\r\ncontent-length: 0\r\n\r\n"
        + forged,
        "/cut": b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nshort",
        "/again": b"HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n",
        "/early": b"HTTP/1.1 103 Early\r\n\r\n" * 2000 + page(b"late"),
        "/nothing": b"",
    }


def _picture(width: int, height: int) -> bytes:
    """A PNG that is small as a file and would fill the memory."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = zlib.compress(bytes(20 << 20), 9)
    body = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: %d\r\n\r\n" % len(body)
    ) + body


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Address, list[str]]]:
    """The origin: where it is, and its paths. `/drip` sends a byte now and then, for ever."""
    said = answers()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = (await reader.readuntil(b"\r\n\r\n")).split(b" ", 2)
            path = line[1].decode("latin-1")
            if path == "/drip":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<html ")
                while True:
                    writer.write(b"a ")
                    await writer.drain()
                    await asyncio.sleep(0.05)
            writer.write(said.get(path, b"HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n"))
            await writer.drain()
            await asyncio.sleep(0.05)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        yield (host, port), [*said, "/drip"]


async def answer_badly(targets: Targets, tally: AttackTally) -> None:
    """Be asked for all of it, again and again, by a browser behind the same local proxy.

    Through: a forged second answer was taken for one, or the local proxy no longer answers.
    """
    proxy = f"http://{text(targets.local)}"
    accept = {"accept": "text/html,*/*;q=0.8", "upgrade-insecure-requests": "1"}
    async with running() as (address, paths), aiohttp.ClientSession(timeout=_LIMIT) as session:
        for path in itertools.cycle(paths):
            tally.tried()
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, ValueError):
                url = f"http://{text(address)}{path}"
                async with session.get(url, proxy=proxy, headers=accept) as answer:
                    taken = 0
                    async for chunk in answer.content.iter_any():
                        taken += len(chunk)
                        if taken > _MOST:
                            break
                    if FORGED in answer.headers:
                        tally.got(f"{path}: a forged answer")
            await asyncio.sleep(0.1)
            try:
                _, writer = await asyncio.open_connection(*targets.local)
                writer.transport.abort()
            except OSError as error:
                tally.got(f"{path}: the local proxy's port is gone: {error}")
