"""Tests that a link is told of what the kernel's TCP has lost on a line that drops, and repairs."""

from __future__ import annotations

import asyncio

import pytest

from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend
from emulation.worlds.world import emulate
from tests.transport.test_beside_tcp import streams
from transport.link.connection import DeliveryReport
from transport.link.interface import LinkError
from transport.tcp.connection import TcpConnection

BYTES = 1_000_000
"""Many times what the line's queue holds, so it overflows."""


class Bulk:
    """A link with much to send, whatever it is told."""

    searching = False

    def __init__(self, nbytes: int) -> None:
        self.left = nbytes
        self.came = 0
        self.losses: list[tuple[float, float]] = []
        """When each was told of, and when it is said to have been sent."""
        self.all_came = asyncio.Event()

    def next_bytes(self) -> bytes | None:
        size = min(self.left, 1400)
        self.left -= size
        return bytes(size) if size else None

    def next_time(self) -> float | None:
        return None

    def heard(self, data: bytes, *, age: float = 0.0) -> None:
        self.came += len(data)
        if self.came >= BYTES:
            self.all_came.set()

    def delivered(self, news: DeliveryReport) -> None:
        raise AssertionError

    def lost(self, sent_at: float) -> None:
        self.losses.append((asyncio.get_running_loop().time(), sent_at))

    def ended(self, error: LinkError | None) -> None:
        raise AssertionError

    def failed(self, error: Exception) -> None:
        raise AssertionError


def test_the_sender_is_told_of_losses_and_who_only_receives_is_not() -> None:
    async def go() -> tuple[Bulk, Bulk, float]:
        loop = asyncio.get_running_loop()
        async with emulate(profile("5M"), backend="tun") as world:
            near, far = (TcpConnection(one) for one in await streams(world))
            began = loop.time()
            receiver, sender = Bulk(0), Bulk(BYTES)
            far.start(sender)
            near.start(receiver)
            async with asyncio.timeout(60):
                while not receiver.all_came.is_set():
                    await asyncio.sleep(0.02)
                    receiver.left = 10  # a report, at which the sender looks
                    near.wake()
            for one in (near, far):
                one.close()
            return sender, receiver, began

    try:
        sender, receiver, began = asyncio.run(go())
    except NoBackend as error:
        pytest.skip(str(error))
    assert sender.losses
    assert all(began <= sent_at < told_at for told_at, sent_at in sender.losses)
    assert not receiver.losses
