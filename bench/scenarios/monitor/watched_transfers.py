"""Transfers over loopback TCP at the paper's 100 Mbit/s in all, watched by one kind of sensor.

    python -m bench.scenarios.monitor.watched_transfers \\
        ROLE KIND COUNT INTERVAL OBSERVER SECONDS [PEER]

ROLE `send` listens, prints `listening on HOST:PORT`, and sends on COUNT connections, each paced by
the kernel; `receive` connects to PEER and takes what comes. Both print `started` when all are
connected. The side to which KIND belongs carries its sensors. OBSERVER is HOST:PORT of a daemon, or
`here`. At its end it prints a line of JSON: what
collecting cost, in processor time; with an observer here also what the observer did.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from bench.scenarios.monitor.watched_daemon import ArrivalLog, LoggingObserver
from monitor.samples import Samples, SensorKind
from observation.reporter import (
    InProcessReporter,
    MonitoredConnection,
    Reporter,
    UdpReporter,
)
from observation.transport_sensor import TransportMonitor
from observation.wrappers import MonitoredSocket

RATE: Final = 12_500_000
"""Bytes/second of all connections together: the paper's Ethernet of 100 Mbit/s."""
BLOCK: Final = 16_384
"""Bytes of one send."""
SEGMENT: Final = 1448
"""Bytes: Ethernet's. Loopback's own of 64 KB would come as rarely as samples."""
_SO_MAX_PACING_RATE: Final = 47
"""Linux; TCP paces itself where no queueing discipline does."""


class TimedReporter:
    """Takes the processor time of what it passes on, unless somebody else does.

    A look at that clock takes microseconds, where caches are cold.
    """

    def __init__(self, reporter: Reporter, *, timed: bool) -> None:
        self._reporter = reporter
        self._timed = timed
        self.spent = 0.0
        self.samples = 0

    def register(self, connection: MonitoredConnection, sensor: SensorKind) -> None:
        self._reporter.register(connection, sensor)

    def unregister(self, connection: int, sensor: SensorKind) -> None:
        self._reporter.unregister(connection, sensor)

    def update(self, sensor: SensorKind, samples: Samples, *, at: float) -> None:
        self.samples += len(samples)
        if not self._timed:
            self._reporter.update(sensor, samples, at=at)
            return
        begin = time.thread_time()
        self._reporter.update(sensor, samples, at=at)
        self.spent += time.thread_time() - begin


class TimedMonitor(TransportMonitor):
    """Takes the processor time of its rounds, timer and reading included."""

    spent = 0.0

    def _round(self) -> None:
        begin = time.thread_time()
        super()._round()
        self.spent += time.thread_time() - begin


class TransferSide:
    """One side's connections, its sensors, and what they report to."""

    def __init__(self, kind: SensorKind, interval: float, observer: str) -> None:
        self.kind, self.interval = kind, interval
        self.loop = asyncio.get_running_loop()
        self.log = ArrivalLog()
        reporter: Reporter
        if observer == "here":
            reporter = InProcessReporter(LoggingObserver(self.log), self.loop.time)
        else:
            host, _, port = observer.rpartition(":")
            reporter = UdpReporter(host, int(port))
        timed = observer == "here" or kind is not SensorKind.TRANSPORT
        self.reporter = TimedReporter(reporter, timed=timed)
        self._inner = reporter
        self.monitor: TimedMonitor | None = None
        if kind is SensorKind.TRANSPORT:
            self.monitor = TimedMonitor(self.reporter, interval=interval)

    def watch(self, one: socket.socket, number: int) -> socket.socket | MonitoredSocket:
        """The socket to use from now on."""
        named = MonitoredConnection(number, "sender", "receiver")
        if self.monitor is None:
            return MonitoredSocket(
                one, named, self.reporter, sensor=self.kind, interval=self.interval
            )
        self.monitor.watch(one, named)
        return one

    def close(self) -> None:
        """The observer hears that all connections have ended, so that their names are free."""
        if self.monitor is not None:
            self.monitor.close()
        if isinstance(self._inner, UdpReporter):
            self._inner.close()

    def costs(self) -> dict[str, Any]:
        """What collecting cost so far: seconds, samples."""
        spent = self.monitor.spent if self.monitor is not None else self.reporter.spent
        return {
            "spent": spent,
            "reported": self.reporter.spent,
            "samples": self.reporter.samples,
            "gaps": self.log.gaps(),
        }


async def send(side: TransferSide, *, count: int, seconds: float, watches: bool) -> None:
    """Listen, then send on so many connections for so long."""
    with socket.create_server(("127.0.0.1", 0), backlog=count) as listener:
        listener.setblocking(False)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        print("listening on {}:{}".format(*listener.getsockname()), flush=True)
        sockets = [(await side.loop.sock_accept(listener))[0] for _ in range(count)]
    block = bytes(BLOCK)
    for number, one in enumerate(sockets):
        one.setblocking(False)
        one.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, RATE // count)
        used = side.watch(one, number) if watches else one
        side.loop.add_writer(one, _push, used, block)
    print("started", flush=True)
    await asyncio.sleep(seconds)
    for one in sockets:
        side.loop.remove_writer(one)
    told = side.costs()
    for one in sockets:
        one.close()
    print(json.dumps(told), flush=True)


def _push(used: socket.socket | MonitoredSocket, block: bytes) -> None:
    try:
        used.send(block)
    except BlockingIOError:
        return
    except OSError:
        asyncio.get_running_loop().remove_writer(used.fileno())


async def receive(side: TransferSide, *, count: int, peer: str, watches: bool) -> None:
    """Connect so many times, and take what comes until all have ended."""
    host, _, port = peer.rpartition(":")
    left = count
    over = asyncio.Event()

    def taker(one: socket.socket, used: socket.socket | MonitoredSocket) -> Callable[[], None]:
        def take() -> None:
            nonlocal left
            try:
                if used.recv(BLOCK):
                    return
            except BlockingIOError:
                return
            except OSError:
                pass
            side.loop.remove_reader(one)
            left -= 1
            if not left:
                over.set()

        return take

    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    for number, one in enumerate(sockets):
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT)
        one.connect((host, int(port)))
        one.setblocking(False)
        used = side.watch(one, number) if watches else one
        side.loop.add_reader(one, taker(one, used))
    print("started", flush=True)
    await over.wait()
    for one in sockets:
        one.close()
    print(json.dumps(side.costs()), flush=True)


async def main(role: str, name: str, count: int, interval: float, where: str, *more: str) -> None:
    """Play one side of one experiment."""
    kind = SensorKind[name]
    side = TransferSide(kind, interval, where)
    watches = (role == "receive") is (kind is SensorKind.APP_RCV)
    if not watches and side.monitor is not None:
        side.monitor.close()
    if role == "send":
        await send(side, count=count, seconds=float(more[0]), watches=watches)
    else:
        await receive(side, count=count, peer=more[1], watches=watches)
    side.close()


if __name__ == "__main__":
    role, name, count, interval, where, *rest = sys.argv[1:]
    asyncio.run(main(role, name, int(count), float(interval), where, *rest))
