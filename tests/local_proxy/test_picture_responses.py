"""Tests of the responses by which pictures reach browsers, and of fetching one once more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.browser.level_files import NoFile
from local_proxy.export_drivers.browser.pictures import (
    BOUNDARY,
    MAX_AGAIN,
    bare,
    body_of,
    coarse,
    elsewhere,
    final_level,
    finer,
    finest,
    multipart,
    once_more,
    own_bytes,
    to_keep,
    whole_as_it_comes,
    whole_level_by_level,
    whole_now,
)
from local_proxy.export_drivers.browser.refetch import Refetch
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from tests.local_proxy.ends import DATA, END, JPEG, LEVELS, URL, text_of
from wire.fields import Headers, header
from wire.skeleton import Kind, Level, Use

FIELDS: Headers = [
    *(("content-type", "image/png"), ("content-length", "9"), ("etag", '"x"'), ("age", "3")),
    *(("cache-control", "max-age=60"), ("digest", "sha-256=x"), ("accept-ranges", "bytes")),
    *(("set-cookie", "a=1"), ("access-control-allow-origin", "*"), ("vary", "accept")),
]
HEAD = OriginHead(200, FIELDS, 9)
LOW, MEDIUM, FINAL = LEVELS
PART = f"--{BOUNDARY}\r\nContent-Type: {JPEG}\r\n\r\n".encode()
LAST = f"\r\n--{BOUNDARY}--\r\n".encode()


def picture(*levels: Level, received: int = 0) -> Component:
    one = Component(7, 1, URL, Kind.IMAGE, Use.ELEMENT, head=HEAD, levels=levels)
    come(one, received)
    return one


def come(one: Component, size: int) -> None:
    one.data += DATA[one.received : size]
    one.complete = size == len(DATA)
    one.notify()


async def file_of(one: Component, level: Level) -> bytes:
    return one.file(level)


async def anew() -> bytes:
    return b"anew"


async def nobody() -> bytes:
    raise ComponentFailed(504, "no link")


def names(response: Response) -> set[str]:
    return {name for name, _ in response.headers}


def test_the_origins_bytes_go_with_all_that_it_said_of_them() -> None:
    said = [field for field in FIELDS if field[0] != "content-length"]
    assert whole_now(HEAD, b"file").headers == said
    assert bare(picture(received=9), HEAD).headers == said
    assert to_keep(HEAD, b"file").headers == [field for field in said if field[0] != "set-cookie"]


def test_other_bytes_go_without_what_was_said_of_the_origins_and_nobody_keeps_them() -> None:
    for response in (coarse(HEAD, LOW, b"low"), finest(HEAD, FINAL, b"all")):
        assert names(response) & {"etag", "digest", "age", "accept-ranges"} == set()
        assert header(response.headers, "cache-control") == "no-store"
        assert header(response.headers, "content-type") == JPEG
        assert header(response.headers, "set-cookie") == "a=1"
        assert header(response.headers, "vary") == "accept"
    again = once_more(HEAD, LOW, b"low")
    assert "set-cookie" not in names(again)
    assert header(again.headers, "cache-control") == "no-store"


def test_a_finer_level_gives_no_leave_to_read_it() -> None:
    one = finer(HEAD, MEDIUM, b"medium", readable=False)
    assert "access-control-allow-origin" not in names(one)
    assert "cross-origin-resource-policy" not in names(one)
    assert header(one.headers, "cache-control") == "private, max-age=300"
    head = OriginHead(200, [*FIELDS, ("cross-origin-resource-policy", "same-site")], 9)
    readable = finer(head, MEDIUM, b"medium", readable=True)
    assert "access-control-allow-origin" not in names(readable)
    assert header(readable.headers, "cross-origin-resource-policy") == "cross-origin"
    closed = OriginHead(200, [("cross-origin-resource-policy", "same-site")], 9)
    kept = finer(closed, MEDIUM, b"medium", readable=True)
    assert header(kept.headers, "cross-origin-resource-policy") == "same-site"


def test_a_level_elsewhere_is_a_redirect_that_is_not_kept() -> None:
    response = elsewhere(HEAD, URL + "?level")
    assert response.status == 307
    assert header(response.headers, "location") == URL + "?level"
    assert header(response.headers, "cache-control") == "no-store"
    assert names(response) & {"etag", "content-type", "content-length"} == set()


def test_the_last_level_is_read_as_it_comes_and_no_further() -> None:
    async def main() -> None:
        versions = (Level("low", 0, 3, JPEG), Level("original", 3, 6, JPEG, END))
        one = picture(*versions, received=4)
        assert final_level(one) == versions[1]
        response = whole_as_it_comes(one, HEAD)
        assert response.length == 3 + len(END)
        assert "etag" not in names(response)
        assert isinstance(response.body, AsyncIterator)
        assert await anext(response.body) == b"d"
        come(one, 9)  # a recipe follows
        assert await anext(response.body) == b"ef"
        assert await anext(response.body) == END
        assert await anext(response.body, None) is None
        one.identical = True
        assert "etag" in names(whole_as_it_comes(one, HEAD))

    run(main())


def test_a_last_level_that_stops_short_is_not_taken_for_whole() -> None:
    async def main() -> None:
        one = picture(*LEVELS, received=4)
        one.complete = True
        with pytest.raises(ComponentFailed):
            assert [chunk async for chunk in own_bytes(one, FINAL)]

    run(main())


def test_a_component_without_levels_is_read_as_it_is() -> None:
    async def main() -> None:
        one = picture(received=9)
        assert final_level(one) is None
        response = whole_as_it_comes(one, HEAD)
        assert (response.length, await text_of(response)) == (9, DATA)

    run(main())


def test_parts_replace_each_other_and_the_next_ones_head_goes_out_at_once() -> None:
    async def main() -> None:
        one = picture(*LEVELS, received=3)
        response = multipart(one, HEAD, (LOW, one.file(LOW)), file_of, anew)
        kind = header(response.headers, "content-type")
        assert kind == f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        body = response.body
        assert isinstance(body, AsyncIterator)
        assert await anext(body) == PART
        assert await anext(body) == b"abc" + END + b"\r\n" + PART
        come(one, 5)
        assert await anext(body) == b"abcde" + END + b"\r\n" + PART
        come(one, 9)
        assert await anext(body) == DATA + LAST
        assert await anext(body, None) is None

    run(main())


def test_parts_of_levels_that_have_come_meanwhile_are_left_out() -> None:
    async def main() -> None:
        one = picture(*LEVELS, received=3)
        response = multipart(one, HEAD, (LOW, one.file(LOW)), file_of, anew)
        come(one, 9)
        assert await text_of(response) == (PART + b"abc" + END + b"\r\n" + PART + DATA + LAST)

    run(main())


@pytest.mark.parametrize("reachable", [True, False])
def test_a_picture_that_fails_between_parts_is_fetched_anew_or_stays_as_it_is(
    reachable: bool,
) -> None:
    async def main() -> None:
        one = picture(*LEVELS, received=3)
        fetch = anew if reachable else nobody
        response = multipart(one, HEAD, (LOW, one.file(LOW)), file_of, fetch)
        one.fail(ComponentFailed(502, "gone"))
        last = b"anew" if reachable else b"abc" + END
        assert (await text_of(response)).endswith(PART + last + LAST)

    run(main())


def test_a_level_whose_coding_can_not_be_undone_is_passed_over() -> None:
    async def refuses(one: Component, level: Level) -> bytes:
        if level is not FINAL:
            raise NoFile(level.name)
        return one.file(level)

    async def main() -> None:
        one = picture(*LEVELS, received=3)
        response = multipart(one, HEAD, (LOW, b"low"), refuses, anew)
        reading = asyncio.ensure_future(text_of(response))
        await asyncio.sleep(0.1)
        come(one, 5)
        await asyncio.sleep(0.1)
        come(one, 9)
        assert await reading == PART + b"low\r\n" + PART + DATA + LAST

    run(main())


def test_a_coded_picture_grows_by_what_each_level_adds() -> None:
    async def main() -> None:
        one = picture(*LEVELS, received=3)
        response = whole_level_by_level(one, HEAD, file_of, anew)
        body = response.body
        assert isinstance(body, AsyncIterator)
        assert await anext(body) == b"abc"
        come(one, 9)
        assert [chunk async for chunk in body] == [b"de", b"fg" + END]

    run(main())


def test_a_coded_picture_that_does_not_go_on_as_it_began_breaks_off() -> None:
    async def other(one: Component, level: Level) -> bytes:
        return b"abc" + END if level is not FINAL else b"xyz"

    async def main() -> None:
        response = whole_level_by_level(picture(*LEVELS, received=9), HEAD, other, anew)
        with pytest.raises(ComponentFailed, match="does not go on"):
            await text_of(response)

    run(main())


async def megabytes(count: int) -> AsyncIterator[bytes]:
    piece = bytes(1 << 20)
    for _ in range(count):
        yield piece


def test_a_body_is_taken_whole_or_not_at_all() -> None:
    async def main() -> None:
        done: list[bool] = []
        assert await body_of(Response(200, [], b"file", on_done=[done.append])) == b"file"
        for response in (
            Response(404, [], b"no", on_done=[done.append]),
            Response(200, [], megabytes((MAX_AGAIN >> 20) + 1), on_done=[done.append]),
        ):
            with pytest.raises(ComponentFailed):
                await body_of(response)
        assert done == [True, True, False]

    run(main())


def test_a_picture_is_fetched_once_more_as_a_script_would() -> None:
    asked: list[Request] = []

    async def fetch(request: Request) -> Response:
        asked.append(request)
        return Response(200 if len(asked) < 3 else 404, [], b"again")

    async def main() -> None:
        refetch = Refetch(fetch)
        fields = [("accept", "image/*"), ("sec-fetch-dest", "image"), ("cookie", "a=1")]
        request = Request("GET", URL + "?sluice-level=x", fields)
        await refetch.response(request, URL)
        assert asked[0].url == URL
        assert header(asked[0].headers, "sec-fetch-dest") == "empty"
        assert header(asked[0].headers, "cookie") == "a=1"
        assert asked[0].original
        body = refetch.body(request)
        assert await body() == b"again"
        assert asked[1].url == request.url
        with pytest.raises(ComponentFailed):
            await body()
        await refetch.response(request, URL, known=False)
        assert not asked[3].original
        assert refetch.count == 4

    run(main())
