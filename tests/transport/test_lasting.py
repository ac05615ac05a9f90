"""A silent connection and its rival, over real TCP: whichever comes second is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from emulation.relay.breaking_way import BreakingWay
from tests.end_to_end.pair import until
from tests.transport.ends import Arrivals, Queue
from transport.link.interface import LinkError
from transport.stream import dialling_end
from transport.stream.accepting_end import Reception
from transport.stream.dialling_end import LastingLink
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from transport.tcp.handshakes import dial_secured
from wire.frames import Data

TOKEN = bytes(range(16))
FRAMES = [Data(1, bytes([number]) * 100, number == 9) for number in range(10)]


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is noticed within moments: nothing here waits for real links."""
    monkeypatch.setattr(dialling_end, "SILENCE", 0.3)
    monkeypatch.setattr(dialling_end, "LOOK", 0.01)


@dataclass
class Ends:
    """A lasting link from `near` to `far` over a way that can fall silent."""

    way: BreakingWay
    lasting: LastingLink
    queue: Queue
    far: StreamLink
    at_far: Arrivals
    queue_at_far: Queue
    told: list[LinkError | None]
    reception: Reception

    @property
    def near(self) -> StreamLink:
        return self.lasting.link

    def send(self, frames: list[Data]) -> None:
        self.queue.frames += frames
        self.near.wake()


Dial = Callable[[], Awaitable[TcpConnection]]


@asynccontextmanager
async def ends(
    rival: Callable[[Dial], Awaitable[TcpConnection]],
    *,
    expecting: Callable[[], bool] = lambda: False,
) -> AsyncIterator[Ends]:
    """The first connection goes over the way; `rival` makes all later ones, or lets them wait."""
    accepted: list[StreamLink] = []
    at_far, queue_at_far = Arrivals(), Queue()
    told, dials = list[LinkError | None](), 0

    def arrived(link: StreamLink) -> None:
        accepted.append(link)
        link.start(queue_at_far, at_far)

    reception = Reception(arrived, patience=5.0, congestion=None, new_token=lambda: TOKEN)
    async with (
        await reception.listen("127.0.0.1", 0) as listener,
        BreakingWay(listener.address, rate=1e7) as way,
    ):

        async def over(address: tuple[str, int]) -> TcpConnection:
            return await dial_secured(*address, security=None)

        async def dial() -> TcpConnection:
            nonlocal dials
            dials += 1
            if dials == 1:
                return await over(way.address)
            return await rival(lambda: over(listener.address))

        link = LastingLink(
            dial, congestion=None, patience=5.0, on_change=told.append, expecting=expecting
        )
        near, queue = await link.open(), Queue()
        near.start(queue, Arrivals())
        try:
            yield Ends(way, link, queue, accepted[0], at_far, queue_at_far, told, reception)
        finally:
            near.close()
            reception.close()


async def never() -> TcpConnection:
    """As a dial from an address that is gone."""
    await asyncio.Event().wait()
    raise AssertionError


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await main()

    asyncio.run(limited())


def test_a_rival_that_comes_second_is_dropped() -> None:
    async def go() -> None:
        dialled, may_answer = asyncio.Event(), asyncio.Event()
        rivals: list[TcpConnection] = []

        async def late(dial: Dial) -> TcpConnection:
            dialled.set()
            await may_answer.wait()
            rivals.append(await dial())
            return rivals[-1]

        async with ends(late) as both:
            both.send(FRAMES[:3])
            await both.at_far.count(3)
            both.way.hush(True)
            both.send(FRAMES[3:6])
            await dialled.wait()
            assert both.near.silent() > 0.3
            both.way.hush(False)  # a late retry gets through while the rival shakes hands
            await both.at_far.count(6)
            await until(lambda: not both.near.silent())
            may_answer.set()
            await until(lambda: bool(rivals) and rivals[0].socket.fileno() == -1)
            assert both.near.statistics().replayed == 0
            assert both.told == []  # the session saw nothing, not even a pause
            assert both.near.connected
            both.send(FRAMES[6:])
            await both.at_far.count(10)
            assert both.at_far.frames == FRAMES

    run(go)


