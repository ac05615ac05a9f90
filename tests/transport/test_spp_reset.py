"""A remote that has forgotten a connection says so to its device, and to nobody else."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.transport.test_spp_handshake import (
    DEVICE,
    REMOTE,
    WHERE,
    admitted,
    chance,
    client,
    door,
    replied,
)
from tests.transport.test_spp_udp import KEYS, Nat, run, serving
from transport.link.interface import LinkError
from transport.spp.core import connection, recovery
from transport.spp.edge.udp import connect
from transport.spp.handshake import reset
from transport.spp.handshake.door import Door
from transport.spp.handshake.exchange import Established
from transport.spp.handshake.keys import ServerKeys
from transport.spp.handshake.seal import Forged


def established() -> Established:
    one, at = client(), door(DEVICE)
    found = replied(one, at)
    admitted(one, at)
    return found


def test_a_restarted_remote_knows_the_token_and_a_living_one_is_silent() -> None:
    one, at = client(), door(DEVICE)
    found = replied(one, at)
    assert found.reset is not None
    assert at.knock(found.reset.query, WHERE, 0.0) == (None, None)  # a guest
    there = admitted(one, at).established
    keys = ServerKeys(REMOTE.pem, {DEVICE.certificate: "d"})
    alive = Door(keys, taken={there.own}, chance=chance(3), now=0.0)
    assert alive.knock(found.reset.query, WHERE, 0.0) == (None, None)
    answer, _ = door(now=9.0).knock(found.reset.query, WHERE, 9.0)
    assert answer is not None
    assert found.reset.says(answer)
    assert len(answer) < len(found.reset.query)


def test_no_other_remote_can_say_so() -> None:
    found = established()
    assert found.reset is not None
    names = {"remote": found.peer_name, "device": found.own}
    assert not found.reset.says(reset.reset(b"x" * 32, **names))
    other = reset.reset(ServerKeys(REMOTE.pem, {}).reset, remote=b"othr", device=found.own)
    assert not found.reset.says(other)


@given(st.binary(max_size=60), st.integers(0, 24), st.integers(1, 255))
def test_strangers_get_no_answer(noise: bytes, place: int, change: int) -> None:
    found = established()
    assert found.reset is not None
    damaged = bytearray(found.reset.query)
    damaged[place] ^= change
    for datagram in (bytes((reset.QUERY,)) + noise, bytes(damaged), found.reset.query[:-1]):
        with pytest.raises(Forged):
            door().knock(datagram, WHERE, 0.0)


def test_a_device_notices_within_a_round_trip_of_what_it_sends_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "REST", -1.0)  # any silence is a rest
    patience = 5.0
    monkeypatch.setattr(recovery, "GRANULARITY", patience)  # the usual one ends on a busy machine

    async def scenario() -> None:
        async with serving() as (server, listener):
            near = await connect("127.0.0.1", listener.address[1], keys=KEYS)
            await near.until_confirmed()
            far = await server.link()
            near.send(b"before")
            assert await far.receive() == [b"before"]
            await near.delivered()
            far.refused(LinkError("gone"))  # as if the remote had been restarted
            near.send(b"after")
            began = asyncio.get_running_loop().time()
            with pytest.raises(LinkError, match="restarted"):
                await near.receive()
            # No probe was needed, and it has sent one datagram.
            assert near.statistics().lost == 0
            assert not near.doubtful
            assert asyncio.get_running_loop().time() - began < patience
            await near.closed()

    run(scenario)


def test_in_the_middle_of_a_transfer_the_first_probe_asks() -> None:
    async def scenario() -> None:
        async with serving() as (server, listener), Nat(listener.address) as nat:
            near = await connect(*nat.address, keys=KEYS)
            await near.until_confirmed()
            far = await server.link()
            far.refused(LinkError("gone"))  # as if the remote had been restarted
            near.send(b"at once")
            with pytest.raises(LinkError, match="restarted"):
                await near.receive()
            assert near.doubtful
            await near.closed()

    run(scenario)
