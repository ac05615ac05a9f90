"""Trailers read beside a body: whole, cut anywhere, malformed, endless."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.origin.trailers import MAX_BYTES, TrailerReader, may_trail

BODY = b"5;x=1\r\nhello\r\nC\r\n0\r\nX: no\r\n\r\n\r\n0\r\nX-Sum: 1 \r\nY:\r\nSet-Cookie: a\r\n\r\n"
"""Its second chunk looks like the end of a body."""
FOUND = [("x-sum", "1"), ("y", "")]


def read(*pieces: bytes) -> TrailerReader:
    reader = TrailerReader()
    for piece in pieces:
        reader.feed(piece)
    return reader


@given(st.lists(st.integers(0, len(BODY)), max_size=12))
def test_however_it_is_cut(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(BODY)]
    reader = read(*(BODY[a:b] for a, b in pairwise(ends)), b"junk\r\nX: y\r\n\r\n")
    assert (reader.fields, reader.over) == (FOUND, True)


@pytest.mark.parametrize(
    "data",
    [
        BODY[:-2],
        b"zz\r\n0\r\nX: y\r\n\r\n",
        b"0\nX: y\r\n\r\n",
        b"0\r\nX: y\n\r\n",
        b"0\r\nX: y\r\n folded\r\n\r\n",
        b"0\r\nX : y\r\n\r\n",
        b"0\r\nX: a\rb\r\n\r\n",
        b"0\r\nX: a\0b\r\n\r\n",
        b"0\r\n" + b"X: y\r\n" * (MAX_BYTES // 6 + 1) + b"\r\n",
        b"0\r\nX: " + b"y" * 9000 + b"\r\n\r\n",
        b"f" * 9000,
        b"",
    ],
)
def test_what_is_not_as_it_should_be_yields_nothing(data: bytes) -> None:
    assert read(data).fields == []


@given(st.binary(max_size=300))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    assert all(may_trail(name) for name, _ in read(data).fields)
