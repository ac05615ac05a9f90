"""Tests of the bridge: what policies hear of the link and of readers, and what they command."""

from __future__ import annotations

import asyncio
from hashlib import sha256

import pytest

from emulation.memory.virtual_time import run
from local_proxy.link.components import Component
from local_proxy.policy.bridge import WANTED, Bridge, Components
from policies.api import (
    Cancel,
    Command,
    CommandRefused,
    DocumentClosed,
    DocumentOpened,
    Event,
    Fetch,
    FocusChanged,
    GiveWay,
    LayoutKnown,
    LinkLost,
    LinkRestored,
    PlayingChanged,
    PointerOn,
    Progress,
    RateGuaranteed,
    Reserve,
    Rule,
    ScrolledInView,
    SessionOpened,
    SetPlan,
    SetScheduler,
    SetWeight,
    SkeletonGrew,
    VisibilityChanged,
)
from policies.api.events import Box
from tests.local_proxy.policy_session import Scripted
from tests.local_proxy.proxy_at_work import HTML, AtWork, at_work
from tests.local_proxy.scripted_remote import moment
from transport.link.interface import LinkError
from wire import abilities
from wire import messages as m
from wire.applications import Application
from wire.skeleton import Kind, Level, Part, Use

LOW = Level("low", 0, 3, "image/jpeg")
PAGE, PICTURE = "http://a.test/", "http://a.test/p.jpg"
JPEG = "image/jpeg"


def one(number: int, document: int, url: str = PICTURE) -> Component:
    return Component(number, document, url)


def test_components_are_found_by_document_and_address_the_newest_first() -> None:
    components = Components()
    first, second, other = one(2, 1), one(4, 1), one(6, 3)
    for component in (first, second, other):
        components.add(component)
    assert components.of(1) == [first, second]
    assert components.find(1, PICTURE) is second
    assert components.find(3, PICTURE) is other
    assert components.find(1, PAGE) is None
    components.forget(second)
    components.forget(second)
    assert components.find(1, PICTURE) is first
    assert components.close(1) == [first]
    assert components.close(1) == []
    assert components.find(1, PICTURE) is None


def bridge(at: AtWork) -> Bridge:
    tracker = at.proxy.tracker
    assert isinstance(tracker, Bridge)
    return tracker


async def page(at: AtWork, *parts: Part) -> int:
    """An open page of which the remote promises these parts."""
    asking = asyncio.ensure_future(at.navigate(PAGE))
    await moment()
    request = at.remote.asked[-1]
    at.remote.respond(request, b"<html>", HTML)
    await asking
    at.remote.say(m.Skeleton(request.document, list(parts), True), [("user-agent", "test")])
    await moment()
    return request.document


PROMISED = Part(2, PICTURE, Kind.IMAGE, Use.ELEMENT, 0)


def heard(at: AtWork, kind: type[Event]) -> list[Event]:
    return [event for event in at.heard if isinstance(event, kind)]


def test_policies_hear_of_a_page_its_parts_and_their_levels() -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            assert DocumentOpened(document, PAGE) in at.heard
            assert SkeletonGrew(document, (PROMISED,)) in at.heard
            levels = [Level("low", 0, 3, JPEG), Level("original", 0, 9, JPEG)]
            at.remote.say(m.Levels(2, levels, 9, "", True))
            at.remote.head(2, 200, [("content-type", JPEG)], 9)
            at.remote.send(2, b"abcd", last=False)
            await moment()
            at.remote.send(2, b"e", last=False)
            await moment()
            at.remote.send(2, b"fghi")
            await moment()
            progress = [e for e in heard(at, Progress) if getattr(e, "component", 0) == 2]
            assert progress == [
                Progress(2, 4, "low", False, 9),
                Progress(2, 9, "original", True, 9),
            ]
            assert bridge(at) is at.proxy.tracker

    run(main())


