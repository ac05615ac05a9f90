"""Tests of what carries a tunnel's bytes, of the threads for slow work, and of the time of day."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime

import pytest

from emulation.memory.virtual_time import run as run_virtually
from local_proxy.http.pump import pump
from local_proxy.kept.threads import DOCUMENTS, STORE, Threads
from local_proxy.kept.wall_clock import wall_clock
from tests.local_proxy.ends import turns
from tests.local_proxy.memory_client import MemoryClient
from tests.local_proxy.small_core import Echo
from tests.watched import run


def test_bytes_go_both_ways_the_early_ones_first() -> None:
    async def main() -> None:
        client, far = MemoryClient(b"-late"), Echo(goodbye=b"-bye")
        pumping = asyncio.ensure_future(pump(client, far, b"early", idle_time=5.0))
        await asyncio.sleep(0.1)
        assert bytes(client.written) == b"early-late"
        assert not client.half_closed
        client.leave()
        await pumping
        assert bytes(client.written) == b"early-late-bye"
        assert (client.half_closed, client.aborted) == (True, False)

    run_virtually(main())


def test_while_both_ends_are_open_silence_has_no_limit() -> None:
    async def main() -> None:
        pumping = asyncio.ensure_future(pump(MemoryClient(), Echo(), b"", idle_time=1.0))
        await asyncio.sleep(1000.0)
        assert not pumping.done()
        pumping.cancel()
        await asyncio.gather(pumping, return_exceptions=True)

    run_virtually(main())


def test_a_half_closed_tunnel_ends_once_nothing_has_come_for_long() -> None:
    class Silent(Echo):
        async def end(self) -> None:
            pass

    async def main() -> None:
        client, far = MemoryClient(ended=True), Silent()
        began = asyncio.get_running_loop().time()
        pumping = asyncio.ensure_future(pump(client, far, b"", idle_time=2.0))
        await asyncio.sleep(1.5)
        await far.write(b"more")
        await pumping
        assert asyncio.get_running_loop().time() - began == 3.5
        assert (bytes(client.written), client.half_closed) == (b"more", False)

    run_virtually(main())


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), OSError("broken")])
def test_a_far_end_that_breaks_resets_the_client(error: Exception) -> None:
    class Breaking(Echo):
        async def read(self) -> bytes:
            raise error

    async def main() -> None:
        client = MemoryClient()
        await pump(client, Breaking(), b"", idle_time=5.0)
        assert client.aborted
        assert not client.half_closed

    run_virtually(main())


def test_a_client_that_is_gone_is_not_taken_for_one_that_has_said_all() -> None:
    async def main() -> None:
        client, far = MemoryClient(ended=True), Echo()
        client.lost = True
        await pump(client, far, b"", idle_time=5.0)
        assert client.aborted
        assert far.queue.empty()  # the server was not told of an end

    run_virtually(main())


def test_slow_work_of_one_sort_holds_up_no_other() -> None:
    async def main() -> None:
        through = threading.Event()
        slow = asyncio.ensure_future(STORE.run(through.wait, 10.0))
        try:
            assert await asyncio.wait_for(DOCUMENTS.run(sum, [1, 2]), 60) == 3
            behind = asyncio.ensure_future(STORE.run(threading.get_ident))
            await turns()
            assert not behind.done()
        finally:
            through.set()
        assert await slow
        assert await behind != threading.get_ident()

    run(main())


def test_work_returns_or_raises_to_who_asked_and_knows_its_name() -> None:
    async def main() -> None:
        threads = Threads("test", count=1)
        assert await threads.run(int, "ff", base=16) == 255
        with pytest.raises(ValueError, match="invalid literal"):
            await threads.run(int, "x")
        assert (await threads.run(threading.current_thread)).name.startswith("test")

    run(main())


def test_the_time_of_day_is_the_clocks() -> None:
    before = datetime.now(UTC).timestamp()
    told = wall_clock()
    assert before <= told <= datetime.now(UTC).timestamp()
