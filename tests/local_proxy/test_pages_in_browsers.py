"""Tests of the pages that browsers have open: what names them, when they are forgotten, what
browsers may keep of their pictures."""

from __future__ import annotations

import pytest

from local_proxy.export_drivers.browser.asker import Asker
from local_proxy.export_drivers.browser.browser_copies import (
    MARK,
    MAX_VALUE,
    level_address,
    mark,
    nothing,
    way,
)
from local_proxy.export_drivers.browser.page import BrowserPage, PictureRequest
from local_proxy.export_drivers.browser.pages import FORGET, GRACE, LEFT_PAGES, Pages
from local_proxy.export_drivers.markup.csp import ConnectSources
from local_proxy.http.model import Request
from local_proxy.link.components import OriginHead
from tests.local_proxy.export_world import IMAGE, PREFIXES, URL, component
from wire.fields import Headers, header

PAGE = "http://a.test/"
ORIGIN = "http://a.test"


class Clock:
    """Moved by the test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def opened(*urls: str, now: Clock | None = None, secret: bytes = b"s") -> Pages:
    """Pages of the documents 1, 2 ..."""
    pages = Pages(now=now or Clock(), secret=secret)
    for number, url in enumerate(urls, 1):
        pages.open(number, url)
    return pages


def page(pages: Pages, document: int = 1) -> BrowserPage:
    found = pages.of_document(document)
    assert found is not None
    return found


def test_a_page_is_found_by_document_key_and_name_and_by_no_other_word() -> None:
    pages = opened(PAGE + "#part", PAGE)
    one, other = page(pages), page(pages, 2)
    assert (one.url, one.origin) == (PAGE, ORIGIN)
    assert len({one.key, one.name, other.key, other.name}) == 4
    assert pages.of_key(one.key) is one
    assert pages.of_name(one.name) is one
    for found in (pages.of_key(one.name), pages.of_name(one.key), pages.of_document(3)):
        assert found is None
    pages.open(1, "http://b.test/")
    assert page(pages) is one
    assert list(pages) == [one, other]


def test_a_ticket_stands_for_an_address_and_needs_the_secret() -> None:
    pages = opened(PAGE, PAGE, PAGE + "other")
    one, two, other = (pages.ticket(page(pages, number)) for number in (1, 2, 3))
    assert one == two != other
    elsewhere = opened(PAGE, secret=b"other")
    assert elsewhere.ticket(page(elsewhere)) != one
    assert pages.same(page(pages, 2)) is page(pages)
    assert pages.same(page(pages)) is None


def test_a_driver_goes_to_the_newest_page_that_has_none() -> None:
    pages = opened(PAGE, PAGE)
    one, two = page(pages), page(pages, 2)
    ticket = pages.ticket(one)
    assert pages.claim(ticket, origin="http://b.test", certain=True) is None
    assert pages.claim("x" * 24, origin=ORIGIN, certain=True) is None
    pages.leave(2)
    assert pages.claim(ticket, origin=ORIGIN, certain=False) is two
    assert two.alive.is_set()
    assert two.injected
    assert two.closed_at is None
    assert pages.claim(ticket, origin=ORIGIN, certain=False) is one


def test_a_page_out_of_a_cache_gets_a_new_key_if_no_script_can_read_it() -> None:
    pages = opened(PAGE)
    one = page(pages)
    ticket, before = pages.ticket(one), one.key
    pages.claim(ticket, origin=ORIGIN, certain=True)
    assert one.key == before
    assert pages.claim(ticket, origin=ORIGIN, certain=True) is one
    assert one.key != before
    assert pages.of_key(before) is None
    assert pages.of_key(one.key) is one
    assert pages.claim(ticket, origin=ORIGIN, certain=False) is None
    assert one.given_up
    assert not one.alive.is_set()


def test_left_pages_are_forgotten_in_time_and_open_ones_never() -> None:
    clock = Clock()
    pages = opened(PAGE, PAGE, now=clock)
    left = page(pages)
    pages.leave(1)
    clock.now = FORGET
    pages.open(3, PAGE)
    assert page(pages) is left
    clock.now = FORGET + 1
    pages.open(4, PAGE)
    assert [one.document for one in pages] == [2, 3, 4]
    assert pages.of_key(left.key) is None
    assert pages.of_name(left.name) is None
    assert pages.same(page(pages, 2)) is None


def test_of_too_many_left_pages_those_left_first_are_forgotten() -> None:
    clock = Clock()
    pages = opened(*([PAGE] * (LEFT_PAGES + 2)), now=clock)
    for document in (2, 1, *range(3, LEFT_PAGES + 3)):
        clock.now += 1
        pages.leave(document)
    assert len(pages) == LEFT_PAGES
    assert pages.of_document(1) is None
    assert pages.of_document(2) is None
    assert pages.of_document(3) is not None


def test_a_picture_is_forgotten_a_while_after_its_last_level_was_served() -> None:
    clock = Clock()
    pages = opened(PAGE, now=clock)
    one, picture = page(pages), component(*PREFIXES, received=9)
    keep = PictureRequest("image/*", cors=False)
    one.replacing = 2
    pages.replaced(one, picture, asker=Asker(), keep=None)
    assert not one.pictures
    pages.replaced(one, picture, asker=Asker(), keep=keep)
    assert one.replacing == 0
    assert one.pictures[7].keep == keep
    clock.now = GRACE
    pages.leave(9)
    assert 7 in one.pictures
    clock.now = GRACE + 1
    pages.leave(9)
    assert not one.pictures


def test_a_picture_that_did_not_come_to_its_end_is_not_kept() -> None:
    pages = opened(PAGE)
    one, picture = page(pages), component(*PREFIXES, received=5)
    one.replacing = 1
    pages.replaced(one, picture, asker=Asker(), keep=PictureRequest("image/*", cors=False))
    assert (one.replacing, one.pictures) == (0, {})
    assert one.changed.is_set()


# -- copies for browsers ---------------------------------------------------------------------------

KEEPABLE: Headers = [("cache-control", "max-age=60")]


def kept(
    *fields: tuple[str, str],
    url: str = URL,
    status: int = 200,
    headers: Headers = KEEPABLE,
    restricted: bool = False,
) -> PictureRequest | None:
    one = BrowserPage(1, PAGE, name="n", key="k")
    one.connections, one.restricted = ConnectSources([], origin=ORIGIN), restricted
    return way(one, OriginHead(status, headers, None), Request("GET", url, list(fields)))


def test_a_picture_is_asked_for_again_as_it_was_asked_for() -> None:
    accept = ("accept", "image/avif,*/*;q=0.8")
    assert kept(accept) == PictureRequest(accept[1], cors=False)
    assert kept(accept, ("sec-fetch-mode", "no-cors")) == PictureRequest(accept[1], cors=False)
    assert kept(accept, ("sec-fetch-mode", "cors")) == PictureRequest(accept[1], cors=True)
    assert kept(accept, ("origin", ORIGIN)) == PictureRequest(accept[1], cors=True)


def test_what_a_script_could_not_ask_or_a_browser_not_keep_is_not_asked_for_again() -> None:
    assert kept(("accept", "x" * MAX_VALUE)) is not None
    assert kept(("accept", "x" * (MAX_VALUE + 1))) is None
    for unsafe in ("image/*;v=<1>", "image/*\x01", "im\xe4ge/*"):
        assert kept(("accept", unsafe)) is None
    assert kept(status=404) is None
    assert kept(headers=[("cache-control", "no-store")]) is None
    assert kept(restricted=True) is None


def test_firefox_keeps_pictures_of_the_pages_own_origin_alone() -> None:
    agent = ("user-agent", "Mozilla/5.0 Gecko/20100101 Firefox/153.0")
    assert kept(agent) is not None
    assert kept(agent, url="http://b.test/p.jpg") is None
    assert kept(url="http://b.test/p.jpg") is not None


@pytest.mark.parametrize(
    ("method", "value", "found"),
    [
        ("GET", "sluice." + "a" * 24 + ".7", ("a" * 24, 7)),
        ("POST", "sluice." + "a" * 24 + ".7", None),
        ("GET", "sluice." + "a" * 23 + ".7", None),
        ("GET", "sluice." + "g" * 24 + ".7", None),
        ("GET", "sluice." + "a" * 24 + ".", None),
        ("GET", "xsluice." + "a" * 24 + ".7", None),
        ("GET", "de", None),
    ],
)
def test_only_a_drivers_mark_is_taken_for_one(
    method: str, value: str, found: tuple[str, int] | None
) -> None:
    assert mark(Request(method, URL, [(MARK, value)])) == found


def test_levels_have_addresses_that_leave_the_pictures_query_alone() -> None:
    assert level_address(URL, "n", 7, "low") == URL + "?sluice-level=n.7.low"
    assert level_address(URL + "?q", "n", 7, "low") == URL + "?q&sluice-level=n.7.low"


def test_nothing_is_said_to_who_asks_by_cors_in_a_way_that_he_may_read() -> None:
    answer = nothing(Request("GET", URL, [("origin", ORIGIN)]))
    assert (answer.status, header(answer.headers, "cache-control")) == (204, "no-store")
    assert header(answer.headers, "access-control-allow-origin") == ORIGIN
    assert header(answer.headers, "access-control-allow-credentials") == "true"
    assert len(nothing(Request("GET", URL, IMAGE)).headers) == 1
