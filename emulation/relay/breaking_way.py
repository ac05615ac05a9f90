"""A way between two proxies that breaks when it is told to: cut, silent, slow to come back.

It terminates TCP, as tunnels and accelerators do, so what it has taken and not passed on is lost
with a cut. Knows bytes and sockets; knows nothing of what they mean.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from emulation.relay.relay_settings import Address

_PIECE: Final = 16_384
"""Bytes passed on at a time."""


class BreakingWay:
    """Connections to a target at a limited rate; an async context manager."""

    def __init__(
        self,
        target: Address,
        *,
        rate: float,
        host: str = "127.0.0.1",
        new_socket: Callable[[], socket.socket] = socket.socket,
    ) -> None:
        """`rate`: bytes/second in each direction of each connection. `host`: where it listens.

        `new_socket`: makes its sockets, wherever the target can be reached from.
        """
        self._target = target
        self._rate = rate
        self._host = host
        self._new_socket = new_socket
        self._server: asyncio.Server | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._silent = 0.0
        self._silent_since: float | None = None
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
        self._silent = self.silent
        if silent:
            self._silent_since = asyncio.get_running_loop().time()
            self._flowing.clear()
        else:
            self._silent_since = None
            self._flowing.set()

    @property
    def silent(self) -> float:
        """Seconds of silence so far."""
        since = self._silent_since
        now = asyncio.get_running_loop().time()
        return self._silent + (now - since if since is not None else 0.0)

    async def __aenter__(self) -> BreakingWay:
        listener = self._new_socket()
        try:
            listener.bind((self._host, 0))
            self._server = await asyncio.start_server(self._connected, sock=listener)
        except BaseException:
            listener.close()
            raise
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
            far_reader, far = await self._dial()
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

    async def _dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        dialling = self._new_socket()
        try:
            dialling.setblocking(False)
            await asyncio.get_running_loop().sock_connect(dialling, self._target)
            return await asyncio.open_connection(sock=dialling)
        except BaseException:
            dialling.close()
            raise

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
