"""Remotes that tell each other of their devices come to know the same, and nobody else does."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairing.errors import PairingError
from pairing.exchange import (
    PairedDevice,
    Pairings,
    exchange_seal,
    id_of,
    merged,
    opened,
    sealed,
)
from pairing.identity import new_identity
from pairing.sealing import NONCE, IdentitySeal
from pairing.store import PairingStore
from tests.malformed import NESTED, NO_UTF8

SEAL = IdentitySeal(bytes(range(32)), b"tests")
DEVICES = st.builds(
    PairedDevice,
    st.sampled_from([b"a", b"b", b"c", b"d"]),
    st.sampled_from(["phone", "laptop"]),
    st.just("2030-01-02T03:04:05+00:00"),
)
KNOWN = st.builds(
    Pairings,
    st.frozensets(DEVICES, max_size=4),
    st.frozensets(st.sampled_from([id_of(b"a"), id_of(b"b")])),
)


@given(KNOWN, KNOWN, KNOWN)
def test_in_whatever_order_they_meet_they_know_the_same(
    one: Pairings, two: Pairings, three: Pairings
) -> None:
    assert merged(one, two) == merged(two, one)
    assert merged(merged(one, two), three) == merged(one, merged(two, three))
    both = merged(one, two)
    assert merged(both, two) == both
    assert not {device.id for device in both.devices} & both.revoked


@given(KNOWN)
def test_what_is_sealed_is_read_by_whoever_has_the_key(known: Pairings) -> None:
    clean = merged(known, Pairings())
    data = sealed(clean, SEAL, bytes(NONCE))
    assert opened(data, SEAL) == clean
    assert opened(data, IdentitySeal(bytes(32), b"tests")) is None
    assert b"phone" not in data


@given(st.binary(max_size=200))
def test_anything_else_is_nobodys(data: bytes) -> None:
    assert opened(data, SEAL) is None
    whole = sealed(Pairings(), SEAL, bytes(NONCE))
    assert opened(whole + data, SEAL) is None or not data


@pytest.mark.parametrize("data", [b"", b"\x92\x90\x91" + NO_UTF8, b"\x93\x90\x90" + NESTED])
def test_what_another_version_has_sealed_is_nobodys(data: bytes) -> None:
    assert opened(SEAL.seal(data, bytes(NONCE)), SEAL) is None


def test_each_changed_byte_is_noticed() -> None:
    data = bytearray(sealed(Pairings(revoked=frozenset({"x"})), SEAL, bytes(NONCE)))
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1
        assert opened(bytes(changed), SEAL) is None


def test_a_key_is_its_identitys() -> None:
    one, other = new_identity(), new_identity()
    assert exchange_seal(one).key == exchange_seal(one).key
    assert exchange_seal(one).key != exchange_seal(other).key
    assert len(exchange_seal(one).key) == 32


def store(folder: Path) -> PairingStore:
    return PairingStore(folder)


def pair(at: PairingStore, name: str) -> None:
    at.pair(name, host="h", port=1)


def meet(one: PairingStore, other: PairingStore) -> None:
    both = merged(one.pairings(), other.pairings())
    one.take(both)
    other.take(both)


def names(at: PairingStore) -> list[str]:
    return [device.name for device in at.devices()[0]]


def test_files_of_two_remotes_come_to_hold_the_same(tmp_path: Path) -> None:
    one, other = store(tmp_path / "a"), store(tmp_path / "b")
    pair(one, "phone")
    pair(other, "laptop")
    meet(one, other)
    assert names(one) == names(other) == ["laptop", "phone"]
    assert one.devices() == other.devices()
    one.revoke("laptop")
    meet(one, other)
    assert names(one) == names(other) == ["phone"]
    pair(other, "laptop")  # anew: another certificate
    meet(one, other)
    assert names(one) == names(other) == ["laptop", "phone"]


def test_two_devices_of_one_name_are_both_let_in(tmp_path: Path) -> None:
    one, other = store(tmp_path / "a"), store(tmp_path / "b")
    pair(one, "phone")
    pair(other, "phone")
    meet(one, other)
    for at in (one, other):
        assert len(at.devices()[0]) == 2
        assert names(at)[0] == "phone"
    meet(one, other)
    assert len(one.devices()[0]) == 2  # and no third


def test_a_remote_that_was_away_learns_of_a_revocation(tmp_path: Path) -> None:
    one, other = store(tmp_path / "a"), store(tmp_path / "b")
    pair(one, "phone")
    meet(one, other)
    one.revoke("phone")
    away = other.pairings()
    assert away.devices  # it would let it in still
    assert merged(one.pairings(), away).devices == frozenset()
    meet(one, other)
    assert names(other) == []


def test_random_comings_and_goings(tmp_path: Path) -> None:
    chance = random.Random(1)
    remotes = [store(tmp_path / str(number)) for number in range(3)]
    revoked: set[str] = set()
    for step in range(40):
        at = chance.choice(remotes)
        if chance.random() < 0.6:
            pair(at, f"device{step}")
        elif found := at.devices()[0]:
            gone = chance.choice(found)
            at.revoke(gone.name)
            revoked.add(id_of(gone.certificate))
        if chance.random() < 0.5:
            meet(*chance.sample(remotes, 2))
    for one in remotes:
        for other in remotes:
            meet(one, other)
    known = [{id_of(one.certificate) for one in at.devices()[0]} for at in remotes]
    assert known[0] == known[1] == known[2]
    assert known[0]
    assert not known[0] & revoked


def test_a_name_that_none_can_be_is_not_written(tmp_path: Path) -> None:
    at = store(tmp_path / "a")
    pair(at, "phone")
    (device,) = at.pairings().devices
    odd = PairedDevice(device.certificate, "../../evil", "")
    other = store(tmp_path / "b")
    other.take(Pairings(frozenset({odd})))
    assert names(other) == []
    with pytest.raises(PairingError):
        other.revoke("../../evil")
