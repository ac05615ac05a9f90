"""Tests of responses that are made of components, and of components that nobody wants any more."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.virtual_time import run
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.requests.component_answers import ComponentAnswers
from tests.local_proxy.ends import DATA, JPEG, LEVELS, text_of
from tests.local_proxy.proxy_at_work import AtWork, at_work, finish
from tests.local_proxy.scripted_remote import moment
from transport.link.interface import LinkError
from wire import messages as m
from wire.abilities import Takes
from wire.fields import header
from wire.skeleton import LEVELS as NAMES
from wire.skeleton import Kind, Use

PAGE = "http://a.test/"


def status_and_words(response: Response) -> tuple[int, bytes]:
    assert isinstance(response.body, bytes)
    return response.status, response.body


class Answering:
    """The answers of one proxy, from components of the test's own."""

    def __init__(self, at: AtWork, again: Component | None = None) -> None:
        self.asked_again: list[Component] = []
        self.again = again
        proxy = at.proxy
        self.answers = ComponentAnswers(
            *(proxy.uplink, proxy.export, proxy.previews),
            again=self._again,
            spared=lambda request, one: Response(200, [], b"spared"),
        )

    async def _again(self, request: Request, component: Component) -> Component | None:
        self.asked_again.append(component)
        return self.again

    async def answer(self, one: Component, *fields: tuple[str, str]) -> Response:
        return await self.answers.answer(Request("GET", one.url, list(fields)), one)


def component(*, levels: bool = False, complete: bool = True, promised: bool = True) -> Component:
    fields = [("content-type", JPEG if levels else "text/plain"), ("content-length", "9")]
    one = Component(
        8, 1, "http://a.test/p.jpg", Kind.IMAGE, Use.ELEMENT, head=OriginHead(200, fields, 9)
    )
    one.levels = LEVELS if levels else ()
    one.data, one.complete, one.promised = bytearray(DATA if complete else b""), complete, promised
    return one


def test_a_component_without_levels_is_the_origins_response() -> None:
    async def main() -> None:
        async with at_work() as at:
            answer = await Answering(at).answer(component())
            assert (answer.status, answer.length) == (200, 9)
            assert answer.headers == [("content-type", "text/plain")]
            assert await text_of(answer) == DATA
            head = await Answering(at).answers.answer(
                Request("HEAD", "http://a.test/p.jpg", []), component()
            )
            assert head.body == b""
            assert header(head.headers, "content-length") == "9"

    run(main())


def test_trailers_are_for_who_takes_them() -> None:
    async def main() -> None:
        async with at_work() as at:
            one = component()
            answers = Answering(at).answers
            takes = Request("GET", one.url, [], takes=Takes.TRAILERS)
            answer = await answers.answer(takes, one)
            one.trailers = [("a", "b")]
            assert answer.trailers is not None
            assert answer.trailers() == [("a", "b")]
            assert (await Answering(at).answer(one)).trailers is None

    run(main())


def test_a_program_gets_the_origins_bytes_of_a_picture_and_gets_them_soon() -> None:
    async def main() -> None:
        async with at_work() as at:
            one = component(levels=True, complete=False)
            one.identical = True
            answer = await Answering(at).answer(one)
            await moment()
            assert at.remote.of(m.Fetch) == [m.Fetch(8, NAMES[-1], 1)]
            one.data += DATA
            one.complete = True
            one.notify()
            assert await text_of(answer) == DATA

    run(main())


def test_what_can_not_be_restored_is_asked_for_anew() -> None:
    async def main() -> None:
        async with at_work() as at:
            one = component(levels=True)  # its last level is not the origin's, and has no recipe
            answering = Answering(at, again=component())
            assert await text_of(await answering.answer(one)) == DATA
            assert answering.asked_again == [one]
            unlinked = await Answering(at).answer(component(levels=True))
            assert unlinked.status == 504
            asked_for = await Answering(at).answer(component(levels=True, promised=False))
            assert asked_for.status == 502

    run(main())


@pytest.mark.parametrize("promised", [True, False])
def test_the_rest_of_what_a_client_has_left_is_called_off_unless_it_was_promised(
    promised: bool,
) -> None:
    async def main() -> None:
        async with at_work() as at:
            one = component(complete=False, promised=promised)
            answer = await Answering(at).answer(one)
            finish(answer)
            await moment()
            assert at.remote.of(m.Cancel) == []
            asking = asyncio.ensure_future(at.get("http://a.test/x"))
            await moment()
            request = at.remote.asked[0]
            at.remote.head(request.component)
            response = await asking
            finish(response, whole=False)
            await moment()
            assert at.remote.of(m.Cancel) == [m.Cancel(request.component)]

    run(main())


def test_a_failure_is_said_with_its_status_and_when_to_come_again() -> None:
    async def main() -> None:
        async with at_work() as at:
            one = Component(8, 1, PAGE)
            one.fail(ComponentFailed(429, "too many requests", retry=9))
            answer = await Answering(at).answer(one)
            status, words = status_and_words(answer)
            assert (status, header(answer.headers, "retry-after")) == (429, "9")
            assert b"too many requests" in words

    run(main())


def test_a_link_that_is_lost_and_stays_so_is_said_as_such() -> None:
    async def main() -> None:
        async with at_work(patience=2.0) as at:
            asking = asyncio.ensure_future(at.get("http://a.test/x"))
            await moment()
            at.remotes.refuses = True
            at.remote.close(LinkError("reset"))
            status, words = status_and_words(await asking)
            assert status == 504
            assert b"refused" in words

    run(main())


def test_something_stands_in_for_what_a_budget_has_no_room_for() -> None:
    async def main() -> None:
        async with at_work() as at:
            one = component(complete=False)
            one.head, one.spared = None, True
            one.failure = ComponentFailed(403, "Today's budget has no room for it.")
            answer = await Answering(at).answer(one)
            assert status_and_words(answer) == (200, b"spared")

    run(main())