def test_a_silent_connection_that_comes_second_is_dropped() -> None:
    async def go() -> None:
        dialled = asyncio.Event()

        async def prompt(dial: Dial) -> TcpConnection:
            dialled.set()
            return await dial()

        async with ends(prompt) as both:
            both.send(FRAMES[:3])
            await both.at_far.count(3)
            both.way.hush(True)
            both.send(FRAMES[3:6])
            await dialled.wait()
            await both.at_far.count(6)
            assert both.told == [None]
            facts = both.near.statistics().facts
            assert facts is not None
            assert facts.connection == 2  # the second one of this link
            assert facts.rtt > 0
            both.way.hush(False)  # now the first one's bytes would come, once more
            both.send(FRAMES[6:])
            await both.at_far.count(10)
            assert both.at_far.frames == FRAMES
            assert both.at_far.closed == []
            assert both.near.statistics().replayed > 0

    run(go)


def test_an_attempt_under_way_when_an_address_is_lost_begins_again() -> None:
    async def go() -> None:
        attempts = 0
        first = asyncio.Event()

        async def attempt(dial: Dial) -> TcpConnection:
            nonlocal attempts
            attempts += 1
            first.set()
            return await (never() if attempts == 1 else dial())

        async with ends(attempt) as both:
            both.send(FRAMES[:3])
            await both.at_far.count(3)
            both.near.lose(LinkError("cut"))
            await first.wait()
            both.lasting.network_changed("")  # something came up: no reason to give up
            await asyncio.sleep(0)
            assert attempts == 1
            both.lasting.network_changed("10.0.0.1")
            both.lasting.network_changed("10.0.0.2")  # two of one interface, in the same moment
            both.send(FRAMES[3:])
            await both.at_far.count(10)
            assert both.at_far.frames == FRAMES
            assert attempts == 2

    run(go)


def test_packets_of_all_its_connections_count_with_their_headers() -> None:
    async def go() -> None:
        async with ends(lambda dial: dial()) as both:
            both.send(FRAMES[:3])
            await both.at_far.count(3)
            first = both.near.statistics()
            assert first.crossed > first.sent + first.received + 3 * 52
            both.near.lose(LinkError("cut"))
            between = both.near.statistics().crossed
            assert between >= first.crossed
            both.send(FRAMES[3:])
            await both.at_far.count(10)
            second = both.near.statistics()
            assert second.crossed > between + 7 * 100
            both.near.close()
            assert both.near.statistics().crossed >= second.crossed

    run(go)


def test_the_first_attempt_too_is_given_up_when_an_address_is_lost() -> None:
    async def go() -> None:
        link = LastingLink(never, congestion=None, patience=5.0, on_change=lambda _: None)
        opening = asyncio.ensure_future(link.open())
        await asyncio.sleep(0)
        link.network_changed("10.0.0.1")
        with pytest.raises(LinkError, match="network changed"):
            await opening

    run(go)


@pytest.mark.parametrize(("wanted", "granted"), [(0.0, 60.0), (600.0, 660.0), (1e9, 3600.0)])
def test_a_peer_s_patience_is_exceeded_within_bounds(wanted: float, granted: float) -> None:
    async def go() -> None:
        async with ends(lambda dial: never()) as both:
            loop = asyncio.get_running_loop()
            assert both.reception.given_up_at(both.far) is None
            both.reception.expect(both.far, wanted)
            before = loop.time()
            both.far.lose(LinkError("cut"))
            given_up = both.reception.given_up_at(both.far)
            assert given_up is not None
            assert before + granted <= given_up <= loop.time() + granted

    run(go)


def test_who_only_receives_is_not_roused_by_everything_that_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0

    def expecting() -> bool:
        nonlocal looks
        looks += 1
        return False

    monkeypatch.setattr(dialling_end, "LOOK", 0.5)

    async def go() -> None:
        async with ends(lambda _: never(), expecting=expecting) as pair:
            loop = asyncio.get_running_loop()
            began = loop.time()
            for number in range(50):
                pair.queue_at_far.frames.append(Data(1, b"x", number == 49))
                pair.far.wake()
                await asyncio.sleep(0.01)
            assert 1 <= looks <= 2 + 2 * (loop.time() - began) / 0.5

    run(go)
