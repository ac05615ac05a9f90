"""The relay inside one event loop: it accepts connections, joins two ways, and has the outages.

What it emulates and why: emulation/relay/relay.py. This module knows sockets and the loop's clock;
it does not know whether it runs in a thread or in a process, nor who asked for it."""

from __future__ import annotations

import asyncio
import random
import socket
from collections.abc import Coroutine
from dataclasses import replace

from emulation.lines.impairments import Outages
from emulation.relay.relay_connection import RelayedConnection
from emulation.relay.relay_settings import Address, RelaySettings, RelayStatistics
from emulation.relay.relay_sockets import listen, prepare
from emulation.relay.relay_way import RelayDirection


class Engine:
    """The relay itself, inside one event loop."""

    def __init__(self, settings: RelaySettings) -> None:
        self._settings = settings
        chance = random.Random(settings.impairments.seed)
        self._up = RelayDirection(
            settings, settings.rate_up, random.Random(chance.random()), trace=settings.trace_up
        )
        self._down = RelayDirection(
            settings, settings.rate_down, random.Random(chance.random()), trace=settings.trace_down
        )
        self._connections: set[RelayedConnection] = set()
        self._accepted = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._moving = asyncio.Event()
        """No outage."""
        self._moving.set()
        self._outages, self._resets = 0, 0
        if settings.impairments.outage_every:
            self._spawn(self._have_outages(random.Random(chance.random())))
        self._listeners: list[socket.socket] = []
        self.address = self.reach(settings.target, at=settings.listen)

    def reach(self, target: Address, *, at: Address = ("127.0.0.1", 0)) -> Address:
        """Where to connect to get to `target`, over the same line as all others. Raises OSError."""
        listener = listen(at, queue=self._settings.queue)
        self._listeners.append(listener)
        settings = replace(self._settings, target=target)
        asyncio.get_running_loop().add_reader(listener, self._accept, listener, settings)
        host, port = listener.getsockname()[:2]
        return host, port

    def _accept(self, listener: socket.socket, settings: RelaySettings) -> None:
        try:
            near, _ = listener.accept()
        except OSError:  # gone again before it was accepted, or out of descriptors
            return
        prepare(near, settings.queue)
        self._accepted += 1
        connection = RelayedConnection(
            near,
            up=self._up,
            down=self._down,
            settings=settings,
            on_close=self._connections.discard,
        )
        self._connections.add(connection)
        self._spawn(connection.run(self._moving))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _have_outages(self, chance: random.Random) -> None:
        loop = asyncio.get_running_loop()
        outages = Outages(self._settings.impairments, now=loop.time(), chance=chance)
        while outages.start is not None and outages.end is not None:
            await asyncio.sleep(outages.start - loop.time())
            self._halt(True)
            await asyncio.sleep(outages.end - loop.time())
            self._outages += 1
            if outages.over():
                self._resets += 1
                for connection in list(self._connections):
                    connection.abort()
            self._halt(False)

    def _halt(self, halted: bool) -> None:
        if halted:
            self._moving.clear()
        else:
            self._moving.set()
        self._up.halt(halted)
        self._down.halt(halted)

    def set_rate(self, up: float | None, down: float | None) -> None:
        if up is not None:
            self._up.set_rate(up)
        if down is not None:
            self._down.set_rate(down)

    def rewind(self) -> None:
        """Traces begin anew."""
        self._up.rewind()
        self._down.rewind()

    def statistics(self) -> RelayStatistics:
        up, down = self._up.line.statistics(), self._down.line.statistics()
        late = sorted([*self._up.lateness, *self._down.lateness]) or [0.0]
        return RelayStatistics(
            bytes_up=up.carried,
            bytes_down=down.carried,
            queued_up=up.backlog,
            queued_down=down.backlog,
            peak_queued_up=up.peak_backlog,
            peak_queued_down=down.peak_backlog,
            connections=self._accepted,
            open=len(self._connections),
            lateness=(late[len(late) // 2], late[int(len(late) * 0.99)], late[-1]),
            outages=self._outages,
            resets=self._resets,
        )

    async def close(self) -> None:
        for listener in self._listeners:
            asyncio.get_running_loop().remove_reader(listener)
            listener.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self._connections):
            connection.abort()
        self._up.close()
        self._down.close()
