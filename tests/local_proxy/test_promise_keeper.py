"""Tests of keeping promises, and of which promised pictures are the origin's bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.promises import origin_bytes
from local_proxy.promises.initiators import Initiators
from local_proxy.promises.keeper import WITHHELD, KeptPromise, PromiseKeeper, wants_picture
from local_proxy.promises.origin_bytes import has, response, whole
from local_proxy.promises.rules import LIFETIME, Whose
from tests.local_proxy.ends import DATA, IMAGE, JPEG, LEVELS, URL, text_of
from wire.fields import Headers, header
from wire.skeleton import Kind, Level, Use

SENT: Headers = [("user-agent", "B"), ("accept", "image/*")]
OWN = Initiators(own=1)


class Kept:
    """A keeper, and what it has others do."""

    def __init__(self) -> None:
        self.urged: list[int] = []
        self.awaited: list[int] = []
        self.released: list[int] = []
        self.unwanted: list[int] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.keeper = PromiseKeeper(
            lambda one: self.urged.append(one.id),
            awaited=lambda one: self.awaited.append(one.id),
            release=lambda one: self.released.append(one.id),
            unwanted=lambda one: self.unwanted.append(one.id),
            later=lambda seconds, what: self.later.append((seconds, what)),
        )

    def promise(self, *, headed: bool = True, number: int = 2, **other: object) -> Component:
        one = Component(number, 1, URL, Kind.IMAGE, Use.ELEMENT, promised=True, **other)  # type: ignore[arg-type]
        if headed:
            fields = [("content-type", JPEG), ("etag", '"x"'), ("cache-control", "max-age=60")]
            one.head = OriginHead(200, fields, None)
        self.keeper.promised([one], SENT, now=0.0)
        return one

    async def find(
        self,
        *fields: tuple[str, str],
        who: Initiators = OWN,
        url: str = URL,
        original: bool = False,
    ) -> KeptPromise | None:
        request = Request("GET", url, [*SENT, *fields], original=original)
        return await self.keeper.find(request, lambda: who, now=1.0)


def test_a_promise_answers_the_request_that_it_was_made_for() -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise()
        assert await kept.find(url=URL + "x") is None
        assert await kept.find(who=Initiators()) is None
        found = await kept.find()
        assert found == KeptPromise(one, Whose.OWN)
        assert kept.keeper.statistics().kept == 1
        assert kept.released == []  # it was on its way

    run(main())


def test_what_a_budget_spared_is_asked_for_anew_by_who_wants_just_that() -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise(headed=False)
        one.spared = True
        one.fail(ComponentFailed(403, "Today's budget has no room for it."))
        assert await kept.find() is not None, "a box is what answers"
        assert await kept.find(original=True) is None

    run(main())


def test_a_request_waits_for_the_head_where_the_rules_need_it() -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise(headed=False)
        finding = asyncio.ensure_future(kept.find())
        await asyncio.sleep(1.0)
        assert not finding.done()
        one.head = OriginHead(500, [], None)
        one.notify()
        assert await finding is None
        assert kept.urged == []

    run(main())


def test_a_browser_that_asks_for_changes_is_told_there_are_none() -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise(headed=False)
        finding = asyncio.ensure_future(kept.find(("if-none-match", '"x"')))
        await asyncio.sleep(1.0)
        assert kept.urged == [one.id]
        fields = [("etag", '"x"'), ("date", "now"), ("content-type", JPEG)]
        one.head = OriginHead(200, fields, None)
        one.notify()
        found = await finding
        assert found is not None
        assert found.not_modified is not None
        assert found.not_modified.status == 304
        assert [name for name, _ in found.not_modified.headers] == ["etag", "date"]

    run(main())


@pytest.mark.parametrize(("status", "kept_all_the_same"), [(403, True), (502, False)])
def test_what_was_forbidden_stays_so_and_what_failed_is_asked_for_anew(
    status: int, kept_all_the_same: bool
) -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise(headed=False)
        one.fail(ComponentFailed(status, "no"))
        assert (await kept.find() is not None) is kept_all_the_same

    run(main())


def test_what_is_withheld_comes_once_it_is_wanted_and_is_given_up_otherwise() -> None:
    async def main() -> None:
        kept = Kept()
        wanted = kept.promise(withheld=True)
        await kept.find()
        assert kept.released == [wanted.id]
        assert not wanted.withheld
        ((seconds, expire),) = kept.later
        assert seconds == WITHHELD
        expire()
        assert kept.unwanted == []
        waiting, told = Kept(), kept
        other = waiting.promise(withheld=True)
        await waiting.find(("if-none-match", '"x"'))
        assert waiting.released == []  # the browser has it
        waiting.later[0][1]()
        assert waiting.unwanted == [other.id]
        assert told.unwanted == []

    run(main())


def test_who_wants_the_file_waits_until_it_is_known_what_the_levels_are() -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise()
        one.levels, one.unsettled = LEVELS[:1], True
        drawn = await kept.find()
        assert drawn is not None
        finding = asyncio.ensure_future(kept.find(("sec-fetch-dest", "empty")))
        await asyncio.sleep(1.0)
        assert not finding.done()
        one.levels, one.unsettled = LEVELS, False
        one.notify()
        assert await finding == drawn

    run(main())


def test_promises_go_with_their_document() -> None:
    async def main() -> None:
        kept = Kept()
        kept.promise(withheld=True)
        kept.keeper.close_document(1)
        assert await kept.find() is None
        kept.later[0][1]()
        assert kept.unwanted == []

    run(main())


def test_a_promise_whose_page_closes_while_another_is_waited_for_answers_nobody() -> None:
    async def main() -> None:
        kept = Kept()
        own = kept.promise(headed=False)
        theirs = Component(4, 3, URL, Kind.IMAGE, Use.ELEMENT, promised=True)
        kept.keeper.promised([theirs], SENT, now=0.0)
        finding = asyncio.ensure_future(kept.find(who=Initiators(own=1, peers=frozenset({3}))))
        await asyncio.sleep(1.0)
        kept.keeper.close_document(3)
        own.head = OriginHead(500, [], None)
        own.notify()
        assert await finding is None

    run(main())


def test_a_promise_that_fails_after_another_took_its_place_leaves_that_one() -> None:
    async def main() -> None:
        kept = Kept()
        first = kept.promise(headed=False)
        finding = asyncio.ensure_future(kept.find())
        await asyncio.sleep(1.0)
        kept.keeper.promised([], SENT, now=LIFETIME + 1.0)  # it has waited too long
        second = kept.promise(number=4)
        first.fail(ComponentFailed(502, "no"))
        assert await finding is None
        assert await kept.find() == KeptPromise(second, Whose.OWN)

    run(main())


def test_what_has_answered_one_page_tells_no_other_of_it() -> None:
    async def main() -> None:
        kept = Kept()
        kept.promise()
        mixed = Initiators(own=1, peers=frozenset((3,)), mixed=True)
        assert await kept.find(who=mixed) is not None
        assert await kept.find(who=mixed) is None
        assert await kept.find() is not None

    run(main())


def test_a_promise_of_which_the_start_is_gone_answers_nobody() -> None:
    async def main() -> None:
        kept = Kept()
        one = kept.promise()
        one.trimmed = 5
        assert await kept.find() is None

    run(main())


@pytest.mark.parametrize(
    ("fields", "wants"),
    [
        (IMAGE, True),
        ([*IMAGE, ("sec-fetch-dest", "image")], True),
        ([*IMAGE, ("sec-fetch-dest", "empty")], False),
        ([*IMAGE, ("range", "bytes=0-")], False),
        ([*IMAGE, ("cache-control", "no-transform")], False),
        ([("accept", "*/*")], False),
    ],
)
def test_only_who_draws_a_picture_may_get_it_coarse(fields: Headers, wants: bool) -> None:
    assert wants_picture(Request("GET", URL, fields)) is wants
    assert not wants_picture(Request("POST", URL, fields))
    assert not wants_picture(Request("GET", URL, fields, original=True))


# -- the origin's bytes ----------------------------------------------------------------------------


def picture(*levels: Level, identical: bool = True, coding: str = "") -> Component:
    one = Component(7, 1, URL, Kind.IMAGE, Use.ELEMENT, levels=levels)
    one.identical, one.coding = identical, coding
    return one


def test_only_a_last_level_that_is_the_file_as_it_is_is_the_origins() -> None:
    assert has(picture(*LEVELS))
    assert not has(picture(*LEVELS, identical=False))
    assert not has(picture(*LEVELS, coding="arithmetic"))
    assert not has(picture(*LEVELS[:2]))  # its file ends with a marker of ours
    assert not has(picture(Level("original", 0, 9, JPEG, width=4, height=3)))
    unsettled = picture(*LEVELS)
    unsettled.unsettled = True
    assert not has(unsettled)


def test_the_origins_response_has_its_fields_and_bytes_as_they_come() -> None:
    async def main() -> None:
        one = picture(Level("low", 0, 3, JPEG), Level("original", 3, 9, JPEG))
        head = OriginHead(200, [("etag", '"x"'), ("content-length", "99")], 99)
        answer = response(one, head)
        assert (answer.status, answer.length) == (200, 6)
        assert answer.headers == [("etag", '"x"')]
        assert header(answer.headers, "content-length") == ""
        reading = asyncio.ensure_future(text_of(answer))
        for end in (4, 9):
            one.data += DATA[len(one.data) : end]
            one.notify()
            await asyncio.sleep(0.1)
        assert await reading == DATA[3:]

    run(main())


def test_whoever_makes_the_origins_bytes_waits_for_all_of_it() -> None:
    async def main() -> None:
        one = picture(*LEVELS)
        waiting = asyncio.ensure_future(whole(one))
        one.data += DATA
        one.notify()
        await asyncio.sleep(0.1)
        assert not waiting.done()
        one.complete = True
        one.notify()
        await waiting
        failing = picture(*LEVELS)
        failing.fail(ComponentFailed(502, "gone"))
        with pytest.raises(ComponentFailed):
            await origin_bytes.whole(failing)

    run(main())


@pytest.mark.parametrize("headed", [False, True])
def test_what_is_not_here_when_it_is_asked_for_is_said(headed: bool) -> None:
    async def go() -> None:
        kept = Kept()
        one = kept.promise(headed=headed)
        finding = asyncio.create_task(kept.find())
        await asyncio.sleep(0)
        assert kept.awaited == ([] if headed else [one.id])
        finding.cancel()

    asyncio.run(go())
