"""The answers to preflights that allow something, by the steps of the standard."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.cors import (
    DEFAULT_AGE,
    MAX_AGE,
    METHOD,
    NAMES,
    Leave,
    Preflight,
    leave,
    lifetime,
    may_be_read,
)

HERE = "https://page.test"
PUT = Preflight("PUT", ("content-type", "x-key"))


def answer(**said: str) -> list[tuple[str, str]]:
    fields = {"origin": HERE, "methods": "PUT", "headers": "Content-Type, X-KEY"} | said
    return [(f"access-control-allow-{name}", value) for name, value in fields.items() if value]


def allowed(
    fields: list[tuple[str, str]],
    asked: Preflight = PUT,
    *,
    status: int = 204,
    credentials: bool = False,
) -> bool:
    found = leave(status, fields, asked, origin=HERE, credentials=credentials)
    return found is not Leave.REFUSED


def test_what_is_named_is_allowed() -> None:
    assert allowed(answer())
    assert allowed(answer(origin="*"))
    assert allowed(answer(methods="*", headers="*"))
    assert allowed([*answer(headers="x-key"), ("access-control-allow-headers", "content-type")])
    assert allowed(answer(credentials="true"), credentials=True)
    assert allowed(answer(methods=""), Preflight("POST", ("x-key",)))
    assert allowed(answer(headers=""), Preflight("PUT", ()))


@pytest.mark.parametrize(
    "said",
    [
        {"origin": ""}, {"origin": "null"}, {"origin": HERE.upper()}, {"origin": HERE + "/"},
        {"origin": f"{HERE}, {HERE}"}, {"methods": ""}, {"methods": "put"}, {"methods": "DELETE"},
        {"headers": "x-key"}, {"headers": ""}, {"headers": "content-type x-key"},
        {"methods": "PUT, a b"}, {"headers": "content-type, x-key, @"},
    ],
)  # fmt: skip
def test_what_is_not_named_is_not(said: dict[str, str]) -> None:
    assert not allowed(answer(**said))


@pytest.mark.parametrize("status", [101, 199, 300, 301, 304, 401, 404, 500])
def test_an_error_allows_nothing(status: int) -> None:
    assert not allowed(answer(), status=status)


@pytest.mark.parametrize(
    "said",
    [
        {"origin": "*", "credentials": "true"}, {}, {"credentials": "TRUE"},
        {"credentials": "true", "methods": "*"}, {"credentials": "true", "headers": "*"},
    ],
)  # fmt: skip
def test_with_credentials_stars_name_nothing(said: dict[str, str]) -> None:
    assert not allowed(answer(**said), credentials=True)


def test_a_star_names_authorization_as_it_does_in_browsers() -> None:
    asked = Preflight("GET", ("authorization", "x-key"))
    assert allowed(answer(headers="*"), asked)
    assert not allowed(answer(headers="x-key"), asked)
    assert not allowed(answer(headers="*", credentials="true"), asked, credentials=True)


@pytest.mark.parametrize(
    ("said", "comes_to"),
    [
        ({"credentials": "true", "methods": "*"}, Leave.UNLESS_INCLUDED),
        ({"credentials": "true", "headers": "*"}, Leave.UNLESS_INCLUDED),
        ({"credentials": "true", "methods": "*, PUT"}, Leave.GIVEN),
        ({"credentials": "TRUE", "methods": "*"}, Leave.GIVEN),
        ({"origin": "*", "methods": "*"}, Leave.GIVEN),
        ({"credentials": "true", "methods": "*", "headers": "x-key"}, Leave.REFUSED),
        ({"credentials": "true", "methods": "DELETE", "headers": "*"}, Leave.REFUSED),
    ],
)  # fmt: skip
def test_a_star_that_does_not_hold_for_all_is_told(said: dict[str, str], comes_to: Leave) -> None:
    assert leave(204, answer(**said), PUT, origin=HERE, credentials=False) is comes_to


def test_scripts_of_null_may_read_what_null_may() -> None:
    assert may_be_read(answer(origin="null"), "null", credentials=False)
    assert not may_be_read(answer(origin="null"), HERE, credentials=False)


def test_a_preflight_says_what_it_asks_for() -> None:
    fields = [(METHOD, "PUT"), (NAMES, "content-type, X-Key")]
    assert Preflight.of(fields) == PUT
    assert Preflight.of(fields[:1]) == ("PUT", ())
    for wrong in ([], fields[1:], [(METHOD, "a b")], [(METHOD, "PUT"), (NAMES, "a b")]):
        assert Preflight.of(wrong) is None
    assert PUT.fits("PUT", [("x-key", ""), ("content-type", ""), ("accept", "")])
    assert not PUT.fits("PUT", [("x-key", "")])
    assert not PUT.fits("put", [("x-key", ""), ("content-type", "")])


@pytest.mark.parametrize(
    ("asked", "shows"),
    [
        (Preflight("POST", ()), False), (Preflight("POST", ("x-key",)), True),
        (Preflight("PATCH", ()), True), (Preflight("POST", ("content-type",)), True),
        (Preflight("PUT", ("accept", "x-key")), False), (Preflight("GET", ("range",)), False),
    ],
)  # fmt: skip
def test_what_needs_leave_mostly_shows_it(asked: Preflight, shows: bool) -> None:
    assert asked.shows is shows


@pytest.mark.parametrize(
    ("said", "needs"),
    [
        ("application/json", True), ("text/plain", False), ("Text/Plain; charset=utf-8", False),
        ("multipart/form-data; boundary=x", False), ("application/x-www-form-urlencoded", False),
        ("text/plain; a={}", True), ("text/plain; a=" + "x" * 128, True), ("", True),
        ("text/plainly", True), ("text/plain\x01", True), ("text/plain\xa0", True),
    ],
)  # fmt: skip
def test_a_type_that_forms_send_needs_no_leave(said: str, needs: bool) -> None:
    """Pages fall back to such a type where JSON is refused."""
    asked = Preflight("POST", ("content-type",))
    assert asked.fits("POST", [("content-type", said)]) is needs


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("0", 0), ("600", 600), ("86400", MAX_AGE), ("", DEFAULT_AGE), ("-1", DEFAULT_AGE),
        ("x", DEFAULT_AGE), ("1.5", DEFAULT_AGE), ("9" * 40, DEFAULT_AGE),
    ],
)  # fmt: skip
def test_leave_lasts_as_long_as_it_says(said: str, seconds: float) -> None:
    assert lifetime([("access-control-max-age", said)] if said else []) == seconds


@given(
    st.lists(
        st.tuples(st.sampled_from(["origin", "methods", "headers", "credentials"]), st.text())
    ),
    st.booleans(),
)
def test_whatever_is_said_nothing_is_allowed_by_chance(
    said: list[tuple[str, str]], credentials: bool
) -> None:
    fields = [(f"access-control-allow-{name}", value) for name, value in said]
    origins = [value for name, value in said if name == "origin"]
    if allowed(fields, credentials=credentials):
        assert origins in ([HERE], ["*"])
