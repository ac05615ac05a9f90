"""For how long a browser may use what it keeps: the rules as a table."""

from __future__ import annotations

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.promises.freshness import Freshness, constant, freshness, keepable, tells_freshness
from wire.fields import Headers

NOW = 1_700_000_000.0


def fields(text: str) -> Headers:
    """`a: 1 | b: @-10` as headers; @ stands for now, as a date, and what follows for seconds."""
    pairs = (part.strip().partition(": ") for part in text.split("|") if part.strip())
    return [(name, dated(value)) for name, _, value in pairs]


def dated(value: str) -> str:
    return formatdate(NOW + float(value[1:] or 0), usegmt=True) if value[:1] == "@" else value


TABLE: list[tuple[str, Freshness | None]] = [
    ("", None),
    ("cache-control: max-age=60", Freshness(60, False)),
    ('cache-control: private, max-age="60"', Freshness(60, False)),
    ("cache-control: s-maxage=9", None),
    ("cache-control: s-maxage=9, max-age=60", Freshness(60, False)),
    ("cache-control: max-age=60 | etag: x", Freshness(60, True)),
    ("cache-control: max-age=60 | age: 20", Freshness(40, False)),
    ("cache-control: max-age=60 | age: 20 | date: @-50", Freshness(10, False)),
    ("cache-control: max-age=60 | age: never", Freshness(60, False)),
    ("cache-control: max-age=60 | age: 61", None),
    ("cache-control: max-age=60 | date: @-70 | last-modified: @-90", Freshness(0, True)),
    ("cache-control: max-age=60 | expires: @-1", Freshness(60, False)),
    ("cache-control: max-age=never", None),
    ("cache-control: max-age=0 | etag: x", Freshness(0, True)),
    ("cache-control: no-store, max-age=60", None),
    ("cache-control: no-cache, max-age=60 | etag: x", Freshness(0, True)),
    ("cache-control: no-cache", None),
    ("pragma: no-cache | expires: @60", None),
    ("cache-control: max-age=60 | pragma: no-cache", Freshness(60, False)),
    ("expires: @60", Freshness(60, False)),
    ("expires: 0 | last-modified: @-1000", Freshness(0, True)),
    ("date: @-10 | expires: @50", Freshness(50, False)),
    ("last-modified: @-1000", Freshness(100, True)),
    ("last-modified: @-1000 | cache-control: must-revalidate", Freshness(0, True)),
    ("last-modified: @-100000000", Freshness(7 * 86400, True)),
    ("last-modified: @50", Freshness(0, True)),
    ("cache-control: max-age=60 | vary: *", None),
    ("cache-control: max-age=60 | vary: cookie", Freshness(60, False)),
    ("cache-control: max-age=60 | vary: Accept-Encoding, Accept", Freshness(60, False)),
]


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_table(text: str, expected: Freshness | None) -> None:
    assert freshness(fields(text), now=NOW) == expected


def test_whether_keeping_makes_sense_is_no_question_of_age() -> None:
    assert keepable(fields("cache-control: max-age=60 | date: @-90"))
    assert keepable(fields("expires: @60"))
    assert not keepable(fields("expires: @-90 | date: @-80"))
    assert not keepable(fields("cache-control: no-store | etag: x"))


def test_what_varies_by_more_than_the_browser_may_be_asked_for_again() -> None:
    assert constant(fields("vary: Accept-Encoding, Accept"))
    assert not constant(fields("vary: Accept | vary: Cookie"))


def test_a_304_may_say_nothing_of_it() -> None:
    assert not tells_freshness([("etag", "x")])
    assert tells_freshness([("expires", "0")])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("cache-control", "age", "date", "expires", "last-modified", "vary")),
            st.text(max_size=20) | st.sampled_from(("max-age=" + "9" * 400, "9" * 400, "max-age")),
        )
    )
)
def test_nothing_that_an_origin_says_raises(headers: Headers) -> None:
    found = freshness(headers, now=NOW)
    assert found is None or 0 <= found.left <= 2**31