def test_policies_hear_where_a_reader_looks_by_component() -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            await moment()
            at.policy.heard.clear()
            tracker = at.proxy.tracker
            tracker.visible(document, False)
            tracker.focus(document, False)
            tracker.focus(document, True)
            for url in (PICTURE, "http://a.test/unknown", PICTURE, None):
                tracker.pointer(document, url)
                await moment()
            tracker.in_view(document, [PICTURE, "http://a.test/unknown"])
            tracker.layout(document, {PICTURE: (30, 20), "http://a.test/unknown": (1, 1)})
            await moment()
            assert VisibilityChanged(document, False) in at.heard
            assert FocusChanged(document) in at.heard
            on = [PointerOn(2), PointerOn(None), PointerOn(2), PointerOn(None)]
            assert heard(at, PointerOn) == on
            assert heard(at, ScrolledInView) == [ScrolledInView(document, (2,))]
            assert heard(at, LayoutKnown) == [LayoutKnown(document, (Box(2, 30, 20),))]
            tracker.closed(document)
            await moment()
            assert DocumentClosed(document) in at.heard
            assert at.remote.of(m.CloseDocument) == [m.CloseDocument(document)]
            assert at.proxy.components.of(document) == []

    run(main())


def test_a_picture_that_a_reader_wants_goes_before_all_if_it_is_to_come() -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            original = at.proxy.tracker.original
            assert original(document, PICTURE)
            assert not original(document, "http://a.test/unknown")
            await moment()
            assert at.remote.of(m.Fetch) == [m.Fetch(2, "original", WANTED)]
            at.remote.head(2)
            at.remote.send(2, b"all")
            await moment()
            assert original(document, PICTURE)
            await moment()
            assert len(at.remote.of(m.Fetch)) == 1  # there is no more of it

    run(main())


def stops_at_low(at: AtWork) -> None:
    at.remote.say(m.Levels(2, [LOW], LOW.end))
    at.remote.head(2, headers=[("content-type", JPEG)])


@pytest.mark.parametrize("early", [True, False], ids=["while it comes", "once it is here"])
def test_a_picture_that_stops_at_a_level_goes_on_from_there_for_a_reader(early: bool) -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            picture = at.proxy.components.find(document, PICTURE)
            assert picture is not None
            stops_at_low(at)
            await moment()
            if early:
                assert at.proxy.tracker.original(document, PICTURE)
            at.remote.send(2, b"low")
            await moment()
            assert at.proxy.tracker.original(document, PICTURE)
            await moment()
            resume = at.remote.asked[-1].resume
            assert resume is not None
            assert (resume.received, resume.level) == (3, "original")
            assert resume.digest == sha256(b"low").digest()
            at.remote.say(m.Levels(2, [LOW, Level("original", 3, 8, JPEG)], 8))
            at.remote.head(2, headers=[("content-type", JPEG)])
            at.remote.send(2, b"finer")
            await moment()
            assert picture.complete and not picture.stopped
            assert bytes(picture.data) == b"lowfiner"

    run(main())


@pytest.mark.parametrize("level", ["medium", "original"])
def test_a_level_that_does_not_come_is_asked_for_once(level: str) -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            picture = at.proxy.components.find(document, PICTURE)
            assert picture is not None
            stops_at_low(at)
            at.remote.send(2, b"low")
            await moment()
            bridge(at).command(Fetch(2, level))
            await moment()
            asked = len(at.remote.asked)
            stops_at_low(at)
            at.remote.send(2, b"")
            await moment()
            assert len(at.remote.asked) == asked
            if level == "medium":
                assert picture.stopped
                assert picture.failure is None
            else:
                assert not picture.complete, "who waits for it has it fetched anew"
                assert picture.failure is not None

    run(main())


def test_it_goes_on_over_another_link_if_the_first_breaks() -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            stops_at_low(at)
            at.remote.send(2, b"low")
            await moment()
            assert at.proxy.tracker.original(document, PICTURE)
            await moment()
            first = at.remote
            first.close(LinkError("gone"))
            await asyncio.sleep(3)
            assert at.remote is not first
            resume = next(one.resume for one in at.remote.asked if one.component == 2)
            assert resume is not None
            assert (resume.received, resume.level) == (3, "original")

    run(main())


