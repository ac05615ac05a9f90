"""A kept text is what it was, or it is not used."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from coding.delta import MAX_DICTIONARY
from coding.dictionary import LEAST, Dictionary, TextGathering, clears, may_keep
from coding.owner import TextOwner
from wire.origin_request import OriginRequest

OWNER = TextOwner("https://a.example")
URL = "https://a.example/page"


def gathered(*pieces: bytes) -> Dictionary | None:
    gathering = TextGathering()
    for piece in pieces:
        gathering.add(piece)
    return gathering.finish(OWNER, URL, media="text/html", page=URL)


def test_it_is_named_by_all_of_its_bytes() -> None:
    text = gathered(b"a" * 200, b"b" * 200)
    assert text is not None
    assert text.digest == hashlib.sha256(b"a" * 200 + b"b" * 200).digest()
    assert text.text() == b"a" * 200 + b"b" * 200
    assert text.name == text.digest[:6]
    assert text.is_page
    assert not text.used_by("https://a.example/other").is_page


@pytest.mark.parametrize("size", [0, LEAST - 1, MAX_DICTIONARY + 1, 3 * MAX_DICTIONARY])
def test_what_is_too_short_or_too_long_is_not_kept(size: int) -> None:
    pieces = [b"x" * min(65536, size - at) for at in range(0, size, 65536)]
    assert gathered(*pieces) is None


@pytest.mark.parametrize("size", [LEAST, MAX_DICTIONARY])
def test_all_between_is(size: int) -> None:
    text = gathered(b"x" * size)
    assert text is not None
    assert text.size == size


def test_one_that_was_changed_is_not_used() -> None:
    text = gathered(b"a text of some length " * 40)
    assert text is not None
    for packed in (text.packed[:-3], b"", b"no zstd at all", text.packed[:20] + b"\0" * 20):
        assert replace(text, packed=packed).text() is None
    other = gathered(b"A text of some length " * 40)
    assert other is not None
    assert replace(text, packed=other.packed).text() is None


def test_one_that_says_it_is_short_and_is_not_is_not_unpacked() -> None:
    text = gathered(bytes(1 << 20))
    assert text is not None
    assert replace(text, size=300).text() is None


def test_who_asks_and_who_answers_may_forbid_it() -> None:
    ask = OriginRequest("GET", URL, [])
    secret = [("cache-control", "private, No-Store")]
    assert may_keep(ask, 200, [("cache-control", "private")])
    assert not may_keep(ask, 200, secret)
    assert not may_keep(replace(ask, headers=secret), 200, [])
    assert not may_keep(replace(ask, method="POST"), 200, [])
    assert not may_keep(ask, 404, [])


def test_an_origin_can_have_them_forgotten() -> None:
    assert clears([("clear-site-data", '"cache"')])
    assert clears([("clear-site-data", '"cookies", "storage"')])
    assert clears([("clear-site-data", '"*"')])
    assert not clears([("clear-site-data", '"clientHints"')])
    assert not clears([])
