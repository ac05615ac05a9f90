"""Preflights that the remote proxy makes: what is asked, what is remembered, what goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import pytest

from remote_proxy.origin import preflights as module
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from remote_proxy.origin.preflights import AskedPreflights
from remote_proxy.reach.failures import Failure, OriginError
from tests.watched import run
from web.cors import may_be_read
from wire.abilities import Takes
from wire.fields import Headers
from wire.origin_request import OriginRequest

URL = "https://api.test/things"
HERE = "https://page.test"
LEAVE: Headers = [
    ("access-control-allow-origin", HERE),
    ("access-control-allow-methods", "PUT"),
    ("access-control-allow-headers", "x-key"),
    ("access-control-max-age", "600"),
]
ASKED: Headers = [
    ("accept", "application/json"),
    ("accept-language", "en"),
    ("origin", HERE),
    ("referer", HERE + "/"),
    ("sec-fetch-mode", "cors"),
    ("user-agent", "Mozilla/5.0 Firefox/140"),
    ("x-key", "secret"),
    ("access-control-request-method", "PUT"),
    ("access-control-request-headers", "x-key"),
]


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


class World:
    """What has been asked of the origin, which answers with `leave`."""

    def __init__(self) -> None:
        self.asked: list[ForwardedRequest] = []
        self.passed: list[ForwardedRequest] = []
        self.closed = 0
        self.leave, self.status = LEAVE, 204
        self.preflights = AskedPreflights(self._fetch)

    async def _fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        if forwarded.request.method != "OPTIONS":
            self.passed.append(forwarded)
            return OriginResponse(200, "", [], _nothing(), 0, lambda: None)
        self.asked.append(forwarded)
        return OriginResponse(self.status, "", self.leave, _nothing(), 0, self._close)

    def _close(self) -> None:
        self.closed += 1

    async def passes(
        self,
        *more: tuple[str, str],
        without: str = "",
        url: str = URL,
        device: str = "d",
        takes: Takes = Takes.PREFLIGHT,
        method: str = "PUT",
    ) -> OriginResponse:
        fields = [field for field in ASKED if field[0] != without]
        request = OriginRequest(method, url, [*fields, *more], takes=takes)
        return await self.preflights.fetch(ForwardedRequest(request, device=device))

    async def is_refused(self, *more: tuple[str, str], without: str = "") -> None:
        with pytest.raises(OriginError) as refusal:
            await self.passes(*more, without=without)
        assert refusal.value.kind is Failure.FORBIDDEN
        assert refusal.value.status == 403
        assert self.passed == []


def in_world(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(World())

    run(main())


def test_the_question_is_the_browsers_and_the_request_as_it_was() -> None:
    async def scenario(world: World) -> None:
        await world.passes()
        (asked,), (passed,) = world.asked, world.passed
        assert (asked.request.method, asked.request.url) == ("OPTIONS", URL)
        assert asked.device == "d" and asked.body is None
        kept = ("accept-language", "origin", "referer", "sec-fetch-mode", "user-agent")
        said = [field for field in ASKED if field[0] in kept or field[0].startswith("access-")]
        assert asked.request.headers == [("accept", "*/*"), *said]
        assert passed.request.headers == ASKED[:-2]
        assert world.closed == 1

    in_world(scenario)


def test_what_needs_no_leave_passes_unasked() -> None:
    async def scenario(world: World) -> None:
        await world.passes(takes=Takes.NOTHING)
        assert [one.request.headers for one in world.passed] == [ASKED]
        assert world.asked == []

    in_world(scenario)


def test_leave_is_remembered_for_just_that_and_as_long_as_it_says() -> None:
    async def scenario(world: World) -> None:
        for _ in range(3):
            await world.passes()
        assert len(world.asked) == 1
        await world.passes(url=URL + "?1")
        await world.passes(device="other")
        world.leave = [*LEAVE, ("access-control-allow-credentials", "true")]
        await world.passes(("cookie", "id=7"))
        assert len(world.asked) == 4
        world.leave = [*LEAVE[:-1], ("access-control-max-age", "0")]
        for _ in range(2):
            await world.passes(url=URL + "?2")
        assert len(world.asked) == 6

    in_world(scenario)


def test_leave_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: World) -> None:
        loop, later = asyncio.get_running_loop(), 0.0
        now = loop.time()
        monkeypatch.setattr(loop, "time", lambda: now + later)
        await world.passes()
        later = 599.0
        await world.passes()
        assert len(world.asked) == 1
        later = 601.0
        await world.passes()
        assert len(world.asked) == 2

    in_world(scenario)


def test_without_leave_nothing_goes_on_and_nothing_is_remembered() -> None:
    async def scenario(world: World) -> None:
        world.leave = LEAVE[:-2]
        await world.is_refused()
        world.leave, world.status = LEAVE, 404
        await world.is_refused()
        world.status = 204
        await world.is_refused(("cookie", "id=7"))  # leave without credentials
        await world.passes()
        assert len(world.asked) == world.closed == 4

    in_world(scenario)


def test_credentials_are_what_no_script_has_written() -> None:
    async def scenario(world: World) -> None:
        await world.is_refused(("authorization", "Basic x"))
        names = ("access-control-request-headers", "authorization")
        world.leave = [*LEAVE, ("access-control-allow-headers", "authorization")]
        await world.passes(names, ("authorization", "Bearer x"))

    in_world(scenario)


@pytest.mark.parametrize("without", ["x-key", "access-control-request-method"])
def test_a_device_that_says_nothing_clear_gets_nothing(without: str) -> None:
    async def scenario(world: World) -> None:
        await world.is_refused(without=without)
        assert world.asked == []

    in_world(scenario)


def test_an_origin_that_fails_fails_the_request() -> None:
    async def fetch(forwarded: ForwardedRequest) -> OriginResponse:
        raise OriginError(Failure.DNS, "there is no server by that name")

    async def scenario(world: World) -> None:
        world.preflights = AskedPreflights(fetch)
        with pytest.raises(OriginError) as failure:
            await world.passes()
        assert failure.value.kind is Failure.DNS

    in_world(scenario)


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)

    async def scenario(world: World) -> None:
        for number in range(4):
            await world.passes(url=f"{URL}?{number}")
        await world.passes(url=f"{URL}?3")
        assert len(world.asked) == 4
        await world.passes(url=f"{URL}?0")
        assert len(world.asked) == 5

    in_world(scenario)


def test_who_alone_can_judge_an_answer_is_led_to_ask_for_it() -> None:
    async def scenario(world: World) -> None:
        world.leave = [
            ("access-control-allow-origin", HERE),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", "*"),
            ("access-control-allow-headers", "x-key"),
        ]
        for _ in range(2):
            led = await world.passes()
            assert led.status == 307
            assert ("location", URL) in led.headers
            assert may_be_read(led.headers, HERE, credentials=True)
        assert world.passed == []
        said = await world.passes(takes=Takes.NOTHING, method="OPTIONS", without="x-key")
        assert (said.status, said.headers) == (204, world.leave)
        assert len(world.asked) == 2
        # It has been said, so the next is another question.
        await world.passes(takes=Takes.NOTHING, method="OPTIONS", without="x-key")
        assert len(world.asked) == 3
        # With cookies there is no doubt.
        await world.is_refused(("cookie", "id=7"))

    in_world(scenario)


def test_a_request_sent_once_more_is_judged_once_more() -> None:
    request = OriginRequest("GET", URL, ASKED)
    assert request.repeatable
    assert not replace(request, takes=Takes.PREFLIGHT).repeatable
