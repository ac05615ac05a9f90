"""Beside downloads that fill the queue a link has about the share that a TCP would have; alone it
keeps the queue short, as soon as they are over."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator

import pytest

from bench.pairs.udp_pair import steady
from bench.scenarios.links.beside_tcp import SharedLine, shares
from bench.scenarios.links.gate import ChunkWatch, EndlessOutbox, Silent
from bench.scenarios.links.gate_virtual import fit
from emulation.lines.profiles import Profile, profile
from emulation.memory.datagram_path import DatagramPath
from emulation.memory.memory_spp import memory_links
from emulation.memory.tcp_beside import TcpBeside
from emulation.memory.virtual_time import run
from transport.stream.stream_link import StreamLink
from transport.udp.connection import DEVICE, REMOTE, congestion, udp_connection

SECONDS = 40.0


async def beside_an_even_rate(line: Profile, *, theirs: float) -> tuple[float, float]:
    """Part of the line that a link has, and its queue's seconds in the median."""
    loop = asyncio.get_running_loop()
    near_spp, far_spp, path = memory_links(
        line, near=DEVICE, far=REMOTE, near_control=congestion(), far_control=congestion()
    )
    near = StreamLink(udp_connection(near_spp, lingers=False))
    far = StreamLink(udp_connection(far_spp, lingers=True))
    outbox = EndlessOutbox(512)
    near.start(Silent(), ChunkWatch())
    far.start(outbox, ChunkWatch())
    await asyncio.sleep(3.0)
    other = asyncio.create_task(steady(path.down, rate=theirs * line.rate_down))
    before, until, queues = far.statistics().sent, loop.time() + SECONDS, []
    while loop.time() < until:
        await asyncio.sleep(0.0101)
        fit(outbox, far.statistics())
        queues.append(path.down.statistics().backlog / line.rate_down)
    other.cancel()
    return (far.statistics().sent - before) / SECONDS / line.rate_down, statistics.median(queues)


@pytest.mark.parametrize("theirs", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("line", ["384k", "1.6M", "5M", "satellite"])
def test_a_call_does_not_lose_its_short_queue(line: str, theirs: float) -> None:
    """Who sends at a rate of his own takes no more when we leave some: nothing is to be had by a
    long queue, so we make none."""
    ours, queue = run(beside_an_even_rate(profile(line), theirs=theirs))
    assert ours >= 0.85 * (1.0 - theirs)
    assert queue <= (0.15 if line in ("384k", "satellite") else 0.1)


def test_the_model_alone_fills_the_line() -> None:
    async def main() -> float:
        line = profile("5M")
        path = DatagramPath(line)
        other = TcpBeside(path.down, delay=line.delay)
        other.start()
        await asyncio.sleep(20.0)
        other.stop()
        return other.delivered / 20.0 / line.rate_down

    assert 0.85 <= run(main()) <= 0.97


@pytest.fixture(scope="module", params=[("5M", 1), ("1.6M", 1), ("5M", 3)], ids=str)
def looked(request: pytest.FixtureRequest) -> Iterator[tuple[int, SharedLine]]:
    line, others = request.param
    yield others, run(shares(line, others=others, seconds=40.0))


def test_a_fair_share_is_had_and_left(looked: tuple[int, SharedLine]) -> None:
    others, found = looked
    fair = 1.0 / (others + 1)
    assert found.ours >= 0.7 * fair
    assert found.theirs >= 0.7 * others * fair


def test_as_soon_as_they_are_over_the_queue_is_short_and_the_line_full(
    looked: tuple[int, SharedLine],
) -> None:
    _, found = looked
    assert found.alone >= 0.9
    assert found.queue <= 0.02
