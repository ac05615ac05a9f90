"""Runs the observer's daemon with a log of when samples came and what they cost.

    python -m bench.scenarios.monitor.watched_daemon

Prints `listening on HOST:PORT`, and answers each line on its standard input with one of JSON: when
samples came since the last one, how many, and what handling their datagrams cost. Logging is part
of what is timed, as in the paper (section 3.2). Whoever started it reads its processor time from
/proc, which disturbs nothing. Knows no sensors.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from monitor.observer.observer import BandwidthObserver
from monitor.observer.service import ObserverService
from monitor.samples import Samples
from observation.daemon import serving


@dataclass
class ArrivalLog:
    """Remembers when batches came, and of which connections."""

    batches: list[tuple[float, list[int]]] = field(default_factory=list)

    def note(self, samples: Samples, now: float) -> None:
        """These came now, seconds."""
        self.batches.append((now, [sample[0] for sample in samples]))

    def counts(self) -> list[tuple[float, int]]:
        """When each batch came, and its samples."""
        return [(at, len(names)) for at, names in self.batches]

    def gaps(self) -> list[float]:
        """Seconds between successive samples of a connection, of all."""
        last: dict[int, float] = {}
        found = []
        for at, names in self.batches:
            for name in names:
                if name in last:
                    found.append(round(at - last[name], 6))
                last[name] = at
        return found


class LoggingObserver(BandwidthObserver):
    """Logs what it is told."""

    def __init__(self, log: ArrivalLog) -> None:
        super().__init__()
        self._log = log

    def update(self, *words: Any, now: float, **more: Any) -> int:
        taken = super().update(*words, now=now, **more)
        if taken:
            self._log.note(words[1], now)
        return taken


class TimedService(ObserverService):
    """Takes the processor time of each datagram."""

    def __init__(self, log: ArrivalLog) -> None:
        super().__init__(LoggingObserver(log))
        self.log = log
        self.spent = 0.0
        """Seconds."""

    def handle(self, data: bytes, address: Any, *, now: float) -> bytes | None:
        begin = time.thread_time()
        answer = super().handle(data, address, now=now)
        self.spent += time.thread_time() - begin
        return answer


async def main() -> None:
    """Serve until standard input ends."""
    loop, log = asyncio.get_running_loop(), ArrivalLog()
    service = TimedService(log)
    async with serving("127.0.0.1", 0, service) as daemon:
        print(f"listening on {daemon.address}", flush=True)
        while await loop.run_in_executor(None, sys.stdin.readline):
            said = {"spent": service.spent, "counts": log.counts(), "gaps": log.gaps()}
            service.spent = 0.0
            log.batches.clear()
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
