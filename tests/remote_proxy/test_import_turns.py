"""A page that is read for its parts leaves the event loop to others every few kilobytes."""

from __future__ import annotations

import asyncio

from remote_proxy.import_drivers.found import Found
from remote_proxy.jobs.delivery import PIECE
from remote_proxy.promises.document_import import LONGEST, READ, Importer, import_parts


class Reading:
    """An import driver that notes what it gets, and how often others had their turn before."""

    def __init__(self) -> None:
        self.turns = 0
        self.fed: list[tuple[bytes, int]] = []

    def feed(self, data: bytes) -> list[Found]:
        self.fed.append((data, self.turns))
        return []

    def close(self) -> list[Found]:
        return []


def test_others_have_their_turn_between_small_pieces() -> None:
    async def go() -> Reading:
        reading = Reading()

        async def others() -> None:
            while True:
                reading.turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        await import_parts(Importer(reading, lambda _: None), bytes(PIECE))
        beside.cancel()
        return reading

    reading = asyncio.run(go())
    assert b"".join(data for data, _ in reading.fed) == bytes(PIECE)
    assert max(len(data) for data, _ in reading.fed) == READ
    turns = [turns for _, turns in reading.fed]
    assert turns == sorted(set(turns))


def test_a_text_that_takes_long_is_read_no_further_and_fetches_nothing_at_its_end() -> None:
    class Slow(Reading):
        closed = False

        def feed(self, data: bytes) -> list[Found]:
            nonlocal spent
            spent += LONGEST / 10
            return super().feed(data)

        def close(self) -> list[Found]:
            self.closed = True
            return []

    spent, slow = 0.0, Slow()
    importer = Importer(slow, lambda _: None, clock=lambda: spent)
    asyncio.run(import_parts(importer, bytes(100 * READ)))
    importer.close()
    assert len(slow.fed) in (10, 11)
    assert not slow.closed