def test_a_remote_that_can_t_go_on_is_not_asked_to() -> None:
    async def main() -> None:
        async with at_work(link=False) as at:
            at.remotes.accepts = ()
            at.remotes.refuses = False
            await asyncio.sleep(3)
            document = await page(at, PROMISED)
            stops_at_low(at)
            at.remote.send(2, b"low")
            await moment()
            asked = len(at.remote.asked)
            assert not at.proxy.tracker.original(document, PICTURE)
            await moment()
            assert len(at.remote.asked) == asked

    run(main())


def test_commands_leave_as_they_are_given_and_wait_for_a_link() -> None:
    def plans(event: Event, view: object) -> list[SetScheduler | SetPlan]:
        if event == SessionOpened():
            return [SetScheduler((), "fifo")]
        return [SetPlan(())] if isinstance(event, DocumentOpened) else []

    async def main() -> None:
        async with at_work(policy=Scripted(plans)) as at:
            await moment()
            assert at.remote.of(m.SetScheduler)[0] == m.SetScheduler([], "fifo", {})
            at.remotes.refuses = True
            at.remote.close(LinkError("reset"))
            await moment()
            bridge(at).document_opened(9, PAGE)
            await moment()
            at.remotes.refuses = False
            at.proxy.uplink.hurry()
            await asyncio.sleep(10.0)
            heard_first = [type(one) for one in at.remote.heard if not isinstance(one, m.Hello)][:2]
            assert m.SetScheduler in heard_first  # what stands goes first

    run(main())


def test_a_command_that_the_remote_refuses_comes_back_by_its_number_in_the_session() -> None:
    wrong = SetScheduler((), "edf")

    def sets(event: Event, view: object) -> list[Command]:
        return [wrong, SetWeight(("browser",), 2.0)] if event == SessionOpened() else []

    async def main() -> None:
        async with at_work(policy=Scripted(sets)) as at:
            await moment()
            await page(at, PROMISED)
            assert at.proxy.tracker.original(1, PICTURE)  # a person's wish is counted, too
            await moment()
            assert at.remote.session.commands == 3
            for number in (3, -1, 1 << 40):
                at.remote.say(m.Refused(number, "no policy said that"))
            for reason in ("z" * 1000, "twice"):
                at.remote.say(m.Refused(1, reason))
            await moment()
            assert heard(at, CommandRefused) == [CommandRefused(wrong, "z" * m.MAX_REFUSAL)]
            (one,) = at.proxy.runtime.statistics()
            assert (one.refused, one.on) == (1, True)
            at.remote.close(LinkError("reset"))
            await asyncio.sleep(5.0)
            assert len(at.remotes.all) == 2
            assert at.remote.of(m.SetWeight) == [m.SetWeight(["browser"], 2.0)]
            at.remote.say(m.Refused(1, "now"))  # it is said again before the policy's own words
            await moment()
            assert heard(at, CommandRefused)[1:] == [
                CommandRefused(SetWeight(("browser",), 2.0), "now")
            ]

    run(main())


@pytest.mark.parametrize(
    ("accepts", "paths"),
    [
        ((abilities.APPLICATIONS,), [["office"], ["office", "9"]]),
        ((), [["browser", "9"]]),
    ],
)
def test_a_remote_that_knows_one_application_hears_of_that_one(
    accepts: tuple[str, ...], paths: list[list[str]]
) -> None:
    async def main() -> None:
        async with at_work(accepts=accepts) as at:
            for path in (("office",), ("office", "9")):
                bridge(at).command(SetWeight(path, 2.0))
            await moment()
            assert [one.path for one in at.remote.of(m.SetWeight)] == paths

    run(main())


def test_policies_hear_of_rates_and_of_what_plays() -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at, PROMISED)
            path = ["browser", str(document), "2"]
            at.proxy.tracker.plays(document, True)
            at.proxy.tracker.plays(99, True)
            at.remote.say(m.Guaranteed(path, 900.0, True))
            await moment()
            assert heard(at, PlayingChanged) == [PlayingChanged(document, True)]
            assert heard(at, RateGuaranteed) == [RateGuaranteed(tuple(path), 900.0, True)]
            view = at.proxy.runtime.view.components[2]
            assert (view.rate, view.guaranteed) == (900.0, True)
            for nonsense in ([], ["x"] * 4, ["browser", "1", "9" * 5000], ["browser", "1", "77"]):
                at.remote.say(m.Guaranteed(nonsense, float("nan"), False))
            await moment()
            assert at.proxy.runtime.view.components[2] == view
            (one,) = at.proxy.runtime.statistics()
            assert one.on

    run(main())


