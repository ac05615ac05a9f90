"""Fields that caches go by are read as RFC 9111 wants, and wrong ones as "not fresh"."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.caching.fields import MOST, CacheControl, age_said, date

NOW = 1_800_000_000.0
"""2027."""


def control(*lines: str) -> CacheControl:
    return CacheControl.of([("cache-control", line) for line in lines])


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("max-age=60", 60.0),
        ("MAX-AGE=60", 60.0),
        ("public, max-age=60, immutable", 60.0),
        ('max-age="60"', 60.0),
        ("max-age=0060", 60.0),
        ("max-age=60 ", 60.0),
        ("max-age=99999999999", MOST),
        ("max-age=" + "9" * 400, MOST),
        ("max-age=" + "0" * 400, 0.0),
        ("max-age=-60", 0.0),
        ("max-age=60.0", 0.0),
        ("max-age='60'", 0.0),
        ("max-age=60x", 0.0),
        ("max-age", 0.0),
        ("max-age=", 0.0),
        ("max-age=60, max-age=5", 5.0),
        ("max-age=5, max-age=60", 5.0),
        ("max-age=60, max-age=x", 0.0),
        ('extension="max-age=60", max-age=1', 1.0),
        ('max-age=1, extension="a\\"b, max-age=60"', 1.0),
        ('extension="no end, max-age=60', None),
        ("s-maxage=60", None),
        ("", None),
        ("max-age=١", 0.0),
    ],
)
def test_seconds(line: str, seconds: float | None) -> None:
    assert control(line).seconds("max-age") == seconds


def test_lines_are_one_list() -> None:
    found = control("private", "max-age=7")
    assert "private" in found
    assert found.seconds("max-age") == 7.0
    assert "public" not in found


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("max-age=60; private", {"private"}),
        ("private; max-age=60", {"private"}),
        ("max-age=60 No-Store", {"no-store"}),
        ("no-store private", {"no-store", "private"}),
        ("public\tno-transform", {"no-transform"}),
        ('extension="no end, private', {"private"}),
        ('private", no-store', {"private", "no-store"}),
        ('extension="private, no-store", max-age=1', set()),
        ('extension="a\\"b, private", public', set()),
        ("x-private, no-stores, private-ish=1", set()),
        ('no-cache="set-cookie"; private', {"no-cache", "private"}),
    ],
)
def test_what_keeps_an_answer_from_others_is_read_however_it_is_written(
    line: str, named: set[str]
) -> None:
    found = control(line)
    assert {one for one in ("no-cache", "no-store", "no-transform", "private") if one in found} == (
        named
    )


def test_an_argument_that_is_written_as_it_should_be_stays() -> None:
    assert control('no-cache="set-cookie", max-age=5').arguments["no-cache"] == '"set-cookie"'


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        ([], 0.0),
        (["60"], 60.0),
        (["60, 0"], 60.0),
        (["60", "0"], 60.0),
        (["0, 60"], 0.0),
        (["x"], 0.0),
        (["-60"], 0.0),
        (["60.5"], 0.0),
        (["99999999999999999999999"], MOST),
    ],
)
def test_age(values: list[str], seconds: float) -> None:
    assert age_said([("age", value) for value in values]) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
        ("SUN, 06 nov 1994 08:49:37 gmt", 784_111_777.0),
        ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777.0),
        ("Sun Nov  6 08:49:37 1994", 784_111_777.0),
        ("Friday, 01-Jan-27 00:00:00 GMT", 1_798_761_600.0),
        ("Sunday, 06-Nov-88 08:49:37 GMT", 594_809_377.0),
        ("Thu, 18 Aug 2050 02:01:18 GMT", 2_544_400_878.0),
    ],
)
def test_dates(text: str, at: float) -> None:
    assert date([("date", text)], "date", now=NOW) == at


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "Thu, 18 Aug 2050 02:01:18 UTC",
        "Thu, 18 Aug 2050 02:01:18 AEST",
        "Thu, 18 Aug 50 02:01:18 GMT",
        "Thu 18 Aug 2050 02:01:18 GMT",
        "Thu,  18  Aug  2050  02:01:18  GMT",
        "Thu, 18-Aug-2050 02:01:18 GMT",
        "Thu, 18 Aug 2050 02.01.18 GMT",
        "Thu, 18 Aug 2050 2:01:18 GMT",
        "Thu, 18 Foo 2050 02:01:18 GMT",
        "Thu, 48 Aug 2050 02:01:18 GMT",
        "Thu, 18 Aug 2050 25:01:18 GMT",
        "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT",
        "Thu, ١٨ Aug 2050 02:01:18 GMT",
        "Mon, 01 Jan 0000 00:00:00 GMT",
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert date([("expires", text)], "expires", now=NOW) is None


@given(st.text(max_size=300))
def test_anything_can_be_read(text: str) -> None:
    fields = [("cache-control", text), ("age", text), ("date", text)]
    for name in CacheControl.of(fields).arguments:
        seconds = CacheControl.of(fields).seconds(name)
        assert seconds is not None
        assert 0.0 <= seconds <= MOST
    assert 0.0 <= age_said(fields) <= MOST
    date(fields, "date", now=NOW)
