"""Boxes in a page where pictures were left out: drawn safely, told to the driver, given to it."""

from __future__ import annotations

from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.browser.left_out import MAX_WORDS, asked, drawing
from local_proxy.export_drivers.browser.page import MAX_LEFT, BrowserPage, PictureStep
from local_proxy.http.model import Request
from tests.local_proxy.export_world import IMAGE
from tests.local_proxy.test_driver_requests import Drivers
from wire.fields import header

PICTURE = "http://a.test/p.jpg"
XHTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def words_of(drawn: str) -> str:
    return "".join(ElementTree.fromstring(drawn).itertext()).partition("}svg{flex:none}")[2]


@given(st.text(max_size=300), st.integers(0, 70_000), st.integers(0, 70_000), st.booleans())
def test_whatever_a_page_says_the_drawing_is_one_of_that_size(
    words: str, width: int, height: int, waits: bool
) -> None:
    root = ElementTree.fromstring(drawing(width, height, words=words, waits=waits))
    assert (root.tag, root.get("width"), root.get("height")) == (
        f"{SVG}svg",
        str(width),
        str(height),
    )
    tags = {one.tag for one in root.iter()}
    assert tags <= {
        *(f"{SVG}{name}" for name in ("svg", "style", "foreignObject", "rect", "circle", "path")),
        *(f"{XHTML}{name}" for name in ("body", "span", "b")),
    }


def test_it_says_what_the_page_says_where_there_is_room() -> None:
    drawn = drawing(320, 200, words="A <b>boat</b> &\n two gulls", waits=False)
    assert "A <b>boat</b> & two gulls" in words_of(drawn)
    assert "loading" not in words_of(drawn)
    assert "loading" in words_of(drawing(320, 200, words="", waits=True))
    assert "boat" not in words_of(drawing(40, 40, words="boat", waits=False))
    assert "y" * MAX_WORDS in drawing(320, 200, words="y" * 999, waits=False)
    assert "y" * (MAX_WORDS + 1) not in drawing(320, 200, words="y" * 999, waits=False)


@pytest.mark.parametrize("kind", ["original", "low", "again", "box", "box3", "boxx4", "wait1x2x3"])
def test_nothing_else_asks_for_one(kind: str) -> None:
    assert asked(PICTURE, kind) is None


def test_words_come_in_the_address_as_browsers_write_them() -> None:
    answer = asked(f"{PICTURE}?sluice-alt={quote('Möwe & Boot')}", "box320x200")
    assert answer is not None
    assert isinstance(answer.body, bytes)
    assert "Möwe & Boot" in words_of(answer.body.decode())
    broken = asked(f"{PICTURE}?sluice-alt=%ff%zz%00", "wait320x200")
    assert broken is not None
    assert isinstance(broken.body, bytes)
    ElementTree.fromstring(broken.body)


def test_a_page_that_is_taken_there_by_its_address_can_run_nothing() -> None:
    answer = asked(PICTURE, "box3x4")
    assert answer is not None
    assert "sandbox" in header(answer.headers, "content-security-policy")
    assert header(answer.headers, "cache-control") == "no-store"
    assert header(answer.headers, "vary") == "*"


async def level(drivers: Drivers, mark: str, *fields: tuple[str, str]) -> tuple[int, bytes]:
    request = Request("GET", f"{PICTURE}?a=1&sluice-alt=gull&sluice-level={mark}", list(fields))
    answer = await drivers.requests.answer(request)
    assert answer is not None
    assert isinstance(answer.body, bytes)
    return answer.status, answer.body


def test_a_page_s_driver_is_given_one_and_nobody_else() -> None:
    async def main() -> None:
        drivers = Drivers()
        name = drivers.page.name
        status, body = await level(drivers, f"{name}.0.box90x60", *IMAGE)
        assert status == 200
        assert b"gull" in body
        assert (await level(drivers, "strange.0.box90x60", *IMAGE))[0] == 404
        script = ("accept", "*/*"), ("sec-fetch-dest", "empty")
        assert (await level(drivers, f"{name}.0.box90x60", *script))[0] == 404
        assert drivers.fetched == [], "no origin hears of it"

    run(main())


def test_a_page_tells_its_driver_each_once_and_a_new_channel_all() -> None:
    async def main() -> None:
        page = BrowserPage(1, "http://a.test/", name="n", key="k")
        told: dict[int, int] = {}
        page.leave_out(PICTURE)
        assert page.changed.is_set()
        assert page.steps(told) == [PictureStep(PICTURE, 0, "left")]
        page.leave_out(PICTURE)
        page.leave_out(PICTURE + "2")
        assert page.steps(told) == [PictureStep(PICTURE + "2", 0, "left")]
        assert page.steps(told) == []
        assert len(page.steps({})) == 2
        assert not page.pending(), "a page without more to tell holds no connection"
        for number in range(2 * MAX_LEFT):
            page.leave_out(f"http://a.test/{number}")
        assert len(page.steps({})) == MAX_LEFT

    run(main())
