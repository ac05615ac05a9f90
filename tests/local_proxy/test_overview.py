"""Tests of the status page's overview: what is counted, what is told of the link and of faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from emulation.memory.virtual_time import run
from local_proxy.kept.store import Sum
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.policy.bridge import MAX_NOTICE, Bridge, Components
from local_proxy.policy.runtime import PolicyRuntime
from local_proxy.promises.browser_caches import BrowserCaches
from local_proxy.promises.keeper import PromiseKeeper
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.open_documents import Documents
from local_proxy.status.overview import PROBLEMS, Overview, origin_size
from policies.api import BandwidthChanged, DocumentOpened
from policies.api.commands import WatchBandwidth
from tests.local_proxy.policy_session import Scripted
from tests.local_proxy.proxy_at_work import AtOnce
from tests.local_proxy.scripted_remote import Linked, linked, moment
from transport.link.interface import LinkError
from wire import messages as m
from wire.origin_request import OriginRequest
from wire.tree_row import TreeRow

URL = "http://a.test/p.jpg?word=secret"


@dataclass
class Watched:
    """An overview of one uplink, the policies beside it, and what was saved."""

    link: Linked
    overview: Overview
    runtime: PolicyRuntime
    policy: Scripted
    saved: list[Sum] = field(default_factory=list)


@asynccontextmanager
async def overview(*, link: bool = True) -> AsyncIterator[Watched]:
    async with linked(link=link) as to:
        policy = Scripted(lambda event, view: [WatchBandwidth(0.0, 1.0)])
        runtime = PolicyRuntime([policy], send=lambda command: None, worker=AtOnce)
        saved: list[Sum] = []
        made = Overview(
            to.uplink,
            runtime,
            saved=lambda component, delivered: saved.append(delivered),
            why_not_udp=lambda: "no answer",
        )
        try:
            yield Watched(to, made, runtime, policy, saved)
        finally:
            runtime.close()


def component(*, length: str = "", received: int = 9, kind: str = "image/jpeg") -> Component:
    fields = [("content-type", kind), *([("content-length", length)] if length else [])]
    one = Component(4, 1, URL, head=OriginHead(200, fields, None))
    one.data = bytearray(received)
    return one


@pytest.mark.parametrize(
    ("length", "size"), [("700", 700), ("", 9), ("many", 9), ("-1", 9), ("7, 7", 9)]
)
def test_a_body_had_the_size_that_its_origin_said_or_what_came(length: str, size: int) -> None:
    one = component(length=length)
    assert origin_size(one) == size
    one.brings = 40
    assert origin_size(one) == 40
    bare = component()
    bare.head = None
    assert origin_size(bare) == 9


def test_what_has_come_whole_is_compared_with_what_the_origin_sent() -> None:
    async def main() -> None:
        async with overview() as at:
            one = component(length="700")
            at.overview.carried(one, 60)
            assert at.saved == []
            one.complete = True
            at.overview.carried(one, 40)
            assert at.saved == [Sum(700, 100, 1, 1)]
            part = component(kind="text/plain")
            part.brings, part.complete = 30, True
            at.overview.carried(part, 20)
            assert at.saved[1] == Sum(30, 20, 0, 0)
            told = at.overview.snapshot()
            assert (told.savings.origin_bytes, told.savings.link_bytes) == (730, 120)
            assert told.history.series[1][-1] == 120

    run(main())


def test_documents_are_listed_with_their_applications() -> None:
    async def main() -> None:
        async with overview() as at:
            at.runtime.hear(DocumentOpened(1, "http://a.test/"))
            at.runtime.hear(DocumentOpened(3, "http://a.test/a.pptx", "office"))
            await at.runtime.idle()
            told = at.overview.snapshot()
            assert {one.id: one.application for one in told.documents} == {
                1: "browser",
                3: "office",
            }

    run(main())


def test_what_browsers_fetch_for_themselves_and_what_nobody_shows_have_names() -> None:
    async def main() -> None:
        async with overview() as at:
            one = Component(4, m.BACKGROUND, "http://update.test/")
            at.overview.carried(one, 5)
            at.overview.carried(Component(6, m.UNATTRIBUTED, "http://a.test/disc.iso"), 5)
            at.overview.opened(1, "http://a.test/")
            labels = at.overview.snapshot().history.labels
            assert labels[m.BACKGROUND] == "what browsers fetch for themselves"
            assert labels[1] == "http://a.test/"
            assert "downloads" in labels[m.UNATTRIBUTED]

    run(main())


def test_faults_are_listed_the_latest_first_without_queries_and_not_without_end() -> None:
    async def main() -> None:
        async with overview() as at:
            one = component()
            one.failure = ComponentFailed(499, "nobody wanted this")
            at.overview.carried(one, 0)
            assert at.overview.snapshot().problems == []
            one.failure = ComponentFailed(502, "the origin is gone")
            at.overview.carried(one, 0)
            await asyncio.sleep(2.0)
            for number in range(PROBLEMS - 1):
                at.overview.problem(f"fault {number}")
            problems = at.overview.snapshot().problems
            assert (len(problems), problems[0].text) == (PROBLEMS, "fault 18")
            assert (problems[-1].age, problems[0].age) == pytest.approx((2.0, 0.0))
            assert "the origin is gone" in problems[-1].text
            assert "secret" not in problems[-1].text
            at.overview.problem("one more")
            assert "gone" not in at.overview.snapshot().problems[-1].text

    run(main())


def test_the_bytes_of_links_that_are_gone_are_counted_on() -> None:
    async def main() -> None:
        async with overview() as at:
            await moment()
            now = at.overview.snapshot().link
            assert now.connected
            assert (now.remote, now.transport) == ("test", "tcp")
            assert now.instead == "no answer"
            statistics = at.link.session.link.statistics()
            assert (now.received, now.sent) == (statistics.received, statistics.sent)
            at.overview.session_ended(statistics)
            at.link.remotes.refuses = True
            at.link.remote.close(LinkError("reset"))
            await moment()
            gone = at.overview.snapshot().link
            assert not gone.connected
            assert "refused" in gone.reason
            assert (gone.received, gone.sent) == (statistics.received, statistics.sent)
            assert gone.down is None

    run(main())


def test_the_tree_is_the_remote_s_and_asked_for_when_somebody_looks() -> None:
    async def main() -> None:
        async with overview() as at:
            await moment()
            assert at.link.remote.of(m.LookAtTree) == []
            assert at.overview.snapshot().tree is None
            await moment()
            assert at.link.remote.of(m.LookAtTree) == [m.LookAtTree()]
            rows = [
                TreeRow(0, "", 0, "fifo", 1.0, 7),
                TreeRow(1, "browser", 2, "fifo", 1.0, 7, "x"),
            ]
            at.link.remote.say(m.TreeDrawn(rows))
            await asyncio.sleep(1.5)
            shown = at.overview.snapshot()
            assert shown.tree is not None
            assert (shown.tree.backlog, shown.tree.children[0].held_by) == (7, "x")
            assert 1.0 < shown.tree_age < 2.0

    run(main())


def test_policies_hear_what_the_remote_s_gate_has_found_and_nothing_of_what_came() -> None:
    async def main() -> None:
        async with overview() as at:
            at.runtime.hear(DocumentOpened(1, "http://a.test/"))
            await at.runtime.idle()
            watching = asyncio.ensure_future(at.overview.watch_bandwidth())
            session = at.link.session
            one = Component(session.new_id(), 0, URL)
            session.request(one, OriginRequest("GET", URL, []))
            await moment()
            at.link.remote.respond(at.link.remote.asked[0], bytes(400_000))
            await asyncio.sleep(5.0)
            assert session.link.statistics().incoming is not None, "a receiver's own guess"
            assert at.overview.snapshot().link.down is None
            at.link.remote.say(m.Carries(48_000, 75))
            await asyncio.sleep(5.0)
            told = [event for event in at.policy.heard if isinstance(event, BandwidthChanged)]
            assert [event.rate for event in told] == [48_000.0]
            assert told[0].confidence == pytest.approx(0.75, abs=0.01)
            shown = at.overview.snapshot().link.down
            assert shown is not None
            assert shown.rate == 48_000.0 and shown.confidence < 0.75
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    run(main())


def nothing(*what: object) -> None: ...


def test_what_the_remote_tells_people_is_on_the_page_and_no_longer_than_that() -> None:
    async def main() -> None:
        async with overview() as at:
            promises = PromiseKeeper(
                *(nothing,), awaited=nothing, release=nothing, unwanted=nothing, later=nothing
            )
            bridge = Bridge(
                Components(), promises, BrowserCaches(), DocumentEvents(), now=lambda: 0.0
            )
            bridge.connect(
                uplink=at.link.uplink,
                runtime=at.runtime,
                overview=at.overview,
                documents=Documents(),
                look=nothing,
            )
            bridge.noticed("x" * (MAX_NOTICE + 9))
            (problem,) = at.overview.snapshot().problems
            assert problem.text == "x" * MAX_NOTICE

    run(main())
