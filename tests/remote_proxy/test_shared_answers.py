"""Devices share origins' answers as RFC 9111 allows; what they may not share each asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from email.utils import formatdate

import pytest

from emulation.memory.virtual_time import run
from remote_proxy.caching.answers import WAIT
from remote_proxy.caching.pulled import MAX_BODY
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from remote_proxy.reach.failures import OriginError
from remote_proxy.store.memory import MemoryStore
from tests.malformed import NO_UTF8
from tests.remote_proxy.scripted_origin import NOW, URL, Said, World
from wire.fields import Headers, header

FRESH: Headers = [("cache-control", "max-age=60")]
TAGGED: Headers = [*FRESH, ("etag", '"1"')]


def go(work: Callable[[], Awaitable[None]]) -> None:
    async def awaited() -> None:
        await work()

    run(awaited())


def test_a_second_reader_costs_the_origin_nothing() -> None:
    async def work() -> None:
        world = World(Said(headers=[*FRESH, ("content-type", "text/css")], body=b"x" * 200_000))
        counted: list[int] = []
        first, data = await world.get(device="a")
        world.now += 5
        second, again = await world.get(device="b", count=counted.append)
        assert (world.times, data, sum(counted)) == (1, again, 200_000)
        assert (second.status, second.reason, second.length) == (200, "Said", 200_000)
        assert second.headers == [*first.headers, ("age", "5")]
        assert world.answers.statistics.bytes_given == 200_000

    go(work)


def test_what_is_stale_is_asked_for_again_and_unchanged_costs_no_body() -> None:
    async def work() -> None:
        def answer(forwarded: ForwardedRequest) -> Said:
            same = header(forwarded.request.headers, "if-none-match") == '"1"'
            return Said(304, [*TAGGED, ("x", "new")]) if same else Said(headers=TAGGED)

        world = World(answer)
        await world.get()
        world.now += 61
        response, body = await world.get()
        assert (response.status, body, header(response.headers, "x")) == (200, b"body", "new")
        assert world.times == 2
        world.now += 59
        await world.get()
        assert world.times == 2  # it is fresh again

    go(work)


def test_a_304_that_speaks_of_something_else_is_not_believed() -> None:
    async def work() -> None:
        def answer(forwarded: ForwardedRequest) -> Said:
            asked = header(forwarded.request.headers, "if-none-match")
            return Said(304, [("etag", '"2"')]) if asked else Said(headers=TAGGED)

        world = World(answer)
        await world.get()
        world.now += 61
        response, body = await world.get()
        assert (response.status, body, world.times) == (200, b"body", 3)

    go(work)


def test_a_browser_that_asks_whether_it_has_changed_is_answered_from_here() -> None:
    async def work() -> None:
        world = World(Said(headers=TAGGED))
        await world.get()
        response, body = await world.get(("if-none-match", '"1"'))
        assert (response.status, body, world.times) == (304, b"", 1)
        world.origin.answer = Said(304, TAGGED)
        world.now += 61
        response, body = await world.get(("if-none-match", '"1"'))
        assert (response.status, body, world.times) == (304, b"", 2)
        await world.get()  # what its browser was told holds for others
        assert world.times == 2

    go(work)


def test_a_304_to_what_a_browser_has_says_nothing_of_what_is_kept() -> None:
    async def work() -> None:
        world = World(Said(headers=TAGGED))
        await world.get()
        world.now += 61
        world.origin.answer = Said(304)
        await world.get(("if-none-match", '"0"'))
        world.origin.answer = Said(headers=[*FRESH, ("etag", '"2"')], body=b"new")
        _, body = await world.get()
        assert body == b"new"

    go(work)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([("cookie", "a=1")], FRESH),
        ([("authorization", "Basic eA==")], [*FRESH, ("cache-control", "public")]),
        ([("x-forwarded-host", "evil.example")], FRESH),
        ([], [*FRESH, ("set-cookie", "a=1")]),
        ([], [("cache-control", "private, max-age=60")]),
        ([], [("cache-control", "no-store, max-age=60")]),
        ([], [("vary", "*"), *FRESH]),
        ([("cache-control", "no-store")], FRESH),
    ],
)
def test_what_nobody_else_may_have(asked: Headers, said: Headers) -> None:
    async def work() -> None:
        world = World(Said(headers=said))
        await world.get(*asked)
        await world.get(*asked)
        await world.get()
        assert world.times == 3

    go(work)


def test_a_login_that_only_a_script_knows_is_nobody_elses() -> None:
    async def work() -> None:
        world = World(
            lambda forwarded: Said(
                headers=FRESH, body=header(forwarded.request.headers, "api-key").encode()
            )
        )
        _, body = await world.get(("api-key", "alice"))
        assert body == b"alice"
        assert (await world.get())[1] == b""
        assert (await world.get(("api-key", "bob")))[1] == b"bob"
        assert world.times == 3

    go(work)


def test_a_connection_that_has_logged_in_keeps_its_device_apart() -> None:
    """As NTLM does: later requests over it say nothing of that."""

    async def work() -> None:
        world = World(Said(headers=FRESH, body=b"alice's"))
        await world.get(("authorization", "NTLM abc"), url=URL + "/login", device="alice")
        await world.get(device="alice")
        world.origin.answer = Said(headers=FRESH, body=b"anybody's")
        assert (await world.get(device="bob"))[1] == b"anybody's"
        await world.get(url="https://b.example/x", device="alice")
        await world.get(url="https://b.example/x", device="bob")
        assert world.times == 4  # at another origin she is as anybody

    go(work)


def test_a_login_of_one_request_is_no_other_requests() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH, body=b"anybody's"))
        await world.get(("authorization", "Bearer abc"), url=URL + "/mine", device="alice")
        await world.get(device="alice")
        await world.get(device="bob")
        await world.get(device="alice")
        assert world.times == 2

    go(work)


def test_an_origin_that_is_silent_is_left_when_its_reader_leaves() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        closed: list[float] = []
        world = World(Said(headers=FRESH, body_after=100.0))
        fetch = world.origin.fetch

        async def fetched(forwarded: ForwardedRequest) -> OriginResponse:
            response = await fetch(forwarded)
            return replace(response, close=lambda: closed.append(loop.time()))

        world.origin.fetch = fetched
        reading = asyncio.ensure_future(world.get())
        await asyncio.sleep(1.0)
        reading.cancel()
        await asyncio.sleep(0.1)
        assert closed and closed[0] < 1.5

    go(work)


def test_who_has_a_cookie_gets_what_is_for_all_where_the_origin_says_so() -> None:
    async def work() -> None:
        world = World(Said(headers=[("cache-control", "public, max-age=60")]))
        await world.get()
        await world.get(("cookie", "a=1"))
        assert world.times == 1
        world = World(Said(headers=FRESH))
        await world.get()
        await world.get(("cookie", "a=1"))
        assert world.times == 2

    go(work)


def test_answers_that_requests_choose_are_kept_apart() -> None:
    async def work() -> None:
        def answer(forwarded: ForwardedRequest) -> Said:
            language = header(forwarded.request.headers, "accept-language")
            return Said(headers=[*FRESH, ("vary", "Accept-Language")], body=language.encode())

        world = World(answer)
        for language in ("de", "fr", "de", "fr"):
            _, body = await world.get(("accept-language", language))
            assert body == language.encode()
        assert world.times == 2
        for number in range(20):  # only so many are kept
            await world.get(("accept-language", str(number)))
        await world.get(("accept-language", "19"))
        assert world.times == 22
        await world.get(("accept-language", "de"))
        assert world.times == 23

    go(work)


def test_another_origins_script_gets_an_answer_of_its_own() -> None:
    async def work() -> None:
        def answer(forwarded: ForwardedRequest) -> Said:
            origin = header(forwarded.request.headers, "origin")
            return Said(headers=[*FRESH, ("access-control-allow-origin", origin)])

        world = World(answer)
        for origin in ("https://b.example", "https://c.example"):
            response, _ = await world.get(("origin", origin))
            assert header(response.headers, "access-control-allow-origin") == origin

    go(work)


def test_a_change_makes_all_ask_again() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH))
        await world.get()
        await world.get(url=URL + "/list")
        await world.get(url="https://b.example/x")
        changed = [("location", "/x/list"), ("content-location", "https://b.example/x")]
        world.origin.answer = Said(500, changed)
        await world.get(method="POST")
        world.origin.answer = Said(headers=FRESH)
        await world.get()
        assert world.times == 4  # it had failed
        world.origin.answer = Said(201, changed)
        await world.get(method="PUT")
        world.origin.answer = Said(headers=FRESH)
        await world.get()
        await world.get(url=URL + "/list")
        assert world.times == 7
        await world.get(url="https://b.example/x")  # of which another origin may say nothing
        assert world.times == 7

    go(work)


def test_parts_and_heads_come_from_what_is_kept_and_are_not_kept_themselves() -> None:
    async def work() -> None:
        world = World(Said(headers=TAGGED, body=b"0123456789"))
        await world.get(("range", "bytes=0-1"))
        await world.get(method="HEAD")
        await world.get()
        assert world.times == 3
        response, body = await world.get(("range", "bytes=3-5"))
        assert (response.status, body, response.length) == (206, b"345", 3)
        response, body = await world.get(method="HEAD")
        assert (response.status, body) == (200, b"")
        assert world.times == 3
        await world.get(("range", "bytes=0-1,5-6"))
        assert world.times == 4

    go(work)


def test_only_what_is_kept_or_nothing() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH))
        only = ("cache-control", "only-if-cached")
        response, _ = await world.get(only)
        assert (response.status, world.times) == (504, 0)
        await world.get()
        response, _ = await world.get(only)
        assert (response.status, world.times) == (200, 1)

    go(work)


def test_what_may_be_stale_while_it_is_asked_for_is_given_at_once() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        said = [("cache-control", "max-age=60, stale-while-revalidate=600"), ("etag", '"1"')]
        world = World(Said(headers=said))
        await world.get()
        world.now += 61
        world.origin.answer = Said(headers=said, body=b"new", head_after=1.0)
        began = loop.time()
        for _ in range(3):
            _, body = await world.get(("cache-control", "max-age=3600"))
            assert body == b"body"
        assert loop.time() == began
        assert world.times == 2  # once for all of them
        await asyncio.sleep(1.1)
        _, body = await world.get()
        assert (body, world.times) == (b"new", 2)
        world.now += 661
        world.origin.answer = Said(headers=said, body=b"newer")
        _, body = await world.get()
        assert body == b"newer"
        world.now += 61
        world.origin.down = True
        _, body = await world.get()
        assert body == b"newer"
        await asyncio.sleep(1.0)  # that it could not be asked is nobody's failure

    go(work)


def test_who_can_not_decode_it_does_not_get_it() -> None:
    async def work() -> None:
        def answer(forwarded: ForwardedRequest) -> Said:
            codings = header(forwarded.request.headers, "accept-encoding")
            coded = "gzip" in codings
            return Said(headers=[*FRESH, ("content-encoding", "gzip")] if coded else FRESH)

        world = World(answer)
        await world.get(("accept-encoding", "gzip, br"))
        await world.get(("accept-encoding", "br,gzip"))
        assert world.times == 1
        response, _ = await world.get(("accept-encoding", "identity"))
        assert header(response.headers, "content-encoding") == ""

    go(work)


def test_an_origin_that_is_down_is_spoken_for_where_it_has_allowed_that() -> None:
    async def work() -> None:
        world = World(Said(headers=[("cache-control", "max-age=60, stale-if-error=600")]))
        await world.get()
        world.now += 61
        world.origin.down = True
        response, body = await world.get()
        assert (response.status, body, header(response.headers, "age")) == (200, b"body", "61")
        world.origin.down = False
        world.origin.answer = Said(503)
        response, body = await world.get()
        assert (response.status, body) == (200, b"body")
        world.now += 600
        response, _ = await world.get()
        assert response.status == 503
        world.origin.down = True
        with pytest.raises(OriginError):
            await world.get()

    go(work)


@pytest.mark.parametrize(
    "said",
    [
        Said(headers=FRESH, breaks=True),
        Said(headers=FRESH, body=bytes(MAX_BODY + 1)),
        Said(headers=FRESH, body=bytes(MAX_BODY + 1), chunked=True),
        Said(headers=FRESH, chunked=True, trailers=[("x", "1")]),
    ],
)
def test_what_is_not_kept(said: Said) -> None:
    async def work() -> None:
        world = World(said)
        for _ in range(2):
            if said.breaks:
                with pytest.raises(OriginError, match="broke off"):
                    await world.get()
            else:
                response, body = await world.get()
                assert len(body) == len(said.body)
                assert response.trailers() == said.trailers
        assert world.times == 2
        assert world.answers.statistics.kept == 0

    go(work)


def test_fifty_that_ask_at_once_cost_one_request() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH, head_after=0.3, body_after=0.3))
        got = await asyncio.gather(*(world.get(device=str(number)) for number in range(50)))
        assert {body for _, body in got} == {b"body"}
        assert world.times == 1

    go(work)


def test_fifty_at_four_remotes_cost_one_request() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH, head_after=0.3, body_after=0.3))
        remotes = [world.remote() for _ in range(4)]
        got = await asyncio.gather(
            *(world.get(device=str(number), remote=remotes[number % 4]) for number in range(50))
        )
        assert {body for _, body in got} == {b"body"}
        assert world.times == 1

    go(work)


class LateClaims(MemoryStore):
    """Answers who asks whether he is the first a second later, from the second time on."""

    claims = 0

    async def claim(self, key: bytes, *, seconds: float) -> bool:
        self.claims += 1
        if self.claims > 1:
            await asyncio.sleep(1.0)
        return await super().claim(key, seconds=seconds)


def test_who_learns_late_that_he_may_ask_looks_whether_somebody_has() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH, head_after=0.3), LateClaims(64 << 20))
        first = asyncio.ensure_future(world.get())
        await asyncio.sleep(0.1)
        second = await world.get(remote=world.remote())  # it has found nothing, and no claim at 1.1
        await first
        assert second[1] == b"body"
        assert world.times == 1
        world.now += 100
        await world.get()  # stale: whoever was given it holds up nobody
        assert world.times == 2

    go(work)


def test_who_wants_only_what_is_kept_is_not_waited_for() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        world = World(Said(headers=FRESH))
        began = loop.time()
        assert (await world.get(("cache-control", "only-if-cached")))[0].status == 504
        await world.get(remote=world.remote())
        assert loop.time() - began < 0.01

    go(work)


def test_nobody_waits_long_for_what_turns_out_to_be_anothers() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        world = World(Said(headers=[("cache-control", "private")], head_after=0.3))
        began = loop.time()
        await asyncio.gather(*(world.get() for _ in range(5)))
        assert loop.time() - began == pytest.approx(0.6, abs=0.05)
        assert world.times == 5
        began = loop.time()
        await asyncio.gather(*(world.get() for _ in range(5)))
        assert loop.time() - began == pytest.approx(0.3, abs=0.05)  # that is remembered
        world.origin.answer = Said(headers=FRESH, head_after=10.0)
        began = loop.time()
        other = URL + "/slow"
        await asyncio.gather(*(world.get(url=other) for _ in range(5)))
        assert loop.time() - began == pytest.approx(10.0 + WAIT, abs=0.05)

    go(work)


def test_who_asked_first_and_fails_holds_up_nobody() -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        world = World(Said(headers=FRESH, head_after=0.3))
        first = asyncio.ensure_future(world.get())
        await asyncio.sleep(0.1)
        second = asyncio.ensure_future(world.get())
        await asyncio.sleep(0.1)
        first.cancel()
        began = loop.time()
        _, body = await second
        assert body == b"body"
        assert loop.time() - began == pytest.approx(0.3, abs=0.05)

    go(work)


def test_who_waits_and_leaves_is_not_waited_for() -> None:
    async def work() -> None:
        world = World(Said(headers=FRESH, head_after=0.2, body_after=0.3))
        first = asyncio.ensure_future(world.get())
        await asyncio.sleep(0.1)
        second = asyncio.ensure_future(world.get())
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.sleep(0.1)
        first.cancel()  # while its body comes: nobody else wants it
        await asyncio.sleep(1.0)
        assert world.answers.statistics.kept == 0
        await world.get()
        assert world.times == 2

    go(work)


def test_a_store_that_loses_bodies_costs_a_request_and_nothing_else() -> None:
    class Lossy(MemoryStore):
        async def get(self, key: bytes) -> bytes | None:
            value = await super().get(key)
            return None if value == b"body" else value

    async def work() -> None:
        world = World(Said(headers=TAGGED), store=Lossy(1 << 20))
        for _ in range(3):
            response, body = await world.get()
            assert (response.status, body) == (200, b"body")
        assert world.times == 3
        world.now += 61
        world.origin.answer = lambda forwarded: (
            Said(304, TAGGED)
            if header(forwarded.request.headers, "if-none-match")
            else Said(headers=TAGGED)
        )
        _, body = await world.get()
        assert body == b"body"

    go(work)


@pytest.mark.parametrize("said", [b"\x93\x01\x02", b"\x91\x98\xcc\xc8" + NO_UTF8])
def test_a_store_that_says_anything_is_not_believed(said: bytes) -> None:
    class Broken(MemoryStore):
        async def get(self, key: bytes) -> bytes | None:
            return said if await super().get(key) is not None else None

    async def work() -> None:
        world = World(Said(headers=FRESH), store=Broken(1 << 20))
        for _ in range(3):
            _, body = await world.get()
            assert body == b"body"
        assert world.times == 3

    go(work)


def test_dates_of_origins_count() -> None:
    async def work() -> None:
        expires = ("expires", formatdate(NOW + 60, usegmt=True))
        world = World(Said(headers=[expires, ("date", formatdate(NOW, usegmt=True))]))
        await world.get()
        world.now += 59
        await world.get()
        assert world.times == 1
        world.now += 2
        await world.get()
        assert world.times == 2

    go(work)
