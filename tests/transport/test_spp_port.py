"""Tests of one UDP socket and the connections on it: many datagrams a call, each to its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import pytest

from tests.watched import run, until
from transport.link.records import ProvenPeer
from transport.spp.core.packets import SEALED
from transport.spp.core.paths import Address
from transport.spp.edge.port import Port
from transport.spp.edge.sockets import DatagramSocket, TooLarge
from transport.spp.handshake.seal import Forged


@contextlib.contextmanager
def two(*, offload: bool = True) -> Iterator[tuple[DatagramSocket, DatagramSocket]]:
    """Two bound sockets."""
    made = []
    for _ in range(2):
        own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        own.bind(("127.0.0.1", 0))
        made.append(DatagramSocket(own, offload=offload))
    try:
        yield made[0], made[1]
    finally:
        for one in made:
            one.close()


def all_of(one: DatagramSocket) -> list[bytes]:
    found: list[bytes] = []
    while (arrivals := one.receive()) is not None:
        assert all(0.0 <= arrival.age < 60.0 for arrival in arrivals)
        found += [arrival.datagram for arrival in arrivals]
    return found


SIZES = [1000] * 70 + [300, 1000, 1200, 5, 1200, 1200]


@pytest.mark.parametrize("offload", [False, True])
def test_datagrams_come_one_by_one_as_they_were_sent_however_they_went(offload: bool) -> None:
    with two(offload=offload) as (near, far):
        sent = [bytes([number]) * size for number, size in enumerate(SIZES)]
        assert near.send(sent, far.address) == len(sent)
        assert all_of(far) == sent
        assert far.receive() is None
        if not offload:
            assert not (near.segments or near.coalesces)


def test_who_sent_it_is_told_with_it() -> None:
    with two() as (near, far):
        near.send([b"here"], far.address)
        arrivals = far.receive()
        assert arrivals is not None
        assert [(one.datagram, one.address) for one in arrivals] == [(b"here", near.address)]


def test_what_no_datagram_can_hold_says_how_large_it_was() -> None:
    with two() as (near, far), pytest.raises(TooLarge, match="70000") as caught:
        near.send([b"goes", bytes(70_000), b"waits"], far.address)
    assert (caught.value.size, caught.value.sent) == (70_000, 1)


def test_what_nobody_listens_for_is_lost_and_is_no_error() -> None:
    with two() as (near, far):
        gone = far.address
        far.close()
        for _ in range(3):
            assert near.send([b"lost"], gone) == 1
        assert not near.receive()  # somebody's word that it is gone proves nothing


# The port.


class Tenant:
    """A connection that keeps what it is given."""

    peer = ProvenPeer("d", "00")

    def __init__(self, *, authentic: bool = True) -> None:
        self.authentic = authentic
        self.got: list[bytes] = []
        self.turns = 0
        self.ended = 0
        self.refused: list[int] = []

    def take(self, datagram: bytes, address: Address, *, age: float, now: float) -> bool:
        self.got.append(datagram)
        return self.authentic

    def turn(self) -> None:
        self.turns += 1

    def too_large(self, size: int) -> None:
        self.refused.append(size)

    def end(self) -> None:
        self.ended += 1


class Strangers:
    """Who deals with what is no connection's."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def __call__(self, datagram: bytes, address: Address, now: float) -> None:
        self.got.append(datagram)
        if datagram.startswith(b"forged"):
            raise Forged


def sealed(name: bytes, rest: bytes = b"...") -> bytes:
    return bytes([SEALED]) + name + rest


def test_each_datagram_goes_to_whom_it_names_and_others_to_the_door() -> None:
    async def go() -> None:
        with two() as (own, sender):
            strangers = Strangers()
            port = Port(own, strangers)
            one, other = Tenant(), Tenant(authentic=False)
            port.links = {b"one.": one, b"two.": other}
            unknown = [b"x", b"", sealed(b"none"), b"forged", b"\x01one."]
            sent = [sealed(b"one.", b"1"), *unknown, sealed(b"two."), sealed(b"one.", b"2")]
            sender.send(sent, port.address)
            await until(lambda: len(one.got) == 2)
            assert one.got == [sealed(b"one.", b"1"), sealed(b"one.", b"2")]
            assert one.turns >= 1
            assert (len(other.got), other.turns) == (1, 0)
            assert strangers.got == unknown
            assert port.garbage == 1
            port.close()

    run(go())


def test_what_the_kernel_does_not_take_waits_and_its_connection_has_a_turn_then() -> None:
    class Slow(DatagramSocket):
        """Takes one datagram a call, and none while it is shut."""

        shut = True

        def send(self, datagrams: list[bytes], address: Address) -> int:  # type: ignore[override]
            return 0 if self.shut else super().send(datagrams[:1], address)

    async def go() -> None:
        with two() as (_, far):
            own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            own.bind(("127.0.0.1", 0))
            slow, tenant = Slow(own), Tenant()
            port = Port(slow, Strangers())
            port.send([b"1", b"2"], far.address, tenant)
            assert port.blocked
            port.send([b"3"], far.address, tenant)
            port.send([b"a stranger's answer"], far.address, None)  # which does not wait
            assert tenant.turns == 0
            slow.shut = False
            await until(lambda: tenant.turns)
            assert not port.blocked
            assert all_of(far) == [b"1", b"2", b"3"]
            assert tenant.turns == 1
            assert port.queued >= 0
            port.close()

    run(go())


def test_of_what_is_too_large_its_connection_hears_and_the_rest_goes() -> None:
    async def go() -> None:
        with two() as (own, far):
            port, tenant = Port(own, Strangers()), Tenant()
            port.send([b"a", bytes(70_000), bytes(80_000), b"b"], far.address, tenant)
            assert tenant.refused == [70_000]
            assert all_of(far) == [b"a", b"b"]
            port.send([bytes(70_000)], far.address, None)
            assert not port.blocked
            port.close()

    run(go())


def test_the_last_connection_to_end_is_told_and_a_port_that_closes_ends_them_all() -> None:
    async def go() -> None:
        with two() as (own, far):
            port, told = Port(own, Strangers()), list[str]()
            port.closed = lambda: told.append("closed")
            one, other = Tenant(), Tenant()
            port.links = {b"one.": one, b"two.": other}
            port.forget(b"one.")
            assert told == []
            port.close()
            port.close()
            assert (one.ended, other.ended) == (0, 2)
            port.forget(b"two.")
            assert told == ["closed"]
            port.send([b"late"], far.address, other)
            assert port.queued == 0
            await asyncio.sleep(0)
            assert far.receive() is None

    run(go())
