"""Requests are answered from what is kept: whole, in part, or that nothing has changed."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from web.caching.answering import (
    freshened,
    is_conditional,
    names_entity,
    part,
    same_entity,
    will_do,
)
from web.caching.freshness import AnswerHead
from wire.fields import Headers, header

NOW = 1_800_000_000.0
FRESH = ("cache-control", "max-age=60")


def at(seconds: float) -> str:
    return formatdate(NOW + seconds, usegmt=True)


def kept(*fields: tuple[str, str], status: int = 200) -> AnswerHead:
    return AnswerHead(status, list(fields), NOW, NOW)


@pytest.mark.parametrize(
    ("said", "asked", "after", "does"),
    [
        ("max-age=60", [], 59, True),
        ("max-age=60", [], 61, False),
        ("max-age=60", [("cache-control", "no-cache")], 0, False),
        ("max-age=60", [("cache-control", "no-store")], 0, False),
        ("max-age=60", [("pragma", "no-cache")], 0, False),
        ("max-age=60", [("pragma", "no-cache"), ("cache-control", "max-age=60")], 0, True),
        ("max-age=60", [("cache-control", "max-age=0")], 0, False),
        ("max-age=60", [("cache-control", "max-age=10")], 9, True),
        ("max-age=60", [("cache-control", "max-age=10")], 11, False),
        ("max-age=60", [("cache-control", "min-fresh=10")], 49, True),
        ("max-age=60", [("cache-control", "min-fresh=10")], 51, False),
        ("max-age=60", [("cache-control", "max-stale")], 1e6, True),
        ("max-age=60", [("cache-control", "max-stale=10")], 65, True),
        ("max-age=60", [("cache-control", "max-stale=10")], 71, False),
        ("max-age=60", [("cache-control", "max-stale=x")], 61, False),
        ("max-age=60, must-revalidate", [("cache-control", "max-stale")], 61, False),
        ("s-maxage=60", [("cache-control", "max-stale")], 61, False),
    ],
)
def test_what_will_do(said: str, asked: Headers, after: float, does: bool) -> None:
    assert will_do(kept(("cache-control", said)), asked, now=NOW + after) is does


def test_what_may_be_late_is_not_for_who_wants_it_fresh_for_longer() -> None:
    one = kept(FRESH)
    assert will_do(one, [], now=NOW + 65, late=10)
    assert not will_do(one, [("cache-control", "min-fresh=5")], now=NOW + 58, late=10)
    assert not will_do(one, [("cache-control", "min-fresh=0")], now=NOW + 65, late=10)


def test_a_head_has_no_ranges() -> None:
    found = part(kept(FRESH), 100, [("range", "bytes=0-1")], now=NOW, whole=True)
    assert found is not None
    assert (found.status, found.end) == (200, 100)


@pytest.mark.parametrize(
    ("fields", "asked", "status", "bounds"),
    [
        ([FRESH], [], 200, (0, 100)),
        ([FRESH], [("range", "bytes=0-0")], 206, (0, 1)),
        ([FRESH], [("range", "bytes=5-9")], 206, (5, 10)),
        ([FRESH], [("range", "bytes=90-")], 206, (90, 100)),
        ([FRESH], [("range", "bytes=90-500")], 206, (90, 100)),
        ([FRESH], [("range", "bytes=-10")], 206, (90, 100)),
        ([FRESH], [("range", "bytes=-500")], 206, (0, 100)),
        ([FRESH], [("range", "chapters=1-2")], 200, (0, 100)),
        ([FRESH], [("range", "bytes=5-9"), ("if-range", '"1"')], 200, (0, 100)),
        ([("etag", '"1"')], [("range", "bytes=5-9"), ("if-range", '"1"')], 206, (5, 10)),
        ([("etag", 'W/"1"')], [("range", "bytes=5-9"), ("if-range", 'W/"1"')], 200, (0, 100)),
        ([("etag", '"1"')], [("if-none-match", '"1"')], 304, (0, 0)),
        ([("etag", 'W/"1"')], [("if-none-match", '"1"')], 304, (0, 0)),
        ([("etag", '"1"')], [("if-none-match", '"0", W/"1" , "2"')], 304, (0, 0)),
        ([("etag", "1")], [("if-none-match", "1")], 304, (0, 0)),
        ([("etag", '"1"')], [("if-none-match", "*")], 304, (0, 0)),
        ([("etag", '"1"')], [("if-none-match", '"2"')], 200, (0, 100)),
        ([FRESH], [("if-none-match", '"2"')], 200, (0, 100)),
        ([("last-modified", at(-9))], [("if-modified-since", at(-9))], 304, (0, 0)),
        ([("last-modified", at(-9))], [("if-modified-since", at(-10))], 200, (0, 100)),
        ([("last-modified", at(-9))], [("if-modified-since", "soon")], 200, (0, 100)),
        ([("date", at(-9))], [("if-modified-since", at(0))], 304, (0, 0)),
        ([FRESH], [("if-modified-since", at(0))], 200, (0, 100)),
        (
            [("etag", '"1"'), ("last-modified", at(-9))],
            [("if-none-match", '"2"'), ("if-modified-since", at(0))],
            200,
            (0, 100),
        ),
    ],
)
def test_parts(fields: Headers, asked: Headers, status: int, bounds: tuple[int, int]) -> None:
    found = part(kept(*fields), 100, asked, now=NOW + 7)
    assert found is not None
    assert (found.status, (found.start, found.end)) == (status, bounds)
    assert int(header(found.headers, "age")) >= 7
    if status == 206:
        said = f"bytes {bounds[0]}-{bounds[1] - 1}/100"
        assert header(found.headers, "content-range") == said


@pytest.mark.parametrize(
    "asked",
    [
        [("range", "bytes=100-")],
        [("range", "bytes=9-5")],
        [("range", "bytes=-")],
        [("range", "bytes=0-1,5-6")],
        [("range", "bytes=" + "9" * 400 + "-")],
        [("if-match", '"1"')],
        [("if-unmodified-since", at(0))],
    ],
)
def test_what_only_the_origin_can_tell(asked: Headers) -> None:
    assert part(kept(FRESH, ("etag", '"1"')), 100, asked, now=NOW) is None


def test_other_statuses_come_whole() -> None:
    asked = [("range", "bytes=0-1"), ("if-none-match", "*")]
    found = part(kept(FRESH, status=404), 100, asked, now=NOW)
    assert found is not None
    assert (found.status, found.start, found.end) == (404, 0, 100)


def test_a_304_says_all_but_what_the_content_is() -> None:
    content = [("content-type", "text/css"), ("content-length", "100"), ("x-other", "1")]
    one = kept(("etag", '"1"'), *content)
    found = part(one, 100, [("if-none-match", '"1"')], now=NOW)
    assert found is not None
    assert found.headers == [("etag", '"1"'), ("x-other", "1"), ("age", "0")]


def test_unchanged_gets_new_fields_and_keeps_those_of_its_bytes() -> None:
    one = kept(FRESH, ("etag", '"1"'), ("age", "50"), ("content-type", "text/css"), ("x", "old"))
    said = [("cache-control", "max-age=99"), ("content-type", "text/plain"), ("x", "1"), ("x", "2")]
    new = freshened(one, said, asked=NOW + 99, now=NOW + 100)
    assert header(new.headers, "content-type") == "text/css"
    assert header(new.headers, "cache-control") == "max-age=99"
    assert header(new.headers, "x") == "1, 2"
    assert header(new.headers, "etag") == '"1"'
    assert new.age(NOW + 100) == 1.0


@pytest.mark.parametrize(
    ("said", "same"),
    [
        ([], True),
        ([("etag", '"1"')], True),
        ([("etag", 'W/"1"')], True),
        ([("etag", '"2"')], False),
        ([("last-modified", at(-9))], False),
    ],
)
def test_whether_a_304_speaks_of_it(said: Headers, same: bool) -> None:
    assert same_entity(kept(("etag", '"1"')), said) is same
    assert names_entity(said) is bool(said)


def test_conditions() -> None:
    assert is_conditional([("if-none-match", '"1"')])
    assert not is_conditional([("accept", "*/*")])
