"""A way between two proxies that breaks when it is told to: cut, silent, slow to come back.

It terminates TCP, as tunnels and accelerators do, so what it has taken and not passed on is lost
with a cut. Knows bytes and sockets; knows nothing of what they mean.
"""

from __future__ import annotations

import asyncio
from typing import Final

from bench.origin import Address

_PIECE: Final = 16_384
"""Bytes passed on at a time."""


class BreakingWay:
    """Connections to a target at a limited rate; an async context manager."""

    def __init__(self, target: Address, *, rate: float) -> None:
        """`rate`: bytes/second in each direction of each connection."""
        self._target = target
        self._rate = rate
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.connections = 0
        """Made so far."""
        self.down = 0
        """Bytes passed on from the target."""

    @property
    def address(self) -> Address:
        """Where to connect."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    def cut(self) -> None:
        """Break every connection that there is."""
        for task in list(self._tasks):
            task.cancel()

    def hush(self, silent: bool) -> None:
        """Pass nothing on, though connections stand and new ones are taken; or go on."""
        if silent:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def __aenter__(self) -> BreakingWay:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        far: asyncio.StreamWriter | None = None
        try:
            far_reader, far = await asyncio.open_connection(*self._target)
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._pass_on(reader, far, down=False))
                ways.create_task(self._pass_on(far_reader, writer, down=True))
        except (OSError, asyncio.CancelledError, BaseExceptionGroup):
            pass  # either end has left, or we were told to cut
        finally:
            self._tasks.discard(task)
            for end in (writer, far):
                if end is not None:
                    end.transport.abort()

    async def _pass_on(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, down: bool
    ) -> None:
        while data := await source.read(_PIECE):
            await asyncio.sleep(len(data) / self._rate)
            await self._flowing.wait()
            sink.write(data)
            if down:
                self.down += len(data)
            await sink.drain()
        raise ConnectionResetError("one end has ended")
