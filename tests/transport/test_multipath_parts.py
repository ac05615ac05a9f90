"""The parts of a connection over several paths: its words, and what goes up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.multipath.uplink import CAPACITY, UplinkReceiver, UplinkSender
from transport.multipath.words import (
    LONGEST,
    SegmentWord,
    StreamWord,
    Word,
    WordReader,
    encode,
)
from transport.spp.core import varint
from wire.errors import PeerError

WORDS = st.one_of(
    st.builds(SegmentWord, st.binary(min_size=1, max_size=200)),
    st.builds(StreamWord, st.integers(0, 1 << 50), st.binary(min_size=1, max_size=2000)),
)


@given(st.lists(WORDS, max_size=10), st.integers(0, 1 << 30))
def test_words_survive_any_cut(said: list[Word], seed: int) -> None:
    data, chance, reader = b"".join(map(encode, said)), random.Random(seed), WordReader()
    heard: list[Word] = []
    while data:
        size = chance.randrange(1, 300)
        heard += reader.feed(data[:size])
        data = data[size:]
    assert heard == said


@pytest.mark.parametrize(
    "data",
    [
        b"\x02\x01x",
        b"\x00\x00",
        b"\x00" + varint.encode(LONGEST + 1),
        b"\x01\x01\x05",
        b"\x01\x01\x45",
        b"\x00\x40\x01x",
    ],
)
def test_what_is_no_word_is_the_peers_fault(data: bytes) -> None:
    with pytest.raises(PeerError):
        list(WordReader().feed(data))


@given(st.binary(max_size=200))
def test_noise_is_words_or_a_fault_and_nothing_else(data: bytes) -> None:
    reader = WordReader()
    try:
        for at in range(len(data)):
            list(reader.feed(data[at : at + 1]))
    except PeerError:
        pass


def test_what_one_path_owes_goes_over_another_and_counts_once() -> None:
    sender = UplinkSender()
    first, second = sender.write(b"first"), sender.write(b"second")
    sender.sent(0, 7, first)
    sender.sent(0, 8, second)
    assert sender.arrived(0, 8) == 6
    assert sender.in_order == 0
    sender.give_up(0)
    assert sender.next_again() == (first, b"first")
    assert sender.next_again() is None
    sender.sent(1, 3, first)
    assert sender.arrived(0, 7) == 0  # an old path's word, after all
    assert sender.arrived(1, 3) == 5
    assert sender.in_order == sender.written == 11
    assert sender.under_way == 0


def test_what_was_sent_before_anybody_counts_is_not_counted() -> None:
    sender = UplinkSender()
    sender.sent(0, 1, sender.write(b"preamble"))
    sender.counts_from = sender.written
    sender.sent(0, 2, sender.write(b"frame"))
    assert sender.arrived(0, 1) == 0
    assert sender.arrived(0, 2) == 5


def test_the_receiver_puts_it_in_order_each_byte_once() -> None:
    receiver = UplinkReceiver()
    receiver.came(5, b"world")
    assert receiver.read() == b""
    receiver.came(0, b"hello")
    receiver.came(0, b"hello")
    assert receiver.read() == b"helloworld"
    with pytest.raises(PeerError):
        receiver.came(10 + CAPACITY, b"x")
