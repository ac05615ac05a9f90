"""Noise at every port, briefly; bench/scenarios/links/random_bytes.py does it for a minute."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

from tests.end_to_end.pair import Address, all_three, run, until

SECONDS = 3.0
TALKERS = 4
BEGINNINGS = (
    b"", b"GET ", b"CONNECT x:1 HTTP/1.1\r\n", b"\x40\x00\x08\x94\x01\x91\x01\xa1x\xa1y",
    b"POST http://127.0.0.1:1/ HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n",
    b"\x40\x00\x10", b"\x10", b"\xc0\x04\x00",
)  # fmt: skip


async def talk(address: Address, chance: random.Random, end: float) -> int:
    """One stranger after the other until `end`; how many."""
    said = 0
    while asyncio.get_running_loop().time() < end:
        reader, writer = await asyncio.open_connection(*address)
        try:
            writer.write(chance.choice(BEGINNINGS) + chance.randbytes(chance.randrange(5000)))
            async with asyncio.timeout(0.02):
                while await reader.read(65536):
                    pass
        except (TimeoutError, ConnectionError):
            pass
        finally:
            writer.transport.abort()
            with suppress(ConnectionError):
                # A reset that nobody has asked about is told by whatever collects it first.
                await writer.wait_closed()
        said += 1
    return said


def test_random_bytes_at_each_port_come_to_nothing() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/", b"well", "text/plain")
            session = both.session
            end = asyncio.get_running_loop().time() + SECONDS
            said = await asyncio.gather(
                *(
                    talk(address, random.Random(number), end)
                    for number in range(TALKERS)
                    for address in (both.address, ("127.0.0.1", both.remote.port))
                )
            )
            assert sum(said) > 50
            await until(lambda: len(both.remote.sessions) == 1)
            assert both.session is session
            assert (await both.client.get(origin.base + "/")).body == b"well"
            await until(lambda: both.session.statistics().deliveries == 0)
            assert both.session.budget.used == 0
            assert not both.local.asking.uploading

    run(go())
