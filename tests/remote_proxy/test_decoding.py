"""Content codings undone in a stream, whatever the cut, and bombs."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator

import brotli
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from remote_proxy.origin.decoder import FREE_DECODED, decode
from remote_proxy.reach.failures import Failure, OriginError

TEXT = b"".join(b"<p>%d text</p>" % n for n in range(20_000))
RAW = zlib.compressobj(wbits=-15)
CODED = {
    "gzip": gzip.compress(TEXT),
    "x-gzip": gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:]),
    "deflate": zlib.compress(TEXT),
    "br": brotli.compress(TEXT, quality=4),
    "zstd": zstandard.compress(TEXT[:9]) + zstandard.compress(TEXT[9:]),
}


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


def undo(coding: str, data: bytes, *, size: int = 1 << 16, max_bytes: int = 256 << 20) -> bytes:
    async def run() -> bytes:
        headers = [("content-encoding", coding), ("content-length", "1"), ("x", "y")]
        kept, body = decode(headers, pieces(data, size), max_bytes=max_bytes)
        assert kept == [("x", "y")]
        chunks = [chunk async for chunk in body]
        assert max(map(len, chunks), default=0) <= 32 << 20
        return b"".join(chunks)

    return asyncio.run(run())


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("size", [1 << 16, 997, 1])
def test_what_was_coded_comes_out(coding: str, size: int) -> None:
    assert undo(coding, CODED[coding], size=size) == TEXT


def test_raw_deflate_several_codings_and_padding() -> None:
    raw = RAW.compress(TEXT) + RAW.flush()
    assert undo("deflate", raw, size=1) == TEXT
    assert undo("gzip, br", brotli.compress(CODED["gzip"], quality=1)) == TEXT
    assert undo("gzip", CODED["gzip"] + b"\x00" * 9) == TEXT
    assert undo("br", b"") == b""


def test_what_is_not_understood_is_not_touched() -> None:
    async def run(coding: str) -> list[bytes]:
        headers = [("content-encoding", coding), ("content-length", "3")]
        kept, body = decode(headers, pieces(b"abc", 3))
        assert kept == headers
        return [chunk async for chunk in body]

    for coding in ("identity", "exi", "gzip, exi", "gzip,gzip,gzip,gzip"):
        assert asyncio.run(run(coding)) == [b"abc"]


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("harm", ["noise", "plain"])
def test_broken_codings_are_said_to_be(coding: str, harm: str) -> None:
    data = {"noise": b"\xff" * 40, "plain": b"<html>not coded"}[harm]
    with pytest.raises(OriginError) as raised:
        undo(coding, data)
    assert raised.value.kind is Failure.PROTOCOL


@pytest.mark.parametrize("coding", CODED)
def test_of_a_coding_that_ends_too_soon_there_is_what_came(coding: str) -> None:
    """As in Chromium and Firefox (tests/conformance/topics/ranges.js)."""
    cut = undo(coding, CODED[coding][: len(CODED[coding]) // 2])
    assert len(cut) > (0 if coding == "zstd" else len(TEXT) // 4)  # that comes by the block
    assert TEXT.startswith(cut)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bombs(coding: str) -> None:
    zeros = bytes(64 << 20)
    data = {
        "gzip": lambda: gzip.compress(gzip.compress(zeros, 9), 9),
        "deflate": lambda: zlib.compress(zeros, 9),
        "br": lambda: brotli.compress(zeros, quality=1),
        "zstd": lambda: zstandard.compress(zeros),
    }[coding]()
    with pytest.raises(OriginError, match="far too much"):
        undo("gzip, gzip" if coding == "gzip" else coding, data, max_bytes=2 * FREE_DECODED)


@example(coding="x-gzip", flips=[(183, 0)], size=1)
@settings(max_examples=150, deadline=None)
@given(
    coding=st.sampled_from(sorted(CODED)),
    flips=st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), max_size=4),
    size=st.integers(1, 400),
)
def test_any_bytes_either_decode_or_raise_ours(
    coding: str, flips: list[tuple[int, int]], size: int
) -> None:
    data = bytearray(CODED[coding][:400])
    for at, value in flips:
        data[at % len(data)] = value
    try:
        made = undo(coding, bytes(data), size=size)
    except OriginError:
        return
    if not flips:  # and what follows the first member may be none: padding, as for browsers
        assert TEXT.startswith(made)
