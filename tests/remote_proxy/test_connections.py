"""Who gets a connection when, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from emulation.memory import virtual_time
from remote_proxy.reach.connections import STAYS, UNANSWERED, Connections, Server, Turn
from remote_proxy.reach.failures import Failure, OriginError

SITE: Server = ("http", "site.example", 80)
OTHER: Server = ("https", "other.example", 443)
PATIENCE = 60.0


def run(
    work: Callable[[Connections], Awaitable[None]],
    *,
    per_server: int = 2,
    total: int = 4,
    patience: float = PATIENCE,
) -> None:
    async def whole() -> None:
        connections = Connections(per_server=per_server, total=total, patience=patience)
        await work(connections)

    virtual_time.run(whole())


def now() -> float:
    return asyncio.get_running_loop().time()


async def stopped(task: asyncio.Task[Turn]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_who_waits_goes_in_order_and_another_server_at_once() -> None:
    async def go(connections: Connections) -> None:
        turns = [await connections.turn(SITE) for _ in range(2)]
        waits = [asyncio.ensure_future(connections.turn(SITE)) for _ in range(2)]
        (await connections.turn(OTHER)).leave()
        assert now() == 0 and not any(task.done() for task in waits)
        turns[1].leave()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [task.done() for task in waits] == [True, False]
        turns[0].leave()
        turns[0].leave()  # once is enough
        late = asyncio.ensure_future(connections.turn(SITE))
        (await waits[1]).leave()
        (await late).leave()
        (await waits[0]).leave()
        assert now() == 0 and connections.idle

    run(go)


def test_streams_count_no_more_once_they_have_begun() -> None:
    async def go(connections: Connections) -> None:
        streams = []
        for _ in range(9):
            turn = await connections.turn(SITE)
            turn.answered(stays=True)
            streams.append(turn)
        assert now() == 0
        for turn in streams:
            turn.leave()
        assert connections.idle

    run(go, total=0)


def test_an_answer_that_goes_on_for_long_counts_no_more() -> None:
    async def go(connections: Connections) -> None:
        for _ in range(2):
            (await connections.turn(SITE)).answered(stays=False)
        await connections.turn(SITE)
        assert now() == STAYS

    run(go)


def test_a_request_without_an_answer_counts_no_more_after_a_while() -> None:
    async def go(connections: Connections) -> None:
        for _ in range(2):
            await connections.turn(SITE)
        await connections.turn(SITE)
        assert now() == UNANSWERED

    run(go)


def test_in_all_everything_counts_and_who_waits_in_vain_is_told_for_what() -> None:
    async def go(connections: Connections) -> None:
        streams = [await connections.turn(("http", f"{number}", 80)) for number in range(4)]
        for turn in streams:
            turn.answered(stays=True)
        with pytest.raises(OriginError) as raised:
            await connections.turn(SITE)
        assert now() == PATIENCE
        assert raised.value.kind is Failure.BUSY and raised.value.status == 503
        assert str(raised.value) == (
            "this device has 4 connections open, which is its limit (remote.max_connections), and "
            "site.example would need one more. None has ended for 1 min; it may ask again when one "
            "has."
        )
        streams[0].leave()
        await connections.turn(SITE)
        assert now() == PATIENCE

    run(go)


def test_nobody_is_told_to_go_while_others_of_its_line_have_their_turns() -> None:
    async def go(connections: Connections) -> None:
        waits = [asyncio.ensure_future(connections.turn(SITE)) for _ in range(30)]
        for task in waits:
            (await task).answered(stays=False)
            await asyncio.sleep(STAYS)
        assert now() > 2 * PATIENCE

    run(go, per_server=1, total=0)


def test_a_line_that_does_not_move_says_for_which_server() -> None:
    async def go(connections: Connections) -> None:
        await connections.turn(SITE)
        with pytest.raises(OriginError, match=r"^1 of this device's requests to site\.example are"):
            await connections.turn(SITE)
        assert now() == UNANSWERED / 2

    run(go, per_server=1, patience=UNANSWERED / 2)


def test_who_leaves_the_line_takes_no_turn() -> None:
    async def go(connections: Connections) -> None:
        turns = [await connections.turn(SITE) for _ in range(2)]
        leaves = asyncio.ensure_future(connections.turn(SITE))
        stays = asyncio.ensure_future(connections.turn(SITE))
        await asyncio.sleep(0)
        await stopped(leaves)
        turns[0].leave()
        third = await stays
        late = asyncio.ensure_future(connections.turn(SITE))
        await asyncio.sleep(0)
        third.leave()  # it is given the turn, and leaves at the same moment
        await stopped(late)
        turns[1].leave()
        assert connections.idle

    run(go)


def test_who_looks_a_name_up_holds_nobody_up() -> None:
    """Found by a page of 256 dead names: it held all connections of its device for seconds."""

    async def look_up(turn: Turn, seconds: float) -> str:
        async def work() -> str:
            await asyncio.sleep(seconds)
            return "found"

        return await turn.behind(work())

    async def go(connections: Connections) -> None:
        dead = [await connections.turn(("http", f"dead{n}.example", 80)) for n in range(4)]
        lookups = [asyncio.ensure_future(look_up(turn, 5.0)) for turn in dead]
        turns = [await connections.turn(server) for server in (SITE, SITE, OTHER, OTHER)]
        assert now() == 0
        dead[0].leave()  # its lookup goes on, and takes no turn
        await asyncio.sleep(6.0)
        assert [task.done() for task in lookups] == [True, False, False, False]
        turns[0].leave()
        assert await lookups[1] == "found"
        late = asyncio.ensure_future(connections.turn(SITE))
        await asyncio.sleep(0)
        assert not late.done()  # four are in use: a turn behind a lookup counts as any other
        dead[2].leave()  # waits for a turn, and will not take it
        for turn in (dead[1], *turns):
            turn.leave()
        (await late).leave()
        await asyncio.gather(*lookups)
        dead[3].leave()
        assert connections.idle

    run(go)


def test_a_lookup_that_fails_leaves_its_turn() -> None:
    async def go(connections: Connections) -> None:
        async def fails() -> None:
            raise OSError("no such name")

        turn = await connections.turn(SITE)
        with pytest.raises(OSError, match="no such name"):
            await turn.behind(fails())
        turn.leave()
        assert connections.idle

    run(go)


@pytest.mark.parametrize("seed", range(20))
def test_limits_hold_and_all_are_served(seed: int) -> None:
    chance = random.Random(seed)
    under_way: list[Server] = []

    async def one(connections: Connections) -> None:
        server = ("http", str(chance.randrange(4)), 80)
        await asyncio.sleep(chance.random() * 5)
        turn = await connections.turn(server)
        under_way.append(server)
        assert len(under_way) <= 6
        assert under_way.count(server) <= 2
        await asyncio.sleep(chance.random())
        under_way.remove(server)
        turn.leave()

    async def go(connections: Connections) -> None:
        await asyncio.gather(*(one(connections) for _ in range(100)))
        assert connections.idle

    run(go, per_server=2, total=6)
