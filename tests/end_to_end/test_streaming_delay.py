"""Bytes that are not adapted stream through: how late each is, in virtual time.

An event is late by the link's own delay and by the time that its bytes take on it. What the proxies
may add is less than the time of one quantum, and a few while something else fills the link.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bench.pairs.pair import Pair, memory_pair
from emulation.memory import virtual_time
from emulation.memory.memory import LinkModel
from local_proxy.http.model import Request, Response
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import ForwardedRequest, Origin, OriginResponse
from transcoders.make.registry import Transcoders

EVERY = 0.5
"""Seconds between two events."""
EVENTS = 20
SLOW = LinkModel(rate_up=7_000, rate_down=48_000, delay=0.04)
THIN = LinkModel(rate_up=2_000, rate_down=4_000, delay=0.3)


class Dripping(Origin):
    """Says at which time it has said each event; of anything else it has a flood."""

    def __init__(self, content_type: str) -> None:
        super().__init__()
        self._content_type = content_type
        self.said: list[float] = []

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        drips = forwarded.request.url.endswith("/events")
        body = self._events() if drips else _flood()
        kind = self._content_type if drips else "application/zip"
        return OriginResponse(200, "OK", [("content-type", kind)], body, None, lambda: None)

    async def _events(self) -> AsyncIterator[bytes]:
        for number in range(EVENTS):
            await asyncio.sleep(EVERY)
            self.said.append(asyncio.get_running_loop().time())
            yield b"data: %06d\n\n" % number


async def _flood() -> AsyncIterator[bytes]:
    while True:
        yield bytes(1000)
        await asyncio.sleep(0)


async def heard(pair: Pair) -> list[float]:
    """When each event had come in full."""
    accept = ("accept", "text/event-stream")
    response = await pair.local.core.handle(Request("GET", "http://o.test/events", [accept]))
    assert not isinstance(response.body, bytes)
    body, times = b"", []
    async for chunk in response.body:
        body += chunk
        times += [asyncio.get_running_loop().time()] * (body.count(b"\n\n") - len(times))
    return times


async def drain(response: Response) -> None:
    assert not isinstance(response.body, bytes)
    async for _ in response.body:
        pass


def measured(content_type: str, model: LinkModel, *, busy: bool, later: float = 0.0) -> list[float]:
    """What the pair adds to the link's own delay, in quanta, the first event first; `later`: begun
    by so many seconds."""

    async def go() -> tuple[list[float], list[float], int]:
        origin = Dripping(content_type)
        services = Services(origin, Transcoders(workers=1, jpegtran=None))
        async with origin, memory_pair(model, services, []) as pair:
            flood = None
            if busy:
                url = "http://o.test/flood"
                response = await pair.local.core.handle(Request("GET", url, []))
                flood = asyncio.ensure_future(drain(response))
                await asyncio.sleep(5 + later)
            times = await heard(pair)
            quantum = pair.remote.tree.multiplexer.quantum
            if flood is not None:
                flood.cancel()
                await asyncio.gather(flood, return_exceptions=True)
            return origin.said, times, quantum

    said, times, quantum = virtual_time.run(go())
    assert len(times) == EVENTS
    size = 16  # bytes of an event
    own = model.delay + size / model.rate_down
    step = quantum / model.rate_down
    return [(there - here - own) / step for here, there in zip(said, times, strict=True)]


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/octet-stream"])
@pytest.mark.parametrize("model", [SLOW, THIN], ids=["slow", "thin"])
def test_an_event_is_not_held_back(content_type: str, model: LinkModel) -> None:
    """It is on the link at once: far below a quantum's time, whose rest is never waited for."""
    assert max(measured(content_type, model, busy=False)) < 0.1


@pytest.mark.parametrize("content_type", ["text/event-stream", "application/octet-stream"])
@pytest.mark.parametrize("model", [SLOW, THIN], ids=["slow", "thin"])
def test_behind_a_flood_an_event_waits_for_what_is_under_way(
    content_type: str, model: LinkModel
) -> None:
    """It waits for the other's quantum and the gate's margin: no queue of the flood's, however
    much of it waits: 2 to 5 quanta of 10 ms, or of 96 ms where the least quantum takes as long."""
    late = measured(content_type, model, busy=True)
    assert sorted(late)[EVENTS // 2] < 3.5
    assert max(late) < 5.5


def test_the_gate_takes_no_reports_that_are_spared_for_jitter() -> None:
    """Reports that a thin way back lets go every 20 ms made the queue look as if it swung by
    itself, and the gate let ever more go for it: over these starts the longest waits had a mean of
    5.1 quanta."""
    starts = [0.037 * step for step in range(12)]
    late = [measured("text/event-stream", SLOW, busy=True, later=start) for start in starts]
    assert sum(max(one) for one in late) / len(late) < 4.5
