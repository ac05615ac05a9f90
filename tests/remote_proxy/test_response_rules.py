"""A response crosses the link: its fields, what they allow, the rest after a break."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.jobs.held_pictures import Gathered
from remote_proxy.origin.response_fields import (
    fits,
    keepable,
    no_transform,
    storable,
    told,
    with_credentials,
)
from remote_proxy.origin.resumed_body import Rest, begins_there, conditional
from remote_proxy.reach.failures import OriginError
from wire.continuation import Continuation
from wire.fields import MAX_RESPONSE, Headers


def cached(value: str, *more: tuple[str, str]) -> Headers:
    return [("cache-control", value), *more]


def begun(data: bytes, etag: str = "") -> Continuation:
    return Continuation(received=len(data), digest=hashlib.sha256(data).digest(), etag=etag)


def test_another_way_to_the_origin_stays_untold() -> None:
    assert told([("alt-svc", 'h3=":443"'), ("etag", "1")]) == [("etag", "1")]


def test_fields_without_end_do_not_fit() -> None:
    assert fits([("a", "x" * (MAX_RESPONSE - 100))])
    assert not fits([("a", "x" * MAX_RESPONSE)])


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        (cached("max-age=60"), True),
        ([("etag", '"1"')], True),
        ([("expires", "soon")], True),
        ([], False),
        (cached("no-store, max-age=60"), False),
        (cached("max-age=60", ("vary", "*")), False),
        (cached("max-age=60", ("vary", "accept")), True),
    ],
)
def test_what_a_browser_may_use_again(headers: Headers, kept: bool) -> None:
    assert keepable(headers) is kept


def test_words_of_cache_control_in_any_case() -> None:
    assert not storable(cached("No-Store"))
    assert no_transform(cached("public, NO-TRANSFORM"))
    assert not no_transform([])


@pytest.mark.parametrize(
    ("asked", "answered", "own"),
    [
        ([("cookie", "a=b")], [], True),
        ([("authorization", "Basic x")], [], True),
        ([], [("set-cookie", "a=b")], True),
        ([], cached("private"), True),
        ([("accept", "*/*")], cached("public"), False),
    ],
)
def test_an_answer_that_may_be_one_person_s_own(
    asked: Headers, answered: Headers, own: bool
) -> None:
    assert with_credentials(asked, answered) is own


def test_the_rest_alone_is_asked_for_where_a_validator_allows_it() -> None:
    headers = [("accept-encoding", "gzip"), ("range", "bytes=0-"), ("x", "y")]
    asked = dict(conditional(headers, begun(b"12345", '"e"')))
    assert asked["range"] == "bytes=5-"
    assert (asked["if-range"], asked["accept-encoding"], asked["x"]) == ('"e"', "identity", "y")
    assert conditional(headers, begun(b"12345")) == headers
    assert conditional(headers, None) == headers


@pytest.mark.parametrize(
    ("status", "value", "there"),
    [(206, "bytes 5-9/10", True), (206, "bytes 4-9/10", False), (200, "bytes 5-9/10", False)],
)
def test_whether_the_origin_sends_the_rest(status: int, value: str, there: bool) -> None:
    assert begins_there(status, [("content-range", value)], begun(b"12345")) is there


@given(st.binary(max_size=60), st.integers(0, 60), st.lists(st.integers(0, 60), max_size=5))
def test_what_is_there_is_compared_and_not_sent(data: bytes, have: int, cuts: list[int]) -> None:
    rest = Rest(begun(data[:have]))
    edges = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    sent = b"".join(rest.after(data[a:b]) for a, b in pairwise(edges))
    rest.end()
    assert sent == data[have:]
    assert not rest.begun


def test_another_response_is_never_mixed_with_the_first_part() -> None:
    with pytest.raises(OriginError, match="has changed"):
        Rest(begun(b"12345")).after(b"12344 and more")
    short = Rest(begun(b"12345"))
    short.after(b"123")
    with pytest.raises(OriginError, match="has changed"):
        short.end()
    assert Rest(begun(b"12345")).begins(b"12345678")
    assert not Rest(begun(b"12345")).begins(b"12344")


def test_pictures_that_are_held_have_a_bound_which_they_give_back() -> None:
    gathered = Gathered(limit=100)
    with gathered.hold() as first, gathered.hold() as second:
        assert first.add(60)
        assert not second.add(41)
        assert second.add(40)
        assert gathered.used == 100
    assert gathered.used == 0
