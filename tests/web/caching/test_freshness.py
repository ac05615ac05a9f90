"""How long an answer stays fresh, and what a cache of many people may keep (RFC 9111)."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from web.caching.fields import MOST
from web.caching.freshness import MOST_HEURISTIC, AnswerHead, worth_keeping
from wire.fields import Headers

NOW = 1_800_000_000.0


def at(seconds: float) -> str:
    """A date that is so many seconds from now."""
    return formatdate(NOW + seconds, usegmt=True)


def kept(*fields: tuple[str, str], status: int = 200, asked: float = 0.0) -> AnswerHead:
    """One that came now, and was asked for `asked` seconds before."""
    return AnswerHead(status, list(fields), NOW - asked, NOW)


@pytest.mark.parametrize(
    ("fields", "lifetime"),
    [
        ([], 0.0),
        ([("cache-control", "max-age=60")], 60.0),
        ([("cache-control", "max-age=60, s-maxage=7")], 7.0),
        ([("cache-control", "max-age=60, no-cache")], 0.0),
        ([("cache-control", 'max-age=60, no-cache="x"')], 0.0),
        ([("cache-control", "max-age=0"), ("expires", at(60))], 0.0),
        ([("expires", at(60))], 60.0),
        ([("expires", at(60)), ("date", at(20))], 40.0),
        ([("expires", at(-60))], 0.0),
        ([("expires", "0")], 0.0),
        ([("expires", at(60)), ("expires", at(60))], 0.0),
        ([("last-modified", at(-1000))], 100.0),
        ([("last-modified", at(-1e9))], MOST_HEURISTIC),
        ([("last-modified", at(1000))], 0.0),
        ([("last-modified", at(-1000)), ("pragma", "no-cache")], 0.0),
        ([("last-modified", at(-1000)), ("cache-control", "must-revalidate")], 0.0),
    ],
)
def test_lifetime(fields: Headers, lifetime: float) -> None:
    assert kept(*fields).lifetime() == pytest.approx(lifetime, abs=1.0)


@pytest.mark.parametrize(("status", "guessed"), [(200, True), (404, True), (201, False)])
def test_only_some_statuses_are_guessed_at(status: int, guessed: bool) -> None:
    modified = ("last-modified", at(-1000))
    assert (kept(modified, status=status).lifetime() > 0) is guessed
    assert kept(modified, ("cache-control", "public"), status=status).lifetime() > 0


def test_age_counts_what_was_before_it_came_and_since() -> None:
    assert kept().age(NOW + 5) == 5.0
    assert kept(("age", "30")).age(NOW + 5) == 35.0
    assert kept(("age", "30"), asked=2).age(NOW + 5) == 37.0
    assert kept(("date", at(-100)), ("age", "30")).age(NOW) == pytest.approx(100.0, abs=1.0)
    assert kept(("date", at(100))).age(NOW + 5) == 5.0  # its clock is ahead
    assert kept(("age", "9" * 30)).age(NOW) == MOST


def test_fresh_ends_when_the_lifetime_is_over() -> None:
    one = kept(("cache-control", "max-age=60"), ("age", "20"))
    assert one.fresh(NOW + 10) == 30.0
    assert one.fresh(NOW + 50) == -10.0


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("max-age=1, stale-if-error=60", 60.0),
        ("max-age=1", 0.0),
        ("max-age=1, stale-if-error=60, must-revalidate", 0.0),
        ("max-age=1, stale-if-error=60, proxy-revalidate", 0.0),
        ("s-maxage=1, stale-if-error=60", 0.0),
        ("no-cache, stale-if-error=60", 0.0),
    ],
)
def test_stale_only_where_nothing_forbids_it(line: str, seconds: float) -> None:
    assert kept(("cache-control", line)).stale_for("stale-if-error") == seconds


@pytest.mark.parametrize(
    ("fields", "status", "keeps"),
    [
        ([("cache-control", "max-age=60")], 200, True),
        ([("cache-control", "max-age=60")], 404, True),
        ([("cache-control", "max-age=60")], 599, True),
        ([("cache-control", "max-age=60")], 206, False),
        ([("cache-control", "max-age=60")], 304, False),
        ([("cache-control", "max-age=60")], 103, False),
        ([("cache-control", "max-age=60, private")], 200, False),
        ([("cache-control", 'max-age=60, private="x"')], 200, False),
        ([("cache-control", "max-age=60, no-store")], 200, False),
        ([("cache-control", "max-age=60, no-store, must-understand")], 200, True),
        ([("cache-control", "max-age=60, no-store, must-understand")], 599, False),
        ([("cache-control", "max-age=60"), ("vary", "*")], 200, False),
        ([("cache-control", "max-age=60"), ("vary", "a, *")], 200, False),
        ([("etag", '"1"')], 200, True),
        ([("etag", '"1"')], 404, False),
        ([("cache-control", "no-cache"), ("etag", '"1"')], 200, True),
        ([("cache-control", "no-cache")], 200, False),
        ([], 200, False),
    ],
)
def test_what_is_kept(fields: Headers, status: int, keeps: bool) -> None:
    assert worth_keeping(kept(*fields, status=status), NOW) is keeps


def test_validators_are_asked_with() -> None:
    found = kept(("etag", 'W/"1"'), ("last-modified", at(-5))).validators
    assert found == [("if-none-match", 'W/"1"'), ("if-modified-since", at(-5))]
    assert kept().validators == []
