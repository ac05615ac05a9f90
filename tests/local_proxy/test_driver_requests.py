"""Tests of what the driver in a page is given, and of the tag that brings it there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.browser.asker import Asker
from local_proxy.export_drivers.browser.channels import Channels
from local_proxy.export_drivers.browser.driver_requests import MAX_KEY, DriverRequests
from local_proxy.export_drivers.browser.level_files import LevelFiles
from local_proxy.export_drivers.browser.page import BrowserPage, PictureStep
from local_proxy.export_drivers.browser.pages import Pages
from local_proxy.export_drivers.browser.refetch import Refetch
from local_proxy.export_drivers.browser.standing import MAX_STANDING
from local_proxy.export_drivers.markup.csp import CHANNEL_PATH, DRIVER_PATH, ConnectSources
from local_proxy.export_drivers.markup.driver_tag import tagged
from local_proxy.http.model import Request, Response
from local_proxy.tracking_drivers.browser import MAX_BEACON
from tests.local_proxy.export_world import (
    IMAGE,
    PREFIXES,
    URL,
    component,
    driver_in,
    stream,
    text_of,
)
from tests.local_proxy.site import Quiet
from wire.continuation import Window
from wire.fields import Headers, header

ORIGIN = "http://a.test"
SCRIPT: Headers = [
    ("sec-fetch-dest", "script"),
    ("sec-fetch-mode", "no-cors"),
    ("sec-fetch-site", "same-origin"),
]


class NothingThere(Quiet):
    """Has no original of anything."""

    def original(self, document: int, url: str) -> bool:
        super().original(document, url)
        return False


class Drivers:
    """One page, and what answers its driver."""

    def __init__(self, tracker: Quiet | None = None) -> None:
        self.pages = Pages(now=lambda: 5.0, secret=b"s")
        self.tracker = tracker or Quiet()
        self.fetched: list[Request] = []
        self.windows: dict[str, Window] = {}
        self.requests = DriverRequests(
            now=lambda: 5.0,
            pages=self.pages,
            channels=Channels(),
            files=LevelFiles(None),
            refetch=Refetch(self.fetch),
            tracker=self.tracker,
            window=self.windows.__setitem__,
            host="sluice.local",
        )
        self.pages.open(1, f"{ORIGIN}/")
        page = self.pages.of_document(1)
        assert page is not None
        self.page = page

    async def fetch(self, request: Request) -> Response:
        self.fetched.append(request)
        return Response(200, [], b"again")

    async def get(self, url: str, *fields: tuple[str, str]) -> Response | None:
        return await self.requests.answer(Request("GET", url, list(fields)))

    async def driver(self, *fields: tuple[str, str]) -> Response:
        ticket = self.pages.ticket(self.page)
        answer = await self.get(f"{ORIGIN}{DRIVER_PATH}?d={ticket}", *fields)
        assert answer is not None
        return answer

    async def say(self, body: bytes) -> Response:
        said = stream(self.page.key.encode() + b"\n", body)
        url = f"{ORIGIN}{CHANNEL_PATH}beacon"
        answer = await self.requests.answer(Request("POST", url, [], body=said))
        assert answer is not None
        return answer

    async def level(self, name: str, *fields: tuple[str, str]) -> Response:
        answer = await self.get(f"{URL}?sluice-level={self.page.name}.7.{name}", *IMAGE, *fields)
        assert answer is not None
        return answer


def test_a_pages_own_script_element_is_given_a_driver_with_its_key() -> None:
    async def main() -> None:
        drivers = Drivers()
        answer = await drivers.driver(*SCRIPT)
        script = await text_of(answer)
        given = driver_in(script)
        assert given == (drivers.page.key, drivers.page.name)
        assert b"@" not in script.replace(b"@media", b"")
        assert header(answer.headers, "cache-control") == "no-store"
        assert header(answer.headers, "vary") == "*"

    run(main())


@pytest.mark.parametrize(
    "fields",
    [
        [SCRIPT[0], SCRIPT[1], ("sec-fetch-site", "cross-site")],
        [("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors"), SCRIPT[2]],
        [("origin", ORIGIN)],
    ],
)
def test_who_could_read_the_driver_is_given_none(fields: Headers) -> None:
    async def main() -> None:
        drivers = Drivers()
        answer = await drivers.driver(*fields)
        assert driver_in(await text_of(answer)) is None
        assert not drivers.page.claimed

    run(main())


def test_below_the_drivers_path_nothing_is_the_origins() -> None:
    async def main() -> None:
        drivers = Drivers()
        for path in ("", "other", "driver.js", "events", "beacon"):
            answer = await drivers.get(f"{ORIGIN}{CHANNEL_PATH}{path}")
            assert answer is not None
            assert answer.status == 404
        assert await drivers.get(f"{ORIGIN}/driver.js") is None

    run(main())


def test_a_beacon_tells_the_tracker_and_a_bad_one_tells_nobody() -> None:
    async def main() -> None:
        drivers = Drivers()
        drivers.page.closed_at = 1.0
        assert (await drivers.say(b'{"v":true,"o":"http://a.test/p"}')).status == 204
        assert drivers.tracker.heard == [
            ("original", 1, "http://a.test/p"),
            ("visible", 1, True),
        ]
        assert drivers.page.closed_at is None
        for body in (b"", b"{", b'{"x":1}', b" " * (MAX_BEACON + MAX_KEY)):
            assert (await drivers.say(body)).status == 400
        assert len(drivers.tracker.heard) == 2
        assert (drivers.requests.beacons, drivers.requests.bad_beacons) == (1, 4)

    run(main())


def test_an_original_that_nobody_has_is_fetched_anew_by_the_driver() -> None:
    async def main() -> None:
        drivers = Drivers(NothingThere())
        await drivers.say(b'{"o":"http://a.test/p"}')
        assert drivers.page.steps({}) == [PictureStep("http://a.test/p", 0, "again")]

    run(main())


def test_a_level_is_finer_than_what_was_shown_or_the_same_once_more() -> None:
    async def main() -> None:
        drivers, one = Drivers(), component(*PREFIXES, received=9)
        drivers.page.remember(one, PREFIXES[0], asker=Asker(), keep=None)
        again = await drivers.level("low")
        assert header(again.headers, "cache-control") == "no-store"
        assert drivers.requests.levels_served == 0
        medium = await drivers.level("medium")
        assert (medium.body, drivers.requests.levels_served) == (b"abcde!", 1)
        assert drivers.page.pictures[7].served_at is None
        await drivers.level("original")
        assert drivers.page.pictures[7].served_at == 5.0
        assert drivers.fetched == []

    run(main())


def test_a_level_that_is_not_here_or_not_for_the_asker_is_fetched_from_the_origin() -> None:
    async def main() -> None:
        drivers, one = Drivers(), component(*PREFIXES, received=3)
        drivers.page.remember(one, PREFIXES[0], asker=Asker(), keep=None)
        assert (await drivers.level("medium")).body == b"again"
        stranger = await drivers.level("low", ("authorization", "Basic eA=="))
        assert stranger.body == b"again"
        assert header(stranger.headers, "vary") == "*"
        assert [request.url for request in drivers.fetched] == [URL, URL]
        assert [request.original for request in drivers.fetched] == [True, False]

    run(main())


# -- the tag ---------------------------------------------------------------------------------------

HTML = [("content-type", "text/html")]
PAGE = b"<!doctype html><html><head><title>t</title></head></html>"
DRIVER = "/driver.js?d=1"


def page() -> BrowserPage:
    return BrowserPage(1, f"{ORIGIN}/", name="n", key="k")


def test_a_page_has_the_tag_and_is_not_called_the_same_bytes() -> None:
    one = page()
    fields = [*HTML, ("content-length", "57"), ("etag", '"x"'), ("accept-ranges", "bytes")]
    answer = tagged(Response(200, fields, PAGE, trailers=list), one, driver=DRIVER)
    assert one.injected
    assert isinstance(answer.body, bytes)
    assert answer.body.replace(b'<script src="/driver.js?d=1"></script>', b"") == PAGE
    assert b"driver.js" in answer.body
    assert {"content-length", "accept-ranges"} & {name for name, _ in answer.headers} == set()
    assert header(answer.headers, "etag") != '"x"'
    assert answer.trailers is None


@pytest.mark.parametrize(
    ("status", "fields"),
    [
        (200, [("content-type", "text/plain")]),
        (200, [*HTML, ("content-encoding", "gzip")]),
        (200, [*HTML, ("content-disposition", "Attachment; filename=a")]),
        (200, [*HTML, ("cache-control", "No-Transform")]),
        (200, [*HTML, ("integrity-policy", "blocked-destinations=(script)")]),
        (204, HTML),
        (206, HTML),
        (304, [("content-type", "text/css")]),
    ],
)
def test_what_must_stay_as_it_is_stays(status: int, fields: Headers) -> None:
    one, response = page(), Response(status, list(fields), PAGE)
    assert tagged(response, one, driver=DRIVER) is response
    assert not one.injected


def test_a_policy_lets_the_tag_in_by_its_nonce() -> None:
    fields = [*HTML, ("content-security-policy", "script-src 'nonce-abc'")]
    answer = tagged(Response(200, fields, PAGE), page(), driver=DRIVER)
    assert isinstance(answer.body, bytes)
    assert b'nonce="abc"' in answer.body


def test_of_a_page_that_has_not_changed_only_the_fields_are_renewed() -> None:
    one = page()
    answer = tagged(Response(304, [("etag", '"x"')]), one, driver=DRIVER)
    assert (one.injected, answer.body) == (True, b"")
    assert header(answer.headers, "etag") == 'W/"x;sluice"'


def test_a_page_that_comes_in_pieces_has_the_tag_in_its_place_and_tells_of_its_policies() -> None:
    async def main() -> None:
        one = page()
        meta = b"<meta http-equiv=content-security-policy content=\"default-src 'none'\">"
        pieces = stream(b"<html><he", b"ad>", meta, b"</head>")
        answer = tagged(Response(200, HTML, pieces, 100), one, driver=DRIVER)
        assert answer.length is None
        assert isinstance(answer.body, AsyncIterator)
        body = b"".join([chunk async for chunk in answer.body])
        assert body.startswith(b"<html><head><script src=")
        assert body.endswith(meta + b"</head>")
        assert one.shut

    run(main())


def test_a_beacon_says_how_large_the_window_is_and_no_window_is_none() -> None:
    async def main() -> None:
        drivers = Drivers()
        for size in (b"[0,0,0]", b"[390,0,200]", b"[390,800,200]"):
            assert (await drivers.say(b'{"w":' + size + b"}")).status == 204
        for size in (b"[390,800]", b"[390,800,-1]", b"[390,800,70000]", b'["390",800,200]', b"3"):
            assert (await drivers.say(b'{"w":' + size + b"}")).status == 400
        assert drivers.windows == {"": Window(390, 800, 200)}

    run(main())


OWN = "http://sluice.local" + CHANNEL_PATH + "beacon"


async def said_there(drivers: Drivers, body: bytes, *, origin: str = ORIGIN) -> Response:
    said = stream(drivers.page.key.encode() + b"\n", body)
    request = Request("POST", OWN, [("origin", origin)], body=said)
    assert drivers.requests.is_beacon(request)
    answer = await drivers.requests.answer(request)
    assert answer is not None
    return answer


def test_what_cannot_wait_for_the_pages_connections_goes_to_the_proxys_own_name() -> None:
    async def main() -> None:
        drivers = Drivers()
        drivers.page.connections = ConnectSources([], origin=ORIGIN)
        assert OWN.encode() in await text_of(await drivers.driver(*SCRIPT))
        answer = await said_there(drivers, b'{"n":["http://a.test/p.jpg"]}')
        assert answer.status == 204
        assert header(answer.headers, "cross-origin-resource-policy") == "cross-origin"
        assert await drivers.page.standing.has("http://a.test/p.jpg")

    run(main())


def test_another_site_that_has_a_key_says_nothing_there() -> None:
    async def main() -> None:
        drivers = Drivers()
        answer = await said_there(drivers, b'{"v":true}', origin="http://evil.test")
        assert answer.status == 404
        assert drivers.tracker.heard == []

    run(main())


def test_where_a_policy_forbids_it_all_goes_to_the_page() -> None:
    async def main() -> None:
        drivers = Drivers()
        fields = [("content-security-policy", "connect-src 'self'")]
        drivers.page.connections = ConnectSources(fields, origin=ORIGIN)
        text = await text_of(await drivers.driver(*SCRIPT))
        assert OWN.encode() not in text
        assert f"{ORIGIN}{CHANNEL_PATH}beacon".encode() in text

    run(main())


def test_a_page_remembers_so_many_pictures_that_scripts_have_made() -> None:
    async def main() -> None:
        page = Drivers().page
        for number in range(MAX_STANDING // 100 + 1):
            page.standing.say((f"http://a.test/{number}/{one}" for one in range(100)), now=0.0)
        assert await page.standing.has("http://a.test/0/0")
        assert not await page.standing.has(f"http://a.test/{MAX_STANDING // 100}/99")

    run(main())
