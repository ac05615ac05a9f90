"""Who may talk to whom over SPP, and what strangers, eavesdroppers and floods get."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairing.identity import Identity, device_identity, new_identity
from transport.link.interface import NotTrusted, WrongPeer
from transport.spp.core.paths import Address
from transport.spp.handshake.door import AT_EASE, MOST, TIMEOUT, Admitted, Door
from transport.spp.handshake.exchange import (
    HELLO_SIZE,
    PROOF_SIZE,
    REFUSAL_SIZE,
    REPLY_SIZE,
    RETRY,
    ClientHandshake,
    Established,
)
from transport.spp.handshake.keys import ClientKeys, ServerKeys
from transport.spp.handshake.seal import Forged

DEVICE: Identity = device_identity(b"d" * 32)
OTHER: Identity = device_identity(b"o" * 32)
REMOTE: Identity = device_identity(b"r" * 32)  # any Ed25519 identity will do for one
WHERE: Address = ("192.0.2.7", 4000)


def chance(seed: int) -> Callable[[int], bytes]:
    return random.Random(seed).randbytes


def door(*devices: Identity, now: float = 0.0) -> Door:
    known = {one.certificate: f"device-{place}" for place, one in enumerate(devices)}
    keys = ServerKeys(REMOTE.pem, known)
    return Door(keys, taken=(), chance=chance(1), now=now)


def client(
    identity: Identity = DEVICE, *, pin: bytes = REMOTE.pin, seed: int = 2
) -> ClientHandshake:
    return ClientHandshake(ClientKeys(identity.pem, pin=pin), chance=chance(seed))


def replied(one: ClientHandshake, at: Door, *, now: float = 0.0) -> Established:
    answer, _ = at.knock(one.hello(), WHERE, now)
    assert answer is not None
    outcome = one.received(answer)
    assert isinstance(outcome, Established)
    return outcome


def admitted(one: ClientHandshake, at: Door, *, now: float = 0.0) -> Admitted:
    answer, found = at.knock(one.proof, WHERE, now)
    assert answer is None
    assert found is not None
    return found


def test_paired_ends_get_keys_that_fit_both_ways() -> None:
    one, at = client(), door(OTHER, DEVICE)
    near = replied(one, at)
    far, round_trip = admitted(one, at, now=0.25)
    assert far.peer.name == "device-1"
    assert round_trip == 0.25
    assert far.seal.open(near.seal.protect(0, b"up")) == (0, b"up")
    assert near.seal.open(far.seal.protect(0, b"down")) == (0, b"down")
    assert len(at) == 0


def test_no_two_connections_have_the_same_keys() -> None:
    at = door(DEVICE)
    one, two = client(seed=2), client(seed=3)
    first, second = replied(one, at), replied(two, at)
    far = admitted(one, at).established
    admitted(two, at)
    with pytest.raises(Forged):
        far.seal.open(second.seal.protect(0, b"x"))
    assert first.own != second.own


def test_a_hello_is_longer_than_any_answer() -> None:
    assert max(REPLY_SIZE, REFUSAL_SIZE, 37) < HELLO_SIZE < 512


def test_who_does_not_know_the_remotes_key_hears_nothing() -> None:
    at = door(DEVICE)
    stranger = client(new_identity(), pin=b"\0" * 32)
    with pytest.raises(Forged):
        at.knock(stranger.hello(), WHERE, 0.0)
    assert len(at) == 0


def test_a_device_that_is_not_paired_is_told_so_again_and_again() -> None:
    one, at = client(OTHER), door(DEVICE)
    replied(one, at)
    for _ in range(2):
        refusal, found = at.knock(one.proof, WHERE, 0.0)
        assert found is None
        assert refusal is not None
        with pytest.raises(NotTrusted, match="sluice pair"):
            one.received(refusal)


def test_a_device_that_was_revoked_meanwhile_is_refused() -> None:
    keys = ServerKeys(REMOTE.pem, {DEVICE.certificate: "d"})
    at = Door(keys, taken=(), chance=chance(1), now=0.0)
    one = client()
    peer = replied(one, at)
    keys.let_in({})
    refusal, found = at.knock(one.proof, WHERE, 0.0)
    assert refusal is not None and found is None and peer.peer.name == ""


def test_a_remote_with_another_key_is_not_talked_to() -> None:
    """It knows the pin, as everybody does who was paired, but not the key."""
    keys = ServerKeys(OTHER.pem, {DEVICE.certificate: "d"})
    keys.pin = REMOTE.pin
    at = Door(keys, taken=(), chance=chance(1), now=0.0)
    one = client()
    answer, _ = at.knock(one.hello(), WHERE, 0.0)
    assert answer is not None
    with pytest.raises(WrongPeer):
        one.received(answer)
    assert not one.proof  # nobody learns who we are


@given(st.integers(0, REPLY_SIZE * 8 - 1), st.integers(0, PROOF_SIZE * 8 - 1))
def test_no_bit_of_a_handshake_may_differ(reply_bit: int, proof_bit: int) -> None:
    one, at = client(), door(DEVICE)
    reply, _ = at.knock(one.hello(), WHERE, 0.0)
    assert reply is not None
    with pytest.raises(Forged):
        one.received(flipped(reply, reply_bit))
    one.received(reply)
    with pytest.raises(Forged):
        at.knock(flipped(one.proof, proof_bit), WHERE, 0.0)
    assert admitted(one, at).established.peer.name == "device-0"


def flipped(datagram: bytes, bit: int) -> bytes:
    changed = bytearray(datagram)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@given(st.binary(max_size=250), st.sampled_from([0x50, 0x51, 0x52, 0x53, 0x54, 0x55]))
def test_noise_opens_no_door(noise: bytes, kind: int) -> None:
    at, one = door(DEVICE), client()
    for datagram in (noise, bytes([kind]) + noise):
        with pytest.raises(Forged):
            at.knock(datagram, WHERE, 0.0)
        with pytest.raises(Forged):
            one.received(datagram)
    assert len(at) == 0


def test_a_proof_counts_once() -> None:
    one, at = client(), door(DEVICE)
    replied(one, at)
    admitted(one, at)
    with pytest.raises(Forged):
        at.knock(one.proof, WHERE, 0.0)


def test_a_hello_that_comes_again_is_answered_the_same() -> None:
    one, at = client(), door(DEVICE)
    answers = [at.knock(one.hello(), WHERE, 0.0)[0] for _ in range(3)]
    assert answers[0] is not None
    assert len(set(answers)) == 1
    assert len(at) == 1


def test_a_key_without_strength_is_refused() -> None:
    one, at = client(), door(DEVICE)
    hello = bytearray(one.hello())
    hello[6:38] = bytes(32)
    from transport.spp.handshake.tags import tagged

    weak = tagged(REMOTE.pin, bytes(hello[:-16]))
    with pytest.raises(Forged):
        at.knock(weak, WHERE, 0.0)
    assert len(at) == 0


def test_a_crowd_must_show_that_it_lives_where_it_says() -> None:
    at = door(DEVICE)
    crowd = [client(seed=seed) for seed in range(100, 100 + 3 * AT_EASE)]
    answers = [at.knock(one.hello(), WHERE, 0.0)[0] for one in crowd]
    assert len(at) == AT_EASE
    last, retry = crowd[-1], answers[-1]
    assert retry is not None and retry[0] == RETRY
    with pytest.raises(Forged):  # not for another's hello
        crowd[-2].received(retry)
    assert last.received(retry) is True
    hello = last.hello()
    elsewhere, _ = at.knock(hello, ("192.0.2.8", 4000), 0.0)
    assert elsewhere is not None and elsewhere[0] == RETRY  # the cookie is its address's
    answer, _ = at.knock(hello, WHERE, 0.0)
    assert answer is not None
    last.received(answer)
    assert admitted(last, at).established.peer.name == "device-0"


def test_handshakes_are_bounded_in_number_and_time() -> None:
    at = door(DEVICE)
    for seed in range(3 * MOST):
        one = client(seed=1000 + seed)
        where = (f"192.0.2.{seed % 4}", 4000)
        answer, _ = at.knock(one.hello(), where, 0.0)
        assert answer is not None
        if answer[0] == RETRY:
            one.received(answer)
            at.knock(one.hello(), where, 0.0)
    assert len(at) == MOST
    at.knock(client(seed=7).hello(), WHERE, TIMEOUT + 1)
    assert len(at) == 1


def test_keys_of_another_kind_are_refused_with_a_reason() -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = generate_private_key(SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with pytest.raises(ValueError, match="Ed25519"):
        ClientKeys(pem, pin=bytes(32))
