"""A text coded against another one is the same text again, however it is cut."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coding.delta import MAX_DICTIONARY, WINDOW_LOG, DeltaDecoder, DeltaEncoder
from transcoders.text import DENSE, FAST, TextError

BASE = b"".join(b"<li>item %d of the list</li>\n" % number for number in range(300))


def coded(pieces: list[bytes], dictionary: bytes, quality: int = FAST) -> bytes:
    encoder = DeltaEncoder(dictionary, quality=quality)
    return b"".join(map(encoder.encode, pieces)) + encoder.finish()


@given(
    st.binary(max_size=2000),
    st.lists(st.binary(max_size=500), max_size=6),
    st.integers(1, 300),
    st.sampled_from([FAST, DENSE]),
)
def test_what_is_coded_comes_back(
    dictionary: bytes, pieces: list[bytes], step: int, quality: int
) -> None:
    data = coded(pieces, dictionary, quality)
    decoder, back = DeltaDecoder(dictionary, max_bytes=1 << 20), b""
    for at in range(0, len(data), step):
        back += decoder.decode(data[at : at + step])
    assert back == b"".join(pieces)
    assert decoder.finished


def test_every_piece_can_be_shown_once_it_is_here() -> None:
    encoder, decoder = DeltaEncoder(BASE, quality=DENSE), DeltaDecoder(BASE, max_bytes=1 << 20)
    for piece in (b"<p>new</p>", BASE[:5000], b"x"):
        assert decoder.decode(encoder.encode(piece)) == piece


def test_what_both_have_costs_next_to_nothing() -> None:
    changed = BASE.replace(b"item 7 ", b"ITEM seven ")
    assert len(coded([BASE], BASE)) < 50 < len(BASE) / 100
    assert len(coded([changed], BASE)) < 90


def test_the_longest_dictionary_is_reached_to_its_beginning() -> None:
    dictionary = random.Random(1).randbytes(MAX_DICTIONARY)
    text = dictionary[-1000:] + dictionary[:1000]
    data = coded([dictionary, text], dictionary, DENSE)
    assert len(data) < 400
    decoder = DeltaDecoder(dictionary, max_bytes=1 << 22)
    back = b"".join(decoder.decode(data[at : at + 256]) for at in range(0, len(data), 256))
    assert back == dictionary + text
    assert MAX_DICTIONARY < 1 << WINDOW_LOG


@given(st.data())
def test_damage_is_an_error_or_the_end_of_the_text_does_not_come(data: st.DataObject) -> None:
    whole = bytearray(coded([BASE, b"tail"], BASE[:3000]))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    decoder, back = DeltaDecoder(BASE[:3000], max_bytes=1 << 20), b""
    try:
        back = decoder.decode(bytes(whole))
    except TextError:
        return
    assert not decoder.finished or len(back) <= 1 << 20


def test_too_much_is_an_error() -> None:
    bomb = coded([bytes(1 << 16)] * 10, b"x" * 300)
    decoder = DeltaDecoder(b"x" * 300, max_bytes=1 << 18)
    with pytest.raises(TextError, match="limit"):
        for at in range(0, len(bomb), 256):
            decoder.decode(bomb[at : at + 256])


def test_bytes_behind_the_end_are_an_error() -> None:
    data = coded([b"text"], BASE)
    with pytest.raises(TextError, match="after the end"):
        DeltaDecoder(BASE, max_bytes=100).decode(data + b"more")
    decoder = DeltaDecoder(BASE, max_bytes=100)
    decoder.decode(data)
    with pytest.raises(TextError, match="after the end"):
        decoder.decode(b"more")


def test_another_dictionary_never_makes_the_text() -> None:
    """Nobody tries: a digest names the dictionary. If they did, this is what they would get."""
    data = coded([BASE], BASE)
    decoder = DeltaDecoder(BASE[::-1], max_bytes=1 << 20)
    with contextlib.suppress(TextError):
        assert decoder.decode(data) != BASE
