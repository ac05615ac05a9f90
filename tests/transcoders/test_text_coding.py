"""Streaming text: nothing waits, nothing is lost, nothing explodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transcoders.text import (
    DENSE,
    FAST,
    TextDecoder,
    TextEncoder,
    TextError,
    compressible,
    quality_for,
)

PAGE = b"".join(
    b"<li class=item><a href=/story/%d>Story %d</a></li>\n" % (n, n) for n in range(2000)
)


@given(st.lists(st.binary(max_size=400)))
def test_each_chunk_can_be_read_at_once(chunks: list[bytes]) -> None:
    encoder, decoder = TextEncoder(), TextDecoder(max_bytes=1 << 20)
    for chunk in chunks:
        assert decoder.decode(encoder.encode(chunk)) == chunk
    assert decoder.decode(encoder.finish()) == b""


def test_an_empty_component_is_a_whole_stream() -> None:
    assert TextDecoder(max_bytes=0).decode(TextEncoder().finish()) == b""


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
def test_the_stream_may_be_cut_anywhere(size: int) -> None:
    encoder, decoder = TextEncoder(), TextDecoder(max_bytes=1 << 20)
    coded = encoder.encode(PAGE) + encoder.finish()
    pieces = [coded[at : at + size] for at in range(0, len(coded), size)]
    assert b"".join(decoder.decode(piece) for piece in pieces) == PAGE


def test_chunks_share_one_window() -> None:
    encoder = TextEncoder()
    first = encoder.encode(PAGE[:4096])
    assert len(encoder.encode(PAGE[:4096])) < len(first) / 10


def test_without_flush_a_chunk_may_wait_but_is_not_lost() -> None:
    encoder, decoder = TextEncoder(), TextDecoder(max_bytes=1 << 20)
    coded = encoder.encode(b"held back, ", flush=False)
    assert decoder.decode(coded) == b""
    assert decoder.decode(encoder.encode(b"sent")) == b"held back, sent"


def test_a_bomb_stops_at_the_limit() -> None:
    encoder = TextEncoder()
    bomb = encoder.encode(bytes(50_000_000)) + encoder.finish()
    assert len(bomb) < 10_000
    decoder = TextDecoder(max_bytes=1_000_000)
    with pytest.raises(TextError, match="limit"):
        decoder.decode(bomb)


def test_the_limit_counts_the_whole_component() -> None:
    encoder, decoder = TextEncoder(), TextDecoder(max_bytes=100)
    assert len(decoder.decode(encoder.encode(bytes(60)))) == 60
    with pytest.raises(TextError, match="limit"):
        decoder.decode(encoder.encode(bytes(60)))


def test_a_stream_that_is_cut_short_is_not_finished() -> None:
    encoder, decoder = TextEncoder(), TextDecoder(max_bytes=1 << 20)
    assert decoder.decode(encoder.encode(b"all of it")) == b"all of it"
    assert not decoder.finished
    assert decoder.decode(encoder.finish()) == b""
    assert decoder.finished
    with pytest.raises(TextError, match="after the end"):
        decoder.decode(b"more")


@pytest.mark.parametrize(("rate", "quality"), [(None, DENSE), (7_000.0, DENSE), (1e6, FAST)])
def test_slow_links_get_the_denser_coding(rate: float | None, quality: int) -> None:
    assert quality_for(rate) == quality
    words = b" ".join(b"<p class=%x>" % (n * n) for n in range(3000))
    dense = TextEncoder(quality=DENSE)
    assert len(dense.encode(words)) < len(TextEncoder(quality=FAST).encode(words))


@given(st.binary(min_size=1, max_size=200))
def test_what_is_not_ours_is_an_error_or_nothing(data: bytes) -> None:
    decoder = TextDecoder(max_bytes=1000)
    try:
        assert len(decoder.decode(data)) <= 1000
    except TextError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html; charset=utf-8", True),
        ("TEXT/CSS", True),
        ("application/ld+json", True),
        ("image/svg+xml", True),
        ("font/ttf", True),
        ("font/woff2", False),
        ("image/png", False),
        ("application/zip", False),
        ("", False),
    ],
)
def test_which_types_shrink(content_type: str, expected: bool) -> None:
    assert compressible(content_type) is expected
