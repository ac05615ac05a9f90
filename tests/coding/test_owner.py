"""Whose a text is: one person's, of one server."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding.owner import MEASURING, credentials_of, owner_of

COOKIE = st.tuples(
    st.sampled_from(["session", "id", "lang", "_ga_XY12", "_gid", "_gateway", "token"]),
    st.text("abc123", min_size=1, max_size=3),
)


def asked(*cookies: tuple[str, str]) -> list[tuple[str, str]]:
    return [("cookie", "; ".join(f"{name}={value}" for name, value in cookies))]


@given(
    st.lists(COOKIE, unique_by=lambda one: one[0]), st.lists(COOKIE, unique_by=lambda one: one[0])
)
def test_two_have_one_owner_only_with_the_same_cookies(
    one: list[tuple[str, str]], two: list[tuple[str, str]]
) -> None:
    def say_who(cookies: list[tuple[str, str]]) -> set[tuple[str, str]]:
        return {cookie for cookie in cookies if not MEASURING.fullmatch(cookie[0])}

    url = "https://a.example/x"
    same = owner_of(url, asked(*one)) == owner_of(url, asked(*two))
    assert same == (say_who(one) == say_who(two))


def test_an_authorization_is_a_credential() -> None:
    ann, bob = [("authorization", "Bearer ann")], [("authorization", "Bearer bob")]
    assert credentials_of(ann) != credentials_of(bob) != credentials_of([])
    assert credentials_of([]) == b""
    ann, bob = [("x-token", "ann")], [("x-token", "bob")]
    assert credentials_of(ann) != credentials_of(bob) != b""
    assert credentials_of([("accept", "a"), ("sec-fetch-mode", "cors"), ("referer", "r")]) == b""


@pytest.mark.parametrize(
    "name", ["_gateway_session", "_ga_session", "_gate", "_cbrid", "_hjx", "__utmost", "AMP_token"]
)
def test_a_cookie_that_only_begins_like_one_that_counts_visitors_is_a_credential(name: str) -> None:
    assert credentials_of(asked((name, "ann"))) != credentials_of(asked((name, "bob")))


@pytest.mark.parametrize("name", ["_ga", "_ga_1A2B3C4D", "_gid", "_fbp", "__utma", "_pk_id.1.1fff"])
def test_what_counts_visitors_is_none(name: str) -> None:
    assert credentials_of(asked((name, "ann"))) == b""


def test_origins_and_places_are_apart() -> None:
    one = owner_of("https://a.example/x?y", [], place=("browser", "a.example"))
    assert one == owner_of("https://a.example/z", [], place=("browser", "a.example"))
    assert one != owner_of("http://a.example/x", [], place=("browser", "a.example"))
    assert one != owner_of("https://a.example:8443/x", [], place=("browser", "a.example"))
    assert one != owner_of("https://a.example/x", [], place=("browser", "b.example"))
    assert one != owner_of("https://a.example/x", [], place=("other", "a.example"))


def test_a_cookie_that_looks_like_two_is_not_two() -> None:
    assert credentials_of([("cookie", "a=1; b=2")]) != credentials_of([("cookie", "a=1\nb=2")])
    assert credentials_of([("cookie", "a=1; b=2")]) == credentials_of(
        [("cookie", "b=2"), ("cookie", "a=1")]
    )
