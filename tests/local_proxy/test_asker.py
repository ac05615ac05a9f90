"""Who may have more of a picture by what was asked for it first."""

from __future__ import annotations

import pytest

from local_proxy.export_drivers.browser.asker import Asker, shows
from local_proxy.http.model import Request
from tests.local_proxy.export_world import (
    IMAGE,
    PREFIXES,
    URL,
    World,
    advance,
    component,
    driver_in,
    run,
    text_of,
)
from wire.fields import Headers, header

COOKIE, OTHER = ("cookie", "sid=user"), ("cookie", "sid=guest")
ORIGIN, ELSEWHERE = ("origin", "http://a.test"), ("origin", "http://b.test")
LOGIN = ("authorization", "Basic eA==")


def asked(*fields: tuple[str, str]) -> Request:
    return Request("GET", "http://c.test/p.jpg", [*IMAGE, *fields])


@pytest.mark.parametrize(
    ("first", "then", "own", "others"),
    [
        ([COOKIE], [COOKIE], True, True),
        ([COOKIE], [("cookie", "sid=user")], True, True),
        ([("cookie", "a=1"), ("cookie", "b=2")], [("cookie", "a=1; b=2")], True, True),
        ([COOKIE], [], True, False),  # credentials: "omit"
        ([COOKIE], [OTHER], True, False),
        ([], [COOKIE], True, False),
        ([COOKIE], [COOKIE, ORIGIN], False, False),  # a script's, which could read the answer
        ([], [ORIGIN], False, False),
        ([ORIGIN], [ORIGIN], True, True),
        ([ORIGIN], [COOKIE], True, True),  # shown without CORS what the page may read
        ([ORIGIN], [ELSEWHERE], False, False),
        ([ORIGIN, COOKIE], [ORIGIN], True, False),
        ([LOGIN], [LOGIN], True, True),
        ([LOGIN], [], False, False),
        ([], [LOGIN], False, False),
    ],
)
def test_levels_are_for_whom_they_teach_nothing(
    first: Headers, then: Headers, own: bool, others: bool
) -> None:
    asker = Asker.of(asked(*first))
    assert asker.may_see(asked(*then), own=True) is own
    assert asker.may_see(asked(*then), own=False) is others


@pytest.mark.parametrize(
    ("first", "then", "own", "varying", "others"),
    [
        ([COOKIE], [COOKIE], True, True, True),
        ([COOKIE], [OTHER], True, False, False),
        ([COOKIE], [], True, False, False),
        ([ORIGIN], [], True, True, False),
        ([ORIGIN], [ELSEWHERE], False, False, False),
        ([], [ORIGIN], False, False, False),
        ([], [LOGIN], False, False, False),
    ],
)
def test_a_cache_gets_what_its_own_request_would_have_got(
    first: Headers, then: Headers, own: bool, varying: bool, others: bool
) -> None:
    asker = Asker.of(asked(*first))
    assert asker.may_keep(asked(*then), own=True, varies=False) is own
    assert asker.may_keep(asked(*then), own=True, varies=True) is varying
    assert asker.may_keep(asked(*then), own=False, varies=False) is others


def test_what_a_script_reads_is_not_shown() -> None:
    assert shows(asked())
    assert shows(asked(("sec-fetch-dest", "image")))
    assert not shows(asked(("sec-fetch-dest", "empty")))
    assert not shows(asked(("range", "bytes=0-")))
    assert not shows(Request("GET", URL, [("accept", "*/*")]))
    assert not shows(Request("POST", URL, IMAGE))


def test_a_level_for_anybody_else_is_fetched_anew_as_he_asks() -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        one = component(*PREFIXES, received=3)
        await world.export.picture(one, Request("GET", URL, [*IMAGE, COOKIE]))
        advance(one, 9)
        shown = await world.level(driver, "original", COOKIE)
        assert await text_of(shown) == b"abcdefghi"
        # Style rules ask without CORS: no leave to read is in a cache, where a script might find it
        assert header(shown.headers, "access-control-allow-origin") == ""
        assert header(shown.headers, "cross-origin-resource-policy") == ""
        for fields in ([COOKIE, ELSEWHERE], [COOKIE, ("sec-fetch-dest", "empty")], [LOGIN]):
            answer = await world.level(driver, "original", *fields)
            assert await text_of(answer) == b"again"
            again = world.fetched[-1]
            assert again.url == URL
            assert all(field in again.headers for field in fields if field[0] != "sec-fetch-dest")
            assert not again.original, "a site's switch holds for it"

    run(main())


def test_a_picture_that_was_asked_with_cors_is_shown_to_a_page_that_isolates_itself() -> None:
    async def main() -> None:
        world = World()
        driver = await world.page()
        one = component(*PREFIXES, received=3)
        await world.export.picture(one, Request("GET", URL, [*IMAGE, ORIGIN]))
        advance(one, 9)
        shown = await world.level(driver, "original", COOKIE)
        assert header(shown.headers, "cross-origin-resource-policy") == "cross-origin"

    run(main())


SCRIPT = [
    ("sec-fetch-dest", "script"),
    ("sec-fetch-mode", "no-cors"),
    ("sec-fetch-site", "same-origin"),
]


@pytest.mark.parametrize(
    "fields",
    [
        [("sec-fetch-dest", "empty"), *SCRIPT[1:]],  # fetch, XHR, a service worker
        [SCRIPT[0], ("sec-fetch-mode", "cors"), SCRIPT[2]],
        [*SCRIPT[:2], ("sec-fetch-site", "cross-site")],
        [ORIGIN],
    ],
)
def test_only_a_pages_own_script_element_gets_its_driver(fields: Headers) -> None:
    async def main() -> None:
        world = World()
        address = world.ticket()
        refused = await world.export.own(Request("GET", address, fields))
        assert driver_in(await text_of(refused)) is None
        assert refused is not None
        assert header(refused.headers, "vary") == "*", "Cache Storage would keep it"
        assert driver_in(await text_of(await world.export.own(Request("GET", address, SCRIPT))))

    run(main())


def test_a_driver_is_handed_out_once_and_its_key_with_it() -> None:
    async def main() -> None:
        world = World()
        address = world.ticket()
        first = driver_in(await text_of(await world.export.own(Request("GET", address, SCRIPT))))
        second = driver_in(await text_of(await world.export.own(Request("GET", address, SCRIPT))))
        assert first and second
        assert (first.name, first.key != second.key) == (second.name, True)
        assert (await world.say("events", first.key)).status == 404
        assert (await world.say("events", second.key)).status == 200

    run(main())


def test_where_browsers_do_not_say_who_asks_no_second_driver_is_handed_out() -> None:
    """Pictures of a page that a browser took out of its cache are whole, then."""

    async def main() -> None:
        world = World()
        address = world.ticket()
        assert driver_in(await text_of(await world.get(address)))
        assert driver_in(await text_of(await world.get(address))) is None
        one = component(*PREFIXES, received=3)
        answer = await world.export.picture(one, Request("GET", URL, IMAGE))
        assert (answer.length, world.export.statistics().streamed) == (9, 1)

    run(main())
