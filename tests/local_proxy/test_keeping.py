"""Requests by which a driver has its browser keep a final picture, without a browser."""

from __future__ import annotations

import pytest

from local_proxy.export_drivers.browser.page import PictureRequest, PictureStep
from local_proxy.export_drivers.markup.csp import ConnectSources
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component
from tests.local_proxy.export_world import (
    DATA,
    IMAGE,
    PREFIXES,
    URL,
    World,
    advance,
    component,
    run,
    text_of,
)
from wire.fields import Headers, header

ACCEPT = IMAGE[0][1]


async def coarse(world: World, one: Component, *fields: tuple[str, str]) -> str:
    """A page that was given the picture coarse, and all of it by now; the page's key."""
    driver = await world.page()
    await world.export.picture(one, Request("GET", URL, [*IMAGE, *fields]))
    advance(one, len(DATA))
    return driver.key


def told(world: World) -> list[PictureStep]:
    page = world.export.pages.of_document(1)
    assert page is not None
    return page.steps({})


async def ask(world: World, key: str, *fields: tuple[str, str], number: int = 7) -> Response:
    mark = ("content-language", f"sluice.{key}.{number}")
    answer = await world.export.own(Request("GET", URL, [*IMAGE, mark, *fields]))
    assert answer is not None
    return answer


def test_it_is_answered_once_from_what_is_held() -> None:
    async def main() -> None:
        world, one = World(), component(*PREFIXES, received=3)
        assert one.head is not None
        one.head.headers.append(("set-cookie", "a=1"))
        key = await coarse(world, one)
        (step,) = told(world)
        assert step.keep == PictureRequest(ACCEPT, cors=False)
        answer = await ask(world, key)
        assert (answer.status, await text_of(answer)) == (200, DATA)
        assert header(answer.headers, "cache-control") == "max-age=9"
        assert header(answer.headers, "etag") == '"x"'
        assert header(answer.headers, "set-cookie") == ""  # it could overwrite a newer one
        assert (await ask(world, key)).status == 204
        assert world.export.statistics().kept == 1
        assert world.fetched == []

    run(main())


@pytest.mark.parametrize(("key", "number"), [("0" * 24, 7), ("", 9)])
def test_what_is_not_held_never_crosses_the_link(key: str, number: int) -> None:
    async def main() -> None:
        world = World()
        own = await coarse(world, component(*PREFIXES, received=3))
        origin = ("origin", "http://a.test")
        answer = await ask(world, key or own, origin, number=number)
        assert (answer.status, header(answer.headers, "cache-control")) == (204, "no-store")
        assert header(answer.headers, "access-control-allow-origin") == "http://a.test"
        assert world.fetched == []

    run(main())


def test_other_requests_go_their_way() -> None:
    async def main() -> None:
        world = World()
        key = await coarse(world, component(*PREFIXES, received=3))
        for fields in (
            [("cache-control", "no-cache")],
            [("content-language", "de")],
            [("content-language", f"sluice.{key}.7x")],
        ):
            assert await world.export.own(Request("GET", URL, [*IMAGE, *fields])) is None
        mark = [("content-language", f"sluice.{key}.7")]
        assert await world.export.own(Request("POST", URL, mark)) is None

    run(main())


NOT_KEPT: list[Headers] = [
    [("cache-control", "no-store")],
    [("cache-control", "max-age=60"), ("vary", "*")],
    [],
]


@pytest.mark.parametrize("fields", NOT_KEPT)
def test_what_no_browser_would_keep_is_not_offered(fields: Headers) -> None:
    async def main() -> None:
        world, one = World(), component(*PREFIXES, received=3)
        assert one.head is not None
        one.head.headers[:] = [("content-type", "image/jpeg"), *fields]
        await coarse(world, one)
        (step,) = told(world)
        assert (step.level, step.keep) == ("original", None)

    run(main())


def test_multipart_is_offered_when_it_has_ended() -> None:
    async def main() -> None:
        world, one = World(multipart=True), component(*PREFIXES, received=3)
        key = (await world.page()).key
        fields = [*IMAGE, ("sec-fetch-mode", "cors")]
        response = await world.export.picture(one, Request("GET", URL, fields))
        page = world.export.pages.of_document(1)
        assert page is not None
        assert page.pending()
        advance(one, len(DATA))
        await text_of(response)
        assert told(world) == []
        for done in response.on_done:
            done(True)
        assert not page.pending()
        assert told(world) == [PictureStep(URL, 7, "", PictureRequest(ACCEPT, cors=True))]
        assert await text_of(await ask(world, key)) == DATA
        assert told(world) == []

    run(main())


def test_firefox_gets_the_coarse_level_elsewhere_and_keeps_its_own_origin_alone() -> None:
    async def main() -> None:
        agent = ("user-agent", "Mozilla/5.0 (X11; rv:153.0) Gecko/20100101 Firefox/153.0")
        world, one = World(), component(*PREFIXES, received=3)
        name = (await world.page()).name
        answer = await world.export.picture(one, Request("GET", URL, [*IMAGE, agent]))
        address = header(answer.headers, "location")
        assert (answer.status, address) == (307, f"{URL}?sluice-level={name}.7.low")
        level = await world.export.own(Request("GET", address, [*IMAGE, agent]))
        assert level is not None
        assert (await text_of(level), level.status) == (b"abc!", 200)
        assert header(level.headers, "cache-control") == "no-store"
        await world.page(2, "http://b.test/")
        one.document = 2
        other = await world.export.picture(one, Request("GET", URL, [*IMAGE, agent]))
        assert other.status == 200

    run(main())


ORIGIN = "https://a.test"
POLICIES = [
    ("", "https://b.test/p", True),
    ("", "http://b.test/p", False),  # mixed content
    ("img-src 'none'", "https://b.test/p", True),
    ("connect-src 'none'", "https://a.test/p", False),
    ("connect-src", "https://a.test/p", False),
    ("default-src 'self'", "https://a.test/p?q", True),
    ("default-src 'self'", "https://b.test/p", False),
    ("default-src 'self'; connect-src *", "https://b.test/p", True),
    ("connect-src https:", "https://b.test/p", True),
    ("connect-src http:", "https://b.test/p", False),
    ("connect-src b.test", "https://b.test/p", True),
    ("connect-src https://b.test/", "https://b.test/p", True),
    ("connect-src https://b.test/p", "https://b.test/p", False),  # paths are not looked at
    ("connect-src *.b.test", "https://c.b.test/p", True),
    ("connect-src *.b.test", "https://b.test/p", False),
    ("connect-src wss://b.test", "https://b.test/p", False),
    ("connect-src b.test:8443", "https://b.test/p", False),
    ("connect-src *, connect-src 'self'", "https://b.test/p", False),
    ("CONNECT-SRC 'SELF'", "https://A.test/p", True),
]


@pytest.mark.parametrize(("policy", "url", "allowed"), POLICIES)
@pytest.mark.parametrize("suffix", ["", "-report-only"])
def test_what_a_policy_lets_scripts_fetch(
    policy: str, url: str, allowed: bool, suffix: str
) -> None:
    headers = [("content-security-policy" + suffix, policy)]
    assert ConnectSources(headers, origin=ORIGIN).allow(url) is allowed
