"""Who may have whose answers: nobody what was one person's, or made by fields that none tell."""

from __future__ import annotations

import pytest

from web.caching.sharing import (
    chosen_by,
    from_anybody,
    kept_apart,
    logs_connection_in,
    may_be_given,
    may_share,
    varying,
)
from wire.fields import Headers


@pytest.mark.parametrize(
    ("fields", "shares"),
    [
        ([("user-agent", "any"), ("accept", "*/*"), ("sec-fetch-mode", "cors")], True),
        ([("cookie", "a=1")], False),
        ([("authorization", "Basic eA==")], False),
        ([("range", "bytes=0-1")], False),
        ([("cache-control", "no-store")], False),
        ([("cache-control", "no-cache")], True),
    ],
)
def test_whose_answer_may_be_kept_for_others(fields: Headers, shares: bool) -> None:
    assert may_share("GET", fields, body=False) is shares
    assert not may_share("POST", fields, body=False)
    assert not may_share("HEAD", fields, body=False)
    assert not may_share("GET", fields, body=True)


@pytest.mark.parametrize(
    "name",
    ["x-forwarded-host", "x-original-url", "forwarded", "via", "api-key", "x-requested-with"],
)
def test_what_browsers_dont_say_keeps_an_answer_apart_or_from_all(name: str) -> None:
    asked = [(name, "1"), ("user-agent", "any"), ("sec-fetch-mode", "cors")]
    assert not kept_apart(asked, [("cache-control", "max-age=60")])
    assert kept_apart(asked, [("vary", f"Accept, {name.upper()}")])
    assert not may_be_given(asked, [("cache-control", "max-age=60")])
    assert may_be_given(asked, [("cache-control", "max-age=60, public")])
    assert may_be_given(asked, [("vary", name)])


@pytest.mark.parametrize(
    ("asked", "said", "given"),
    [
        ([], "max-age=60", True),
        ([("cookie", "a=1")], "max-age=60", False),
        ([("cookie", "a=1")], "max-age=60, public", True),
        ([("cookie", "a=1")], "s-maxage=60", True),
        ([("cookie", "a=1")], "max-age=60, immutable", True),
        ([("authorization", "x")], "max-age=60, public", False),
    ],
)
def test_who_asks_with_credentials(asked: Headers, said: str, given: bool) -> None:
    assert may_be_given(asked, [("cache-control", said)]) is given


@pytest.mark.parametrize(
    ("said", "connection"),
    [
        ("NTLM TlRMTVNTUAAB", True),
        ("negotiate YII", True),
        ("0b8e5e0c", False),
        ("Basic YTpi", False),
        ("bearer abc", False),
        ("Digest username=a", False),
        ("", False),
    ],
)
def test_which_logins_are_a_connections(said: str, connection: bool) -> None:
    assert logs_connection_in([("authorization", said)]) is connection


def test_what_comes_with_a_cookie_is_somebodys() -> None:
    assert from_anybody([("cache-control", "public")])
    assert not from_anybody([("set-cookie", "a=1"), ("cache-control", "public")])


def test_fields_that_choose() -> None:
    assert varying([]) == ()
    assert varying([("vary", "B, a"), ("vary", "c,,")]) == ("a", "b", "c")
    assert varying([("access-control-allow-origin", "*")]) == ()
    assert varying([("content-encoding", "br")]) == ("accept-encoding",)
    assert varying([("access-control-allow-origin", "https://a.example")]) == ("origin",)


def test_the_same_is_said_with_other_blanks_and_lines() -> None:
    names = ("accept-language", "dnt")
    one = chosen_by([("accept-language", "de , en"), ("x", "1")], names)
    assert one == chosen_by([("accept-language", "de"), ("accept-language", "en")], names)
    assert one != chosen_by([("accept-language", "en, de")], names)
    assert one != chosen_by([("accept-language", "de, en"), ("dnt", "1")], names)
