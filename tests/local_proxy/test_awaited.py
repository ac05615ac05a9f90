"""A far end is heard before anybody reads it, and nothing of it is lost."""

from __future__ import annotations

import asyncio

from local_proxy.front.tls.awaited import Awaited


class Pieces:
    """A far end that says pieces, and says when it is closed in the middle of a read."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)
        self.written: list[bytes] = []
        self.reads = 0
        self.closed = False

    async def read(self) -> bytes:
        self.reads += 1
        try:
            if not self._pieces:
                await asyncio.Event().wait()
            return self._pieces.pop(0)
        finally:
            self.reads -= 1

    async def write(self, data: bytes) -> None:
        self.written.append(data)

    async def end(self) -> None:
        self.written.append(b"")

    async def close(self) -> None:
        assert not self.reads
        self.closed = True


def test_what_was_awaited_is_read_first_and_once() -> None:
    async def go() -> None:
        far = Awaited(Pieces(b"one", b"two"))
        assert await far.first == b"one"
        assert [await far.read(), await far.read()] == [b"one", b"two"]

    asyncio.run(go())


def test_who_reads_waits_for_it_as_well() -> None:
    async def go() -> None:
        far = Awaited(Pieces(b"one"))
        assert not far.first.done()
        assert await far.read() == b"one"

    asyncio.run(go())


def test_what_is_said_to_it_goes_on() -> None:
    async def go() -> None:
        far = Awaited(pieces := Pieces())
        await far.write(b"hello")
        await far.end()
        assert pieces.written == [b"hello", b""]
        await far.close()

    asyncio.run(go())


def test_when_it_is_closed_nobody_reads_it_any_more() -> None:
    async def go() -> None:
        far = Awaited(pieces := Pieces())
        await asyncio.sleep(0)
        assert pieces.reads == 1
        await far.close()
        assert pieces.closed

    asyncio.run(go())
