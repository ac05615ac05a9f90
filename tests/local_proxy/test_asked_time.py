"""By when a client wants its answer is read strictly, of those alone who may say it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.http.model import WITHIN, Request
from local_proxy.requests.asked_time import (
    LEAST,
    MOST,
    BadTime,
    is_plain,
    read,
    seconds_of,
    takes_level,
    takes_type,
    time_of_answer,
    told,
)
from wire.fields import Headers

CHROME = "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; rv:156.0) Gecko/20100101 Firefox/156.0"
MAPS = "Mozilla/5.0 QGIS/33400/Linux"
NOW = 100.0
NAVIGATION = {"accept": "text/html", "sec-fetch-dest": "document", "sec-fetch-site": "none"}


def asked(*more: tuple[str, str], method: str = "GET", original: bool = False) -> Request:
    return Request(method, "http://a.test/x", list(more), original=original)


def timed(*more: tuple[str, str], method: str = "GET", original: bool = False) -> Request:
    request = asked(*more, (WITHIN, "5"), method=method, original=original)
    return read(request, from_page=False, now=NOW)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5.0), ("0.1", 0.1), ("2.5", 2.5), ("3600", 3600.0), ("3600.000", 3600.0), ("005", 5.0)],
)
def test_a_number_of_seconds_is_taken(value: str, seconds: float) -> None:
    assert seconds_of([value]) == seconds


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            " ",
            "five",
            "5s",
            "5 s",
            "+5",
            "-5",
            "5.",
            ".5",
            "5.0000",
            "1e2",
            "0x5",
            "5,5",
            "5;a",
        ),
        *("inf", "nan", "0", "0.0", "0.099", "3600.001", "3601", "9" * 13, "9" * 5000, "٥", "5\n"),
        *("1_0", "5\x00", '"5"', "?1"),
    ],
)
def test_all_else_is_refused_by_a_text_that_says_what_is_allowed(value: str) -> None:
    with pytest.raises(BadTime, match=r"0\.1 to 3600"):
        seconds_of([value])


def test_it_is_said_once() -> None:
    for values in ([], ["5", "5"], ["5", "x"], ["5, 5"]):
        with pytest.raises(BadTime):
            seconds_of(values)


@given(st.lists(st.text() | st.floats().map(str) | st.decimals().map(str), max_size=3))
def test_nothing_but_one_valid_number_is_ever_taken(values: list[str]) -> None:
    try:
        seconds = seconds_of(values)
    except BadTime:
        return
    (value,) = values
    assert re.fullmatch(r"[0-9]+(\.[0-9]{1,3})?", value, re.ASCII)
    assert seconds == float(value)
    assert LEAST <= seconds <= MOST


@given(st.decimals(min_value="0.1", max_value=3600, places=3))
def test_every_number_in_range_is_taken(value: object) -> None:
    assert abs(seconds_of([f"{value:.3f}"]) - float(str(value))) < 0.001


@pytest.mark.parametrize(
    ("fields", "from_page", "plain"),
    [
        ({}, False, True),
        ({"user-agent": "curl/8.5.0", "referer": "http://a.test/"}, False, True),
        ({"user-agent": MAPS}, False, True),
        ({}, True, False),
        ({"sec-fetch-site": "none"}, False, False),
        ({"sec-fetch-mode": "cors"}, False, False),
        ({"origin": "http://a.test"}, False, False),
        ({"user-agent": CHROME}, False, False),
        ({"user-agent": FIREFOX}, False, False),
    ],
)
def test_who_is_no_browser(fields: dict[str, str], from_page: bool, plain: bool) -> None:
    assert is_plain(asked(*fields.items()), from_page=from_page) is plain


def test_a_program_and_a_navigation_are_heard_and_the_field_ends_here() -> None:
    for fields in ({"user-agent": "curl/8.5.0"}, NAVIGATION):
        request = asked(*fields.items(), (WITHIN, " 2.5\t"))
        heard = read(request, from_page=False, now=NOW)
        assert (heard.within, heard.due) == (2.5, 102.5)
        assert heard.headers == list(fields.items())


def test_of_a_script_in_a_page_it_means_nothing_however_it_is_spelt() -> None:
    for value in ("5", "nonsense"):
        request = asked(("sec-fetch-dest", "empty"), (WITHIN, value), (WITHIN, value))
        heard = read(request, from_page=False, now=NOW)
        assert (heard.within, heard.due) == (None, None)
        assert heard.headers == [("sec-fetch-dest", "empty")]
    with_referer = asked(("referer", "http://a.test/"), (WITHIN, "5"))
    assert read(with_referer, from_page=True, now=NOW).within is None


def test_who_may_say_it_must_say_it_right() -> None:
    for fields in ([(WITHIN, "x")], [(WITHIN, "5"), (WITHIN, "6")]):
        with pytest.raises(BadTime):
            read(asked(*fields), from_page=False, now=NOW)


def test_without_the_field_nothing_changes() -> None:
    request = asked(("accept", "*/*"))
    assert read(request, from_page=False, now=NOW) is request


def test_a_page_is_no_programs_answer() -> None:
    page = read(asked(*NAVIGATION.items(), (WITHIN, "5")), from_page=False, now=NOW)
    assert time_of_answer(page) is None
    assert not takes_level(page)
    assert time_of_answer(timed()) == 105.0
    assert time_of_answer(asked()) is None


@pytest.mark.parametrize(
    ("request_", "takes"),
    [
        (timed(), True),
        (timed(("if-none-match", '"1"')), True),
        (timed(("cache-control", "max-age=0")), True),
        (asked(), False),
        (timed(method="HEAD"), False),
        (timed(method="POST"), False),
        (timed(("range", "bytes=0-9")), False),
        (timed(("cache-control", "no-transform")), False),
        (timed(original=True), False),
    ],
)
def test_whose_picture_may_be_one_of_its_levels(request_: Request, takes: bool) -> None:
    assert takes_level(request_) is takes


@pytest.mark.parametrize(
    ("accept", "takes"),
    [
        (None, True),
        ("", True),
        ("*/*", True),
        ("image/*", True),
        ("image/png, image/webp;q=0.5", True),
        ("IMAGE/WEBP", True),
        ("image/png,image/jpeg", False),
        ("image/webp;q=0", False),
        ("image/webp; q=0.000, image/png", False),
        ("image/webp;q=0.001", True),
        ("text/html", False),
    ],
)
def test_which_types_a_client_takes(accept: str | None, takes: bool) -> None:
    fields: Headers = [] if accept is None else [("accept", accept)]
    assert takes_type(asked(*fields), "image/webp") is takes


@pytest.mark.parametrize(
    ("late", "said"),
    [(-3.0, "low; late=0"), (0.0, "low; late=0"), (0.004, "low; late=0"), (1.5, "low; late=1.50")],
)
def test_how_late_it_is(late: float, said: str) -> None:
    assert told("low", late=late) == ("sluice-level", said)
