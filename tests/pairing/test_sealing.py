"""Remotes of one identity read what they have sealed for a purpose, and nobody else does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pairing.identity import new_identity
from pairing.sealing import NONCE, IdentitySeal, seal_of

SEAL = IdentitySeal(bytes(range(32)), b"tests")


@given(st.binary(max_size=300), st.binary(min_size=NONCE, max_size=NONCE))
def test_what_is_sealed_is_opened_by_the_same_seal_alone(data: bytes, nonce: bytes) -> None:
    closed = SEAL.seal(data, nonce)
    assert SEAL.open(closed) == data
    others = (
        IdentitySeal(bytes(32), b"tests"),
        IdentitySeal(SEAL.key, b"other tests"),
        SEAL.part(b""),
    )
    assert [one.open(closed) for one in others] == [None, None, None]


@given(st.binary(max_size=100))
def test_anything_else_is_no_sealed_thing(data: bytes) -> None:
    assert SEAL.open(data) is None


def test_each_changed_byte_is_noticed() -> None:
    closed = bytearray(SEAL.seal(b"words", bytes(NONCE)))
    for at in range(len(closed)):
        changed = bytearray(closed)
        changed[at] ^= 1
        assert SEAL.open(bytes(changed)) is None


def test_parts_are_not_taken_for_each_other() -> None:
    keys = {SEAL.key, SEAL.part(b"a").key, SEAL.part(b"b").key, SEAL.part(b"a").part(b"b").key}
    assert len(keys) == 4
    assert SEAL.part(b"a").open(SEAL.part(b"a").seal(b"words", bytes(NONCE))) == b"words"


def test_an_identity_has_a_seal_for_each_purpose() -> None:
    one, other = new_identity(), new_identity()
    keys = {seal_of(who, purpose).key for who in (one, other) for purpose in (b"a", b"b")}
    assert len(keys) == 4
    assert seal_of(one, b"a").key == seal_of(one, b"a").key