@pytest.mark.parametrize("knows", [True, False])
def test_only_a_remote_that_knows_rates_is_asked_for_them(knows: bool) -> None:
    accepts = (abilities.APPLICATIONS, *((abilities.RESERVES,) if knows else ()))

    async def main() -> None:
        async with at_work(accepts=accepts) as at:
            bridge(at).command(Reserve(("browser",), 900.0, 2.0))
            bridge(at).command(SetPlan((Rule(kind=Kind.MEDIA, steady=True),)))
            await moment()
            reserved = [m.Reserve(["browser"], 900.0, 2.0)] if knows else []
            assert at.remote.of(m.Reserve) == reserved
            (plan,) = at.remote.of(m.SetPlan)
            assert plan == m.SetPlan([{"kind": "media", **({"steady": True} if knows else {})}])

    run(main())


@pytest.mark.parametrize("knows", [True, False])
def test_who_gives_way_does_so_upwards_whatever_the_remote_knows(knows: bool) -> None:
    accepts = (abilities.APPLICATIONS, *((abilities.GIVES_WAY,) if knows else ()))

    async def main() -> None:
        async with at_work(accepts=accepts) as at:
            session = at.proxy.uplink.session
            assert session is not None
            bridge(at).command(GiveWay(("browser",)))
            assert not session.gives_way, "that is for what comes"
            bridge(at).command(GiveWay(()))
            assert session.gives_way
            await moment()
            said = [m.GiveWay(["browser"], True), m.GiveWay([], True)] if knows else []
            assert [one for one in at.remote.of(m.GiveWay) if one.path != ["background"]] == said
            bridge(at).command(GiveWay((), on=False))
            assert not session.gives_way

    run(main())


def test_policies_hear_whose_document_it_is() -> None:
    async def main() -> None:
        async with at_work() as at:
            bridge(at).document_opened(9, PAGE, application=Application.OFFICE)
            bridge(at).document_opened(11, PAGE)
            await moment()
            opened = [one.application for one in at.heard if isinstance(one, DocumentOpened)]
            assert opened == ["office", "browser"]

    run(main())


def test_a_cancelled_component_ends_for_its_reader_too() -> None:
    async def main() -> None:
        async with at_work() as at:
            asking = asyncio.ensure_future(at.get("http://a.test/x"))
            await moment()
            bridge(at).command(Cancel(at.remote.asked[0].component))
            answer = await asking
            assert answer.status == 403
            await moment()
            assert at.remote.of(m.Cancel) == [m.Cancel(at.remote.asked[0].component)]

    run(main())


def test_policies_hear_of_a_lost_link_and_of_the_next() -> None:
    async def main() -> None:
        async with at_work() as at:
            at.remote.close(LinkError("reset"))
            await asyncio.sleep(5.0)
            lost = heard(at, LinkLost)
            assert len(lost) == 1
            after = at.heard[at.heard.index(lost[0]) :]
            assert LinkRestored() in after

    run(main())


def test_what_the_browser_has_need_not_come() -> None:
    async def main() -> None:
        async with at_work() as at:
            document = await page(at)
            asking = asyncio.ensure_future(
                at.get(PICTURE, ("user-agent", "test"), ("referer", PAGE))
            )
            await moment()
            at.remote.respond(at.remote.asked[-1], b"abc", [("cache-control", "max-age=600")])
            for done in (await asking).on_done:
                done(True)
            assert len(at.proxy.caches) == 1
            at.remote.say(m.Skeleton(document, [PROMISED], True), [("user-agent", "test")])
            await moment()
            assert at.remote.of(m.Cancel) == [m.Cancel(2)]
            assert at.proxy.caches.spared == 1
            assert [one.id for one in at.proxy.components.of(document)] == [
                document,
                at.remote.asked[-1].component,
            ]

    run(main())
