"""Tests of two ends that know each other, made in memory: over TLS, and the same two for SPP."""

from __future__ import annotations

import asyncio
import socket

import pytest

from emulation.memory.secured import SecuredEnds, paired, paired_twice
from tests.watched import run
from transport.link.interface import LinkError, WrongPeer
from transport.link.records import Records


async def shaken(ends: SecuredEnds) -> tuple[Records | BaseException, Records | BaseException]:
    """What the server's and the client's handshakes came to."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)

        async def serve() -> Records:
            try:
                return await ends.server.secure(ours)
            finally:
                ours.shutdown(socket.SHUT_WR)

        async def dial() -> Records:
            try:
                return await ends.client.secure(theirs)
            finally:
                theirs.shutdown(socket.SHUT_WR)

        server, client = await asyncio.gather(serve(), dial(), return_exceptions=True)
        return server, client


def test_the_two_let_each_other_in_and_the_device_has_its_name() -> None:
    server, client = run(shaken(paired("phone")))
    assert not isinstance(server, BaseException)
    assert not isinstance(client, BaseException)
    assert server.peer is not None
    assert server.peer.name == "phone"
    assert client.peer is not None
    assert client.peer.name == ""


def test_two_pairings_have_nothing_to_do_with_each_other() -> None:
    one, other = paired(), paired()
    _, client = run(shaken(SecuredEnds(one.server, other.client)))
    assert isinstance(client, WrongPeer)


def test_a_remote_that_knows_another_device_lets_this_one_not_in() -> None:
    one, other = paired("phone"), paired("phone")
    mixed = SecuredEnds(one.server, other.client)
    server, _ = run(shaken(mixed))
    assert isinstance(server, LinkError)


def test_both_transports_have_the_same_identities() -> None:
    tls, keys = paired_twice("phone")
    assert keys.client.recognises(keys.server.public)
    assert keys.client.pin == keys.server.pin == tls.client.pin
    _, peer = keys.server.device(keys.client.fingerprint)
    assert peer.name == "phone"
    assert tls.server.knows(peer)
    assert not paired_twice("phone")[0].server.knows(peer)
    with pytest.raises(LinkError):
        paired_twice("phone")[1].server.device(keys.client.fingerprint)
