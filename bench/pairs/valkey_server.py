"""A real Valkey or Redis, in memory alone, at a socket in a folder."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from redis.asyncio import Redis

SERVER = next(
    filter(None, map(shutil.which, ("valkey-server", "redis-server", "redis-check-rdb"))), None
)
"""Redis' program does all three by the name that it is called by."""
MISSING = "neither valkey-server nor redis-server on this machine (Debian's redis-tools)"


class ValkeyServer:
    """One that can be killed, and started again at the same place, with nothing in it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        """`arguments`: more of its settings, as its command line has them."""
        self._arguments = arguments
        self.path = folder / "store.sock"
        self.url = f"unix://{self.path}"
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        assert SERVER is not None
        self._process = await asyncio.create_subprocess_exec(
            "redis-server",
            *("--port", "0", "--unixsocket", str(self.path), "--save", "", "--appendonly", "no"),
            *("--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"),
            *self._arguments,
            executable=SERVER,
            cwd=self.path.parent,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        while not await self._answers():
            assert self._process.returncode is None, "the store ended at once"
            await asyncio.sleep(0.02)

    async def count(self) -> int:
        """How many names it has."""
        async with Redis.from_url(self.url) as client:
            found: int = await client.dbsize()
            return found

    async def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        if self.path.exists():
            os.unlink(self.path)

    async def _answers(self) -> bool:
        try:
            _, writer = await asyncio.open_unix_connection(self.path)
        except OSError:
            return False
        writer.close()
        return True


@asynccontextmanager
async def valkey(folder: Path, *arguments: str) -> AsyncIterator[ValkeyServer]:
    server = ValkeyServer(folder, *arguments)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()
