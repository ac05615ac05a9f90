"""Tests of a request's way through the core: asked for, answered, refused, given up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from emulation.memory.virtual_time import run
from local_proxy.http.model import Request, Response
from local_proxy.link.tunnel import Tunnel
from local_proxy.requests.ask import MAX_FIELDS, too_large
from local_proxy.requests.core import PlacedRequest, ProxyCore
from local_proxy.sites.sites import Mode
from policies.api import DocumentClosed, DocumentOpened, Event, SessionView, SetPlan, SkeletonGrew
from policies.api.plan import Rule
from tests.local_proxy.ends import IMAGE, text_of
from tests.local_proxy.packages_at_work import outlined
from tests.local_proxy.policy_session import Scripted
from tests.local_proxy.proxy_at_work import HTML, NAVIGATION, at_work, finish
from tests.local_proxy.scripted_remote import ScriptedRemote, moment
from wire import messages as m
from wire.abilities import Takes
from wire.applications import Application
from wire.fields import MAX_REQUEST, Headers, header
from wire.skeleton import Kind, Part, Use

PAGE = "http://a.test/"
BODY = b"<!doctype html><html><head><title>t</title></head></html>"


def answers(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
    """A page at /, text elsewhere."""
    if request.url == PAGE:
        remote.respond(request, BODY, HTML)
    else:
        remote.respond(
            request, b"text of " + request.url.encode(), [("content-type", "text/plain")]
        )


# -- asking ----------------------------------------------------------------------------------------


def test_a_navigation_opens_a_document_and_its_parts_belong_to_it() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            page = await at.navigate(PAGE)
            assert b"/.well-known/sluice/driver.js" in await text_of(page)
            part = await at.get("http://b.test/s.js", ("referer", PAGE))
            assert await text_of(part) == b"text of http://b.test/s.js"
            opened, asked = at.remote.asked
            assert opened.document == opened.component
            assert asked.document == opened.document
            assert (opened.levels, opened.treatment) == (False, m.Treatment.ADAPTED)
            assert DocumentOpened(opened.document, PAGE) in at.heard
            grown = [one for one in at.heard if isinstance(one, SkeletonGrew)]
            assert [one.parts[0].component for one in grown] == [opened.component, asked.component]

    run(main())


def test_who_runs_scripts_is_told_what_those_of_a_page_can_do() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            for agent in ("Mozilla/5.0 Chrome/156.0", "Lynx/2.9", ""):
                fields = [one for one in NAVIGATION if one[0] != "user-agent"]
                await at.get(PAGE, *fields, ("user-agent", agent))
            told = [bool(asked.takes & Takes.SCRIPTS) for asked in at.remote.asked]
            assert told == [True, False, False]

    run(main())


def test_who_is_of_no_page_is_nobodys_and_what_browsers_want_is_in_the_background() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            await at.get("http://b.test/")
            await at.get("http://update.googleapis.com/x")
            await at.get("http://b.test/p.jpg", *IMAGE)
            documents = [one.document for one in at.remote.asked]
            assert documents == [m.UNATTRIBUTED, m.BACKGROUND, m.UNATTRIBUTED]
            assert [one.levels for one in at.remote.asked] == [False, False, True]
            whose = [one.application for one in at.remote.asked]
            assert whose == [Application.OTHER, Application.BACKGROUND, Application.OTHER]

    run(main())


def test_what_a_page_asks_for_is_the_browsers_even_if_it_does_not_say_which_page_it_is() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            await at.navigate(PAGE)
            await at.get("http://b.test/s.js", ("referer", PAGE))
            await at.get("http://b.test/s.js", ("sec-fetch-site", "cross-site"))
            await at.get("http://b.test/s.js", ("sec-fetch-site", "none"))
            documents = [one.document for one in at.remote.asked]
            assert documents == [1, 1, m.UNATTRIBUTED, m.UNATTRIBUTED]
            whose = [one.application for one in at.remote.asked]
            assert whose == [Application.BROWSER] * 3 + [Application.OTHER]

    run(main())


def test_a_tunnel_says_whose_it_is() -> None:
    async def main() -> None:
        async with at_work() as at:
            hosts = ("a.test", "update.googleapis.com")
            opening = [asyncio.ensure_future(at.proxy.core.connect(one, 443)) for one in hosts]
            await moment()
            whose = [one.application for one in at.remote.asked]
            assert whose == [Application.OTHER, Application.BACKGROUND]
            for one in opening:
                one.cancel()
            await asyncio.gather(*opening, return_exceptions=True)

    run(main())


async def pieces(*chunks: bytes, error: Exception | None = None) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
    if error is not None:
        raise error


def test_a_body_goes_up_whole_and_one_that_breaks_off_is_cut() -> None:
    async def main() -> None:
        async with at_work() as at:
            for number, error in ((1, None), (3, ValueError("bad chunk"))):
                request = Request("POST", PAGE, [], body=pieces(b"abc", b"def", error=error))
                asking = asyncio.ensure_future(at.proxy.core.handle(request))
                await moment()
                assert at.remote.asked[-1].has_body
                assert (number in at.remote.ended) is (error is None)
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
            assert at.remote.uploaded[1] == b"abcdef"
            assert at.remote.of(m.Reset) == [m.Reset(3, "bad chunk")]
            assert at.proxy.asking.uploading == 0

    run(main())


def test_a_request_whose_fields_can_not_cross_the_link_is_told_so() -> None:
    large = [("a", "b" * MAX_REQUEST)]
    many = [("a", "b")] * (MAX_FIELDS + 1)
    for fields in (large, many):
        refusal = too_large(Request("GET", PAGE, fields))
        assert refusal is not None
        assert refusal.status == 431
    assert too_large(Request("GET", PAGE, many[1:])) is None

    async def main() -> None:
        async with at_work(answers) as at:
            assert (await at.get(PAGE, *large)).status == 431
            assert at.remote.asked == []

    run(main())


def test_a_client_that_hurries_raises_its_request_and_lets_it_sink_again() -> None:
    async def main() -> None:
        async with at_work() as at:
            request = Request("GET", PAGE, [])
            asking = asyncio.ensure_future(at.proxy.core.handle(request))
            await moment()
            for urgency in (5, 1, 0, 3):
                request.urgency.change(urgency)
            await moment()
            assert [one.urgency for one in at.remote.of(m.Raise)] == [1, 0]
            at.remote.respond(at.remote.asked[0], b"text")
            await text_of(await asking)
            request.urgency.change(0)
            await moment()
            assert len(at.remote.of(m.Raise)) == 2

    run(main())


def test_a_page_that_was_let_go_and_asks_again_is_another_document() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            await at.navigate(PAGE)
            await asyncio.sleep(2 * 3600.0)
            await at.navigate("http://b.test/")
            await at.get("http://a.test/x", ("referer", PAGE))
            first, _, late = at.remote.asked
            assert late.document not in (first.document, m.UNATTRIBUTED)
            assert DocumentOpened(late.document, PAGE) in at.heard

    run(main())


# -- the core --------------------------------------------------------------------------------------


def test_a_site_is_treated_as_its_switch_says() -> None:
    async def main() -> None:
        sites = {"a.test": "text-only", "b.test": "original"}
        async with at_work(answers, sites=sites) as at:
            await at.navigate(PAGE)
            picture = await at.get("http://c.test/p.jpg", *IMAGE, ("referer", PAGE))
            assert header(picture.headers, "content-type") == "image/gif"
            await at.navigate("http://b.test/")
            first, second = at.remote.asked
            assert first.treatment is m.Treatment.TEXT_ONLY
            assert second.treatment is m.Treatment.ORIGINAL

    run(main())


def test_what_a_policy_keeps_from_being_fetched_is_not_asked_for() -> None:
    def never(event: Event, view: SessionView) -> list[SetPlan]:
        return [SetPlan((Rule(kind=Kind.SCRIPT, fetch="never"),))]

    async def main() -> None:
        async with at_work(answers, policy=Scripted(never)) as at:
            await moment()
            refused = await at.get("http://a.test/s.js", ("sec-fetch-dest", "script"))
            assert refused.status == 403
            assert at.remote.asked == []
            assert (await at.get("http://a.test/t")).status == 200

    run(main())


def test_without_a_link_a_page_says_so_soon_and_others_wait_longer() -> None:
    async def main() -> None:
        async with at_work(link=False) as at:
            clock = asyncio.get_running_loop().time
            for waits, asking in ((1.0, at.navigate(PAGE)), (5.0, at.get("http://a.test/x"))):
                began = clock()
                assert (await asking).status == 504
                assert clock() - began == waits

    run(main())


def test_our_own_pages_and_drivers_are_answered_here() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            own = await at.get("http://sluice.local/proxy.pac")
            assert own.status == 200
            assert (await at.get("http://a.test/.well-known/sluice/other")).status == 404
            assert at.remote.asked == []

    run(main())


def test_a_promise_answers_the_page_that_it_was_made_for() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            await at.navigate(PAGE)
            document = at.remote.asked[0].document
            part = Part(2, "http://a.test/s.css", Kind.STYLE, Use.BLOCKING, 0)
            fields = [("user-agent", "test"), ("referer", PAGE)]
            at.remote.say(m.Skeleton(document, [part], True), [*fields, ("accept", "*/*")])
            at.remote.head(2, 200, [("content-type", "text/css")])
            at.remote.send(2, b"body{}")
            await moment()
            answer = await at.get(part.url, *fields, ("accept", "*/*"))
            assert await text_of(answer) == b"body{}"
            assert len(at.remote.asked) == 1

    run(main())


def test_a_document_that_can_not_be_previewed_is_asked_for_once_more_whole() -> None:
    url = "http://a.test/deck.pptx"

    def breaks(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        if request.takes & Takes.PACKAGE:
            outlined(remote, request, fields)
            remote.say(m.Failed(request.component, 502, "no more"))
        else:
            remote.respond(request, b"the file", [("content-type", "application/zip")])

    async def main() -> None:
        async with at_work(breaks) as at:
            answer = await at.navigate(url, ("user-agent", "Chrome/150"))
            assert await text_of(answer) == b"the file"
            first, second = at.remote.asked
            assert first.takes & Takes.INLINE
            assert second.treatment is m.Treatment.ORIGINAL
            await moment()
            assert DocumentClosed(first.document) in at.heard
            assert DocumentClosed(second.document) not in at.heard

    run(main())


def test_a_tunnel_is_opened_or_said_why_not() -> None:
    def connects(remote: ScriptedRemote, request: m.Request, fields: Headers) -> None:
        if request.url.startswith("a.test"):
            remote.head(request.component)
        elif request.url.startswith("b.test"):
            remote.head(request.component, 502)
        else:
            remote.say(m.Failed(request.component, 504, "it is slow"))

    async def main() -> None:
        async with at_work(connects) as at:
            core: ProxyCore = at.proxy.core
            tunnel = await core.connect("a.test", 443, tls=True)
            assert isinstance(tunnel, Tunnel)
            assert (at.remote.asked[0].method, at.remote.asked[0].tls) == ("CONNECT", True)
            for host, status in (("b.test", 502), ("c.test", 504)):
                answer = await core.connect(host, 443)
                assert isinstance(answer, Response)
                assert answer.status == status
            await core.connect("update.googleapis.com", 443)
            assert at.remote.asked[-1].document == m.BACKGROUND
            await tunnel.close()

    run(main())


def test_what_the_server_gets_first_goes_with_the_wish_for_a_tunnel() -> None:
    """A round trip sooner than behind the answer: WebSockets, and TLS that stays opaque."""

    async def main() -> None:
        async with at_work() as at:
            opening = asyncio.ensure_future(at.proxy.core.connect("a.test", 443, early=b"hello"))
            await moment()
            asked = at.remote.asked[0]
            assert at.remote.uploaded[asked.component] == b"hello"
            assert not opening.done()
            at.remote.head(asked.component)
            tunnel = await opening
            assert isinstance(tunnel, Tunnel)
            await tunnel.write(b", you")
            await moment()
            assert at.remote.uploaded[asked.component] == b"hello, you"
            await tunnel.close()

    run(main())


def test_a_server_that_was_reached_lately_is_taken_for_there() -> None:
    async def main() -> None:
        async with at_work() as at:
            core: ProxyCore = at.proxy.core

            async def reached(status: int = 200) -> Tunnel | Response:
                """A tunnel that is open when the remote has said so."""
                opening = asyncio.ensure_future(core.connect("a.test", 443))
                await moment()
                assert not opening.done()
                at.remote.head(at.remote.asked[-1].component, status)
                tunnel = await opening
                assert isinstance(tunnel, Tunnel | Response)
                return tunnel

            async def ahead() -> tuple[Tunnel, int]:
                """One that is open before."""
                tunnel = await core.connect("A.test", 443)
                assert isinstance(tunnel, Tunnel)
                await tunnel.write(b"hello")
                await moment()
                component = at.remote.asked[-1].component
                assert at.remote.uploaded[component] == b"hello"
                return tunnel, component

            tunnels = [await reached()]
            soon, component = await ahead()
            at.remote.head(component)
            at.remote.send(component, b"you too")
            assert await soon.read() == b"you too"
            for refuse in (
                lambda one: at.remote.head(one, 502),
                lambda one: at.remote.say(m.Failed(one, 504, "it is slow")),
            ):
                gone, component = await ahead()
                refuse(component)
                assert await gone.read() == b""
                tunnels += [soon, gone, await reached()]
                soon, component = await ahead()
            for tunnel in tunnels:
                assert isinstance(tunnel, Tunnel)
                await tunnel.close()

    run(main())


@pytest.mark.parametrize(("port", "tls"), [(22, False), (443, True)])
def test_others_are_told_whether_there_is_a_server(port: int, tls: bool) -> None:
    async def main() -> None:
        async with at_work() as at:
            for _ in range(2):
                opening = asyncio.ensure_future(at.proxy.core.connect("a.test", port, tls=tls))
                await moment()
                assert not opening.done()
                at.remote.head(at.remote.asked[-1].component)
                tunnel = await opening
                assert isinstance(tunnel, Tunnel)
                await tunnel.close()

    run(main())


def test_who_leaves_before_there_is_an_answer_is_told_to_the_remote() -> None:
    async def main() -> None:
        async with at_work() as at:
            tunnel = asyncio.ensure_future(at.proxy.core.connect("a.test", 443))
            request = asyncio.ensure_future(at.get("http://a.test/x"))
            await moment()
            for task in (tunnel, request):
                task.cancel()
            await asyncio.gather(tunnel, request, return_exceptions=True)
            await moment()
            cancelled = {one.component for one in at.remote.of(m.Cancel)}
            assert cancelled == {one.component for one in at.remote.asked}
            assert len(cancelled) == 2

    run(main())


def test_a_placed_request_may_be_kept_unless_it_is_for_an_address_of_ours() -> None:
    async def main() -> None:
        async with at_work(answers) as at:
            fields = [("user-agent", "test"), ("referer", PAGE)]
            await at.navigate(PAGE)
            document = at.remote.asked[0].document
            request = Request("GET", "http://a.test/s.js", fields)
            placed = PlacedRequest(request, document, Mode.ADAPT, kept=True)
            assert placed.request is request

            def keepable(remote: ScriptedRemote, request: m.Request, headers: Headers) -> None:
                remote.respond(request, b"script", [("cache-control", "max-age=600")])

            at.remote.answer = keepable
            finish(await at.get("http://a.test/copy.js", *fields, original=True))
            assert len(at.proxy.caches) == 0
            finish(await at.get(request.url, *fields), whole=False)
            assert len(at.proxy.caches) == 0
            finish(await at.get(request.url, *fields))
            assert len(at.proxy.caches) == 1

    run(main())
