"""Datagrams are opened once, by whom they are for, as they were sealed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transport.spp_ends import DOWN, FAR, NEAR, UP, far_seal, near_seal
from transport.spp.core.packets import OVERHEAD
from transport.spp.handshake.seal import REKEY_BITS, REPLAY_WINDOW, Forged, ReplayWindow, Seal

GENERATION = 1 << REKEY_BITS


def test_it_comes_out_as_it_went_in_and_only_once() -> None:
    near, far = near_seal(), far_seal()
    datagram = near.protect(0, b"frames")
    assert len(datagram) == len(b"frames") + OVERHEAD
    assert far.open(datagram) == (0, b"frames")
    with pytest.raises(Forged):
        far.open(datagram)
    with pytest.raises(Forged):  # its sender is not its receiver
        near.open(datagram)


@given(st.integers(0, 39 * 8 - 1))
def test_no_bit_may_differ(bit: int) -> None:
    datagram = bytearray(near_seal().protect(7, b"some frames..."))
    datagram[bit // 8] ^= 1 << bit % 8
    far = far_seal()
    with pytest.raises(Forged):
        far.open(bytes(datagram))
    datagram[bit // 8] ^= 1 << bit % 8
    assert far.open(bytes(datagram)) == (7, b"some frames...")


@given(st.binary(max_size=80))
def test_noise_opens_nothing(noise: bytes) -> None:
    far = far_seal()
    for one in (noise, b"\x50" + FAR + noise):
        with pytest.raises(Forged):
            far.open(one)


def test_another_connections_keys_do_not_fit() -> None:
    other = Seal(sending=b"x" * 32, receiving=DOWN, own=NEAR, peer=FAR)
    far = far_seal()
    with pytest.raises(Forged):
        far.open(other.protect(0, b"frames"))
    assert far.forgeries == 1


def test_keys_change_with_the_numbers() -> None:
    near, far = near_seal(), far_seal()
    last, first = near.protect(GENERATION - 1, b"old"), near.protect(GENERATION, b"new")
    first_key = Seal(sending=UP, receiving=DOWN, own=NEAR, peer=FAR)
    with pytest.raises(Forged):  # the first key would not do for it
        far_seal().open(first_key.protect(0, b"new")[:9] + first[9:])
    assert far.open(far_number(far, GENERATION - 2))[1] == b"on the way"
    assert far.open(first) == (GENERATION, b"new")
    assert far.open(last) == (GENERATION - 1, b"old")  # late, under the key before


def far_number(far: Seal, number: int) -> bytes:
    """Bring the receiver there: its window has to know about where numbers are."""
    return near_seal().protect(number, b"on the way")


def test_a_number_two_keys_ahead_is_nobodys() -> None:
    near, far = near_seal(), far_seal()
    far.open(near.protect(0, b"a"))
    with pytest.raises(Forged):
        far.open(near.protect(2 * GENERATION, b"b"))
    assert far.open(near_seal().protect(1, b"c")) == (1, b"c")


@given(st.integers(0, 1 << 40), st.integers(-(1 << 30), 1 << 30))
def test_half_a_number_tells_all_of_it(newest: int, ahead: int) -> None:
    window = ReplayWindow()
    window.note(newest)
    number = max(0, newest + ahead)
    assert window.expand(number % (1 << 32)) == number


@given(st.lists(st.integers(0, 3 * REPLAY_WINDOW), max_size=60))
def test_a_number_is_fresh_once(numbers: list[int]) -> None:
    window, seen = ReplayWindow(), set[int]()
    newest = -1
    for number in numbers:
        expected = number not in seen and number > newest - REPLAY_WINDOW
        assert window.fresh(number) == expected
        if expected:
            window.note(number)
            seen.add(number)
            newest = max(newest, number)


def test_order_does_not_matter_within_the_window() -> None:
    near, far = near_seal(), far_seal()
    datagrams = [near.protect(number, bytes([number % 256])) for number in range(1000)]
    random.Random(1).shuffle(datagrams)
    assert sorted(far.open(one)[0] for one in datagrams) == list(range(1000))
