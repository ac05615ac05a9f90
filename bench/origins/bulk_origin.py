"""A web server of bytes that nobody holds: made as they are sent, hashed as they come.

    GET  /bytes?size=N              N bytes, the same each time
    POST /sink?pause=S&after=N      takes a body; rests for S seconds once it has N bytes;
                                    answers {"size": ..., "sha256": ...}

    python -m bench.origins.bulk_origin

Prints `listening on HOST:PORT`. Knows HTTP and its bytes; nothing of proxies.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from bench.origins.site import Address, listening
from bench.pairs.bound import bound

_BLOCK: Final = random.Random(1).randbytes(1 << 18)
"""Repeated with its number in front, so that lost, doubled and swapped bytes show in the hash."""
_NUMBER: Final = 8


def content(size: int) -> Iterator[bytes]:
    """The first `size` bytes of what there is."""
    number = 0
    while size > 0:
        block = (number.to_bytes(_NUMBER, "big") + _BLOCK[_NUMBER:])[:size]
        yield block
        size -= len(block)
        number += 1


def digest(size: int) -> str:
    """SHA-256 of the first `size` bytes, in hexadecimal."""
    sha = hashlib.sha256()
    for block in content(size):
        sha.update(block)
    return sha.hexdigest()


async def _send(request: web.Request) -> web.StreamResponse:
    size = int(request.query["size"])
    response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
    response.content_length = size
    await response.prepare(request)
    with contextlib.suppress(ConnectionError):  # whoever asked has seen enough
        for block in content(size):
            await response.write(block)
        await response.write_eof()
    return response


async def _take(request: web.Request) -> web.Response:
    pause, after = float(request.query.get("pause", 0)), int(request.query.get("after", 0))
    sha, size = hashlib.sha256(), 0
    with contextlib.suppress(ConnectionError):  # then nobody hears the answer either
        async for chunk in request.content.iter_any():
            sha.update(chunk)
            size += len(chunk)
            if pause and size >= after:
                await asyncio.sleep(pause)
                pause = 0.0
    return web.json_response({"size": size, "sha256": sha.hexdigest()})


@asynccontextmanager
async def spawn() -> AsyncIterator[Address]:
    """The server in a process of its own. Raises OSError when it does not start."""
    process = await asyncio.create_subprocess_exec(
        *bound(sys.executable, "-m", "bench.origins.bulk_origin"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield await listening(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def _main() -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    application = web.Application()
    application.router.add_get("/bytes", _send)
    application.router.add_post("/sink", _take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        host, port = runner.addresses[0][:2]
        print(f"listening on {host}:{port}", flush=True)
        await ended.wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(_main())
