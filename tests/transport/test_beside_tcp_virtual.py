"""Beside downloads that fill the queue a link has about the share that a TCP would have; alone it
keeps the queue short, as soon as they are over."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator

import pytest

from bench.pairs.udp_pair import steady
from bench.scenarios.links.beside_tcp import SharedLine, pages, shares
from bench.scenarios.links.endless_link import EndlessLink
from emulation.lines.profiles import Profile, profile
from emulation.memory.datagram_path import DatagramPath
from emulation.memory.tcp_beside import TcpBeside
from emulation.memory.virtual_time import run

SECONDS = 40.0


async def beside_an_even_rate(line: Profile, *, theirs: float) -> tuple[float, float]:
    """Part of the line that a link has, and its queue's seconds in the median."""
    link = EndlessLink(line)
    async for _ in link.looks(3.0):
        pass
    other = asyncio.create_task(steady(link.path.down, rate=theirs * line.rate_down))
    before = link.sent
    queues = [link.queue async for _ in link.looks(SECONDS)]
    other.cancel()
    return (link.sent - before) / SECONDS / line.rate_down, statistics.median(queues)


@pytest.mark.parametrize("theirs", [0.4, 0.6, 0.8])
@pytest.mark.parametrize("line", ["384k", "1.6M", "5M", "satellite"])
def test_a_call_does_not_lose_its_short_queue(line: str, theirs: float) -> None:
    """Who sends at a rate of his own takes no more when we leave some: nothing is to be had by a
    long queue, so we make none."""
    shared = profile(line)
    ours, queue = run(beside_an_even_rate(shared, theirs=theirs))
    assert ours >= 0.85 * (1.0 - theirs)
    assert queue <= 0.25 * shared.queue / shared.rate_down  # what a TCP fills


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


@pytest.mark.parametrize("line", ["384k", "1.6M", "5M"])
def test_pages_beside_a_download_that_began_while_nothing_was_sent(line: str) -> None:
    """Whoever took the queue for his own let less and less go, and had a hundredth at last."""
    visits = [run(pages(line, silent=silent)) for silent in (10.0, 20.0, 45.0)]
    assert min(page for visit in visits for page in visit) >= 0.12
    assert statistics.mean(page for visit in visits for page in visit[1:]) >= 0.3


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
