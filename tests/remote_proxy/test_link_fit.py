"""Tests of a session that is kept fitted to its link: quantum, timers, and rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from emulation.memory.virtual_time import run
from monitor.estimate import BandwidthEstimate
from remote_proxy.jobs.link_fit import RENEW, Fitting
from scheduling.commands import Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from tests.remote_proxy.test_fitted_quantum import QuietLink
from transport.link.quantum import Chunks
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget
from wire import messages as m
from wire.session import Session, Side
from wire.skeleton import Kind, Use


@dataclass
class Entered:
    """A component that enters the tree."""

    component: int
    document: int
    use: Use = Use.ELEMENT
    order: int = 2


class World:
    """A session's tree over a link that says of its rate what it is told to."""

    def __init__(self) -> None:
        self.link = QuietLink()
        self.tree = Tree(quantum=1024)
        self.obedience = Obedience(self.tree, Plan())
        self.outbox = TreeOutbox(
            Session(Side.REMOTE, agent="t"),
            self.tree.hierarchy,
            self.tree.multiplexer,
            Budget(1 << 20),
            wake=lambda: None,
        )
        self.rate: float | None = None
        self.said: list[m.Message] = []
        self.looks = 0
        self.fitting = Fitting(
            self.link,
            self.tree,
            self.obedience,
            self.outbox,
            rate=lambda: self.rate,
            say=self.said.append,
        )

    def looked(self) -> None:
        self.looks += 1

    async def happens(self) -> None:
        """Something crosses the link, and there is time for a look."""
        self.fitting.activity.happened()
        await asyncio.sleep(2 * RENEW + 0.01)

    @property
    def quantum(self) -> int:
        return self.tree.multiplexer.quantum


def in_world(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World()
        running = asyncio.ensure_future(world.fitting.run(world.looked))
        await scenario(world)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run(main())


def test_the_quantum_suits_the_rate_as_soon_as_that_is_known() -> None:
    async def scenario(world: World) -> None:
        await world.happens()
        assert world.quantum == 1024
        for rate in (7_000.0, 312_500.0):
            world.rate = rate
            await world.happens()
            assert world.quantum == Chunks().quantum(rate)

    in_world(scenario)


def test_a_quantum_that_a_policy_has_set_stays() -> None:
    async def scenario(world: World) -> None:
        world.obedience.obey(m.SetQuantum([], 2048), now=0.0)
        world.rate = 7_000.0
        await world.happens()
        world.rate = None
        world.link.estimate, world.link.cap = BandwidthEstimate(1e7, 0.0, 0.1, "reports"), 1e6
        await world.happens()
        assert world.quantum == 2048

    in_world(scenario)


def test_a_guess_raises_the_quantum_and_never_lowers_it() -> None:
    async def scenario(world: World) -> None:
        world.link.estimate, world.link.cap = BandwidthEstimate(1e7, 0.0, 0.1, "reports"), 65_536.0
        await world.happens()
        assert world.quantum == 65_536 // 8
        world.link.estimate = BandwidthEstimate(7_000, 0.0, 0.1, "reports")
        await world.happens()
        assert world.quantum == 65_536 // 8

    in_world(scenario)


def test_a_link_at_rest_is_not_looked_at() -> None:
    async def scenario(world: World) -> None:
        world.rate = 48_000.0
        await asyncio.sleep(10.0)
        looks = world.looks
        await asyncio.sleep(1000.0)
        assert world.looks == looks <= 2
        await world.happens()
        assert world.looks == looks + 1

    in_world(scenario)


def test_while_bytes_move_it_is_looked_at_again_and_again() -> None:
    async def scenario(world: World) -> None:
        await asyncio.sleep(1.0)
        before = world.looks
        world.fitting.activity.happened()
        for _ in range(40):
            world.outbox.payload_sent += 1000
            await asyncio.sleep(RENEW / 2)
        assert 15 <= world.looks - before <= 21

    in_world(scenario)


def test_while_sent_bytes_have_not_arrived_a_link_that_has_become_slow_is_looked_at() -> None:
    """The gate may let nothing go for seconds, and what is seen meanwhile is the news."""

    async def scenario(world: World) -> None:
        world.rate, world.link.under_way = 312_500.0, 40_000
        await world.happens()
        await asyncio.sleep(5.0)
        world.rate = 31_250.0
        await asyncio.sleep(2 * RENEW)
        assert world.quantum == Chunks().quantum(31_250.0) < Chunks().quantum(312_500.0)
        world.link.under_way = 0
        await asyncio.sleep(2 * RENEW)
        looks = world.looks
        await asyncio.sleep(1000.0)
        assert world.looks == looks

    in_world(scenario)


def test_a_fetch_that_cannot_be_in_time_is_said_to_have_expired() -> None:
    async def scenario(world: World) -> None:
        leaf = world.tree.leaf(1, 2, kind="image", order=0)
        world.tree.hierarchy.enqueue(leaf, 10_000)
        world.tree.hierarchy.finish(leaf)
        now = asyncio.get_running_loop().time()
        fetch = m.Fetch(2, "original", timer=5.0)
        world.obedience.fetch(fetch, running=True, now=now)
        world.rate = 4_000.0
        await world.happens()
        assert world.said == []
        world.rate = 1_000.0
        await asyncio.sleep(2 * RENEW)  # with a timer that runs there is always another look
        assert world.said == [m.Expired(2, "", 10.0)]

    in_world(scenario)


def test_a_link_that_rests_is_woken_when_a_picture_may_go_on() -> None:
    async def scenario(world: World) -> None:
        ends = {"low": 1_000, "original": 9_000}
        timely = world.obedience.timely
        timely.opened(1, 0.0)
        world.obedience.obey(m.SetPlan([{"kind": "image", "within": 30.0}]), now=0.0)
        world.obedience.entered(Entered(component=2, document=1), Kind.IMAGE)
        leaf = world.tree.leaf(1, 2, kind="image", order=2)
        world.tree.set_marks(1, 2, [*ends.values()], [*ends.values()], ends=ends)
        world.tree.hierarchy.enqueue(leaf, 9_000)
        world.rate = 100.0
        await world.happens()
        assert timely.level(2) == "low"
        before = world.link.woken
        await world.happens()
        assert world.link.woken == before, "nothing has changed"
        world.rate = 10_000.0
        await world.happens()
        assert timely.level(2) == "original"
        assert world.link.woken > before

    in_world(scenario)
