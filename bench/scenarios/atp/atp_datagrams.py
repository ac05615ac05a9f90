"""NAI over SPP, reliable UDP, where UDP is at its worst: 10 % lost, 2 % late, 2 % twice.

Small messages in several queues, in virtual time and over the kernel's UDP between network
namespaces: each arrives once, whole, and in order within its queue, at a goodput that is the same.
Virtual time says what the protocol does; the kernel, whether it also does so on a machine.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.reports.report import Check
from emulation.accuracy.accuracy import altered, link
from emulation.lines.profiles import Profile
from emulation.memory.memory_spp import memory_links
from emulation.memory.secured import paired_twice
from emulation.memory.virtual_time import run as run_virtually
from emulation.worlds.cables import NoBackend, World
from emulation.worlds.world import emulate
from transport.nai.carriers.datagrams import DEVICE, REMOTE, SppSegments, unpaced
from transport.nai.endpoint import NaiConnection
from transport.nai.messages.handles import SubmittedMessage
from transport.spp.edge import udp
from transport.spp.edge.link import SppLink

RATE: Final = 625_000.0
"""Bytes/second of IP."""
MESSAGES: Final = 100_000
QUEUES: Final = {"talk": 2, "news": 1, "files": 0, "": 0}
"""With their messages' priorities."""
_LEAST, _MOST = 16, 240
"""Bytes of a message."""
_AHEAD: Final = 1000
"""Messages queued at a time."""
_WITHIN: Final = 0.1
_GOODBYE: Final = 15.0
"""Seconds for it: longer than an end waits for the last acknowledgements."""


def bad_link() -> Profile:
    """5 Mbit/s, 40 ms of round trip, and what happens to datagrams."""
    return altered(
        link(8 * RATE, delay=0.02, queue=60_000),
        loss=0.1,
        reorder=0.02,
        reorder_delay=0.01,
        duplicate=0.02,
    )


@dataclass(frozen=True, slots=True)
class DatagramsOutcome:
    """What came of the messages."""

    seconds: float
    """Until the last one had arrived."""
    size: int
    """Bytes of all."""
    faults: Counter[str]
    """How many were not as they should be, by what was wrong."""

    @property
    def goodput(self) -> float:
        """Bytes/second of messages."""
        return self.size / self.seconds


def content(number: int) -> bytes:
    """A message that says which it is, and whether it is whole."""
    size = _LEAST + number * 7919 % (_MOST - _LEAST)
    return number.to_bytes(4) + bytes((number % 251,)) * (size - 4)


class ReceiverJudge:
    """Judges what arrives."""

    def __init__(self, count: int) -> None:
        self.all_here = asyncio.Event()
        self.faults: Counter[str] = Counter()
        self._count = count
        self._seen: set[int] = set()
        self._newest = dict.fromkeys(QUEUES, -1)

    async def take(self, connection: NaiConnection) -> None:
        """Until the connection ends."""
        names = list(QUEUES)
        async for message in connection.messages():
            number = int.from_bytes(message.data[:4])
            wrong = {
                "not whole": message.data != content(number),
                "twice": number in self._seen,
                "in another queue": message.queue != names[number % len(names)],
                "out of order": number <= self._newest[message.queue],
            }
            self.faults.update(name for name, is_so in wrong.items() if is_so)
            self._seen.add(number)
            self._newest[message.queue] = number
            if len(self._seen) == self._count:
                self.all_here.set()


async def transfer(near: SppLink, far: SppLink, *, count: int, most: float) -> DatagramsOutcome:
    """So many messages from near to far; `most`: seconds."""
    loop = asyncio.get_running_loop()
    receiver = ReceiverJudge(count)
    names = list(QUEUES)
    began = loop.time()
    sender = NaiConnection(SppSegments(near, lingers=False))
    taker = NaiConnection(SppSegments(far, lingers=True))
    taking = asyncio.create_task(receiver.take(taker))
    ahead: list[SubmittedMessage] = []
    for number in range(count):
        queue = names[number % len(names)]
        ahead.append(sender.submit(content(number), queue=queue, priority=QUEUES[queue]))
        if len(ahead) >= _AHEAD:
            for one in ahead:
                await one.done()
            ahead.clear()
    try:
        async with asyncio.timeout_at(began + most):
            await receiver.all_here.wait()
    except TimeoutError:
        receiver.faults["missing"] += 1
    took = loop.time() - began
    sender.close()
    # The link may have lost the sender's goodbye, which nobody repeats.
    await asyncio.wait((taking,), timeout=_GOODBYE)
    taker.close()
    await taking
    size = sum(len(content(number)) for number in range(count))
    return DatagramsOutcome(took, size, receiver.faults)


def virtual(*, count: int = MESSAGES) -> DatagramsOutcome:
    """In virtual time."""

    async def main() -> DatagramsOutcome:
        near, far, _ = memory_links(
            bad_link(), near=DEVICE, far=REMOTE, near_control=unpaced(), far_control=unpaced()
        )
        return await transfer(near, far, count=count, most=3600.0)

    return run_virtually(main())


async def real(*, count: int = MESSAGES) -> DatagramsOutcome:
    """Over the kernel's UDP. Raises NoBackend."""
    async with emulate(bad_link(), backend="tun") as world:
        return await _over(world, count=count)


async def _over(world: World, *, count: int) -> DatagramsOutcome:
    keys = paired_twice()[1]
    accepted: asyncio.Future[SppLink] = asyncio.get_running_loop().create_future()
    own = world.far.new_socket(socket.SOCK_DGRAM)
    async with await udp.listen(
        world.far.address,
        0,
        accepted.set_result,
        keys=keys.server,
        settings=REMOTE,
        congestion=unpaced,
        own=own,
    ) as listener:
        near = await udp.connect(
            *listener.address,
            keys=keys.client,
            settings=DEVICE,
            congestion=unpaced(),
            own=world.near.new_socket(socket.SOCK_DGRAM),
        )
        return await transfer(near, await accepted, count=count, most=120.0)


async def run(*, scale: float = 1.0, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Both worlds. `scale`: of 100,000 messages."""
    count = max(100, round(MESSAGES * scale))
    found = {"virtual time": await asyncio.to_thread(virtual, count=count)}
    notes = []
    try:
        found["kernel UDP"] = await real(count=count)
    except NoBackend as error:
        notes.append(f"kernel UDP is not measured here: {error}")
        say(notes[-1])
    rows = []
    for name, one in found.items():
        row = {
            "world": name,
            "messages": count,
            "seconds": round(one.seconds, 3),
            "goodput": round(one.goodput / RATE, 4),
            "wrong": dict(one.faults),
        }
        rows.append(row)
        say("  ".join(f"{key} {value}" for key, value in row.items()))
    return {"runs": rows, "checks": _checks(found), "notes": notes}


def _checks(found: dict[str, DatagramsOutcome]) -> dict[str, Check]:
    checks = {}
    for name, one in found.items():
        title = f"{name}: messages missing, twice, not whole, or out of their queue's order"
        checks[title] = Check(one.faults.total(), "messages", "0", not one.faults)
    if len(found) > 1:
        ratio = found["kernel UDP"].goodput / found["virtual time"].goodput
        checks["goodput, kernel UDP to virtual time"] = Check(
            round(ratio, 3), "times", "0.9 to 1.1", abs(ratio - 1) <= _WITHIN
        )
    return checks
