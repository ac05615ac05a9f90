"""A static web server for the pages under test: the fair opponent, set up as a plain nginx is.

Keep-alive, validators, `Cache-Control: max-age`, gzip for text. Runs as its own process, so that
serving does not take time from whoever measures.

    python -m bench.origins.site DIR [--host ADDRESS] [--port N] [--no-gzip] [--max-age S]
        [--delay S]

Prints `listening on HOST:PORT` when it is ready. Knows files and HTTP; knows nothing of proxies.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import mimetypes
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import Final

from aiohttp import web

from bench.pairs.bound import bound
from emulation.worlds.hosts import HERE, EmulatedHost

Address = tuple[str, int]

GZIP_TYPES: Final = ("text/", "application/javascript", "application/json", "image/svg+xml")
"""What Debian's nginx.conf suggests; its default is text/html alone."""
GZIP_LEVEL: Final = 6
START_TIMEOUT: Final = 60.0
"""Seconds a server's process is given to say where it listens: 1 s is usual; with two processors
and twenty processes that want them it took more than 20."""

# Debian's python knows neither; browsers refuse a module or a font of the wrong type.
_TYPES: Final = {".js": "text/javascript", ".webp": "image/webp", ".woff2": "font/woff2"}


@lru_cache(maxsize=512)
def _content(path: Path, modified: int, packed: bool) -> bytes:
    """A file's bytes; `modified` is part of the key, so an edit is seen."""
    data = path.read_bytes()
    return gzip.compress(data, GZIP_LEVEL, mtime=0) if packed else data


def content_type(path: Path) -> str:
    """The media type by suffix, with a charset where text needs one."""
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    kind = kind or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


class SiteServer:
    """Answers GET and HEAD below one folder."""

    def __init__(
        self, root: Path, *, packed: bool, max_age: int, delay: float, live: bool = False
    ) -> None:
        self._live = live
        self._root = root.resolve()
        self._packed = packed
        self._max_age = max_age
        self._delay = delay

    def find(self, path: str) -> Path | None:
        """The file of a decoded URL path; None when there is none or it is outside the root."""
        if "\0" in path:
            return None
        file = (self._root / path.lstrip("/")).resolve()
        if not file.is_relative_to(self._root):
            return None
        if file.is_dir():
            file /= "index.html"
        return file if file.is_file() else None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if self._delay:
            await asyncio.sleep(self._delay)
        file = self.find(request.path)
        if file is None:
            return web.Response(status=404, text="no such file\n")
        kind = content_type(file)
        accepts = "gzip" in request.headers.get("Accept-Encoding", "")
        packed = self._packed and kind.startswith(GZIP_TYPES)
        state = file.stat()
        # A representation's validator is its own (RFC 9110, 8.8.3.3).
        tag = f'"{int(state.st_mtime):x}-{state.st_size:x}{"-gz" if packed and accepts else ""}"'
        fresh_at_once = self._live and kind.startswith("text/html")
        headers = {
            "Content-Type": kind,
            "ETag": tag,
            "Last-Modified": formatdate(state.st_mtime, usegmt=True),
            "Cache-Control": "no-cache" if fresh_at_once else f"max-age={self._max_age}",
        }
        if packed:
            headers["Vary"] = "Accept-Encoding"
        if tag in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        if packed and accepts:
            headers["Content-Encoding"] = "gzip"
        body = _content(file, state.st_mtime_ns, packed and accepts)
        return web.Response(body=body, headers=headers)


@asynccontextmanager
async def serve(
    root: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    packed: bool = True,
    max_age: int = 3600,
    delay: float = 0.0,
    tls: ssl.SSLContext | None = None,
    live: bool = False,
) -> AsyncIterator[Address]:
    """Serve `root` within this event loop; gives the address. `max_age`, `delay`: seconds.

    `tls`: over https. `live`: pages change, so browsers have to ask for them each time.
    Raises OSError when the folder is missing or the port taken.
    """
    if not await asyncio.to_thread(root.is_dir):
        raise NotADirectoryError(f"{root}: no such folder")
    site = SiteServer(root, packed=packed, max_age=max_age, delay=delay, live=live)
    application = web.Application()
    application.router.add_get("/{path:.*}", site.answer)
    runner = web.AppRunner(application, access_log=None, keepalive_timeout=75)
    await runner.setup()
    try:
        listener = await asyncio.get_running_loop().create_server(
            _server(runner), host, port, backlog=128, ssl=tls
        )
        async with listener:
            name = listener.sockets[0].getsockname()
            yield name[0], name[1]
    finally:
        await runner.cleanup()


def _server(runner: web.AppRunner) -> web.Server:
    assert runner.server is not None
    return runner.server


@asynccontextmanager
async def spawn(
    root: Path,
    *,
    packed: bool = True,
    delay: float = 0.0,
    host: EmulatedHost = HERE,
    inside: Callable[..., Sequence[str]] = lambda *words: words,
    live: bool = False,
) -> AsyncIterator[Address]:
    """The same in a process of its own, on `host`.

    Raises OSError with what it said when it does not start. `inside`: makes of a command one that
    runs it elsewhere, as in a namespace.
    """
    command = [sys.executable, "-m", "bench.origins.site", str(root), f"--delay={delay}"]
    process = await asyncio.create_subprocess_exec(
        *bound(*inside(*host.command(*command, f"--host={host.address}"))),
        *(() if packed else ("--no-gzip",)),
        *(("--live",) if live else ()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield await listening(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def listening(process: asyncio.subprocess.Process) -> Address:
    """The address of a process that prints `listening on HOST:PORT`.

    Raises OSError if it ends, or takes too long.
    """
    assert process.stdout is not None
    try:
        return await _says_where(process.stdout)
    except TimeoutError as error:
        why = f"it did not listen within {START_TIMEOUT:g} s: is the machine busy?"
        raise OSError(why) from error


async def _says_where(stdout: asyncio.StreamReader) -> Address:
    async with asyncio.timeout(START_TIMEOUT):
        while line := (await stdout.readline()).decode(errors="replace"):
            if " on " in line and (address := line.split(" on ", 1)[1].split()):
                host, _, port = address[0].rpartition(":")
                if port.isdigit():
                    return host, int(port)
    raise OSError("the process ended before it listened; its standard error says why")


async def _main(arguments: argparse.Namespace) -> None:
    ended = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, ended.set)
    async with serve(
        arguments.root,
        host=arguments.host,
        port=arguments.port,
        packed=not arguments.no_gzip,
        max_age=arguments.max_age,
        delay=arguments.delay,
        live=arguments.live,
    ) as (host, port):
        print(f"listening on {host}:{port}", flush=True)
        await ended.wait()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench.origins.site", description="A static web server.")
    parser.add_argument("root", type=Path, metavar="DIR")
    parser.add_argument("--host", default="127.0.0.1", help="an address to listen on")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--no-gzip", action="store_true", help="send text as it is")
    parser.add_argument("--max-age", type=int, default=3600, help="seconds of Cache-Control")
    parser.add_argument("--live", action="store_true", help="pages are to be asked for each time")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    try:
        asyncio.run(_main(parser.parse_args(arguments)))
    except OSError as error:
        print(f"bench.origins.site: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
