"""The bench of second visits: how its pages change, and what it judges."""

from __future__ import annotations

from typing import Any

import pytest

from bench.scenarios.pages.page_load import SITE
from bench.scenarios.pages.second_visit import alone, another, judge

NEWS = (SITE / "news" / "index.html").read_text()


def stories(page: str) -> list[str]:
    return page.split('<article class="story prose" ')[1:]


def test_a_third_of_the_stories_are_new_in_each_edition_and_as_many_have_gone() -> None:
    assert another(NEWS, 0) == NEWS
    first, second = another(NEWS, 1), another(NEWS, 2)
    assert len(stories(first)) == len(stories(second)) == len(stories(NEWS)) == 13
    new = [one for one in stories(first) if one not in stories(NEWS)]
    assert 4 <= len(new) <= 5  # the last one has the page's end behind it
    assert stories(second)[4] == stories(first)[0]
    assert abs(len(first) - len(NEWS)) < 0.05 * len(NEWS)


def test_a_story_of_its_own_is_on_no_other_page() -> None:
    page = alone(another(NEWS, 2))
    (story,) = stories(page)
    assert story not in another(NEWS, 2)
    head = NEWS[: NEWS.index("<main")]
    assert page.startswith(head), "it is of the same site"
    assert len(head) > 1000


def row(
    visit: str, size: int, *, pictures: bool = False, text: float | None = 0.3
) -> dict[str, Any]:
    return {"visit": visit, "bytes_down": size, "pictures": pictures, "text_s": text}


def test_each_claim_is_judged_by_its_own_visits() -> None:
    rows = [
        row("first", 100), row("kept", 14), row("emptied", 31),
        row("never seen", 30), row("cold", 60),
        row("first", 1000, pictures=True), row("kept", 140, pictures=True),
        row("emptied", 500, pictures=True, text=None),
    ]  # fmt: skip
    assert {name: one.ok for name, one in judge(rows).items()} == {
        "kept: bytes of text": True,
        "emptied: bytes of text": False,
        "never seen: bytes of text": True,
        "kept: all bytes": True,
        "kept: text": True,
        "emptied: text": False,
    }
    assert judge(rows)["emptied: text"].value == pytest.approx(float("inf"))
