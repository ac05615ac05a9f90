"""Tests of who may connect: the paired devices, as their store says now."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path

import pytest

from pairing.errors import PairingError
from pairing.identity import device_identity
from pairing.store import PairingStore
from remote_proxy.devices import SETTLED, PairedDevices
from tests.watched import run, until
from transport.link.records import ProvenPeer


class World:
    """A store, and the devices that it lets in."""

    def __init__(self, folder: Path) -> None:
        self.store = PairingStore(folder)
        self.paired = PairedDevices(self.store)

    def pair(self, name: str) -> ProvenPeer:
        seed = self.store.pair(name, host="h", port=1).seed
        certificate = device_identity(seed).certificate
        (peer,) = (
            ProvenPeer(one.name, fingerprint(one.certificate))
            for one in self.store.devices()[0]
            if one.certificate == certificate
        )
        return peer

    def knows(self, peer: ProvenPeer) -> bool:
        """Over TCP, and over UDP as well."""
        over_tcp, over_udp = self.paired.security.knows(peer), self.paired.keys.knows(peer)
        assert over_tcp == over_udp
        return over_tcp

    def settle(self, at: float) -> None:
        """The store's folder says that it has not changed since then."""
        os.utime(self.store.folder / "devices", (at, at))


def fingerprint(certificate: bytes) -> str:
    return hashlib.sha256(certificate).hexdigest()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "remote")


def test_a_device_is_let_in_once_the_store_is_read_again(world: World) -> None:
    assert world.paired.security.devices == 0
    phone = world.pair("phone")
    assert not world.knows(phone)
    assert world.paired.refresh()
    assert world.knows(phone)
    assert not world.paired.refresh()


def test_a_revoked_device_and_one_of_its_name_are_two(world: World) -> None:
    phone, laptop = world.pair("phone"), world.pair("laptop")
    world.paired.refresh()
    world.store.revoke("phone")
    other = world.pair("phone")
    assert world.paired.refresh()
    assert [world.knows(one) for one in (phone, laptop, other)] == [False, True, True]


def test_a_file_that_is_no_devices_keeps_nobody_out(world: World) -> None:
    phone = world.pair("phone")
    wrong = world.store.folder / "devices" / "wrong.pem"
    wrong.touch(mode=0o600)
    wrong.write_text("no certificate\n")
    assert world.paired.refresh()
    assert world.knows(phone)
    assert world.paired.security.devices == 1


def test_a_look_sees_a_device_that_was_paired_this_moment(world: World) -> None:
    phone = world.pair("phone")
    assert world.paired.look()
    assert world.knows(phone)
    assert not world.paired.look()


def test_a_look_at_a_folder_that_has_not_changed_lists_no_files(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.pair("phone")
    world.settle(1000.0)
    assert world.paired.look()
    listed: list[PairingStore] = []

    def revision(store: PairingStore) -> tuple[object, ...]:
        listed.append(store)
        return ()

    monkeypatch.setattr(PairingStore, "revision", revision)
    assert not world.paired.look()
    assert listed == []
    world.settle(1000.0 + 10 * SETTLED)
    world.paired.look()
    assert len(listed) == 1


def test_a_store_that_cannot_be_read_says_so_but_not_to_strangers(world: World) -> None:
    phone = world.pair("phone")
    world.paired.refresh()
    folder = world.store.folder / "devices"
    folder.rename(folder.with_name("away"))
    folder.touch()
    with pytest.raises(PairingError):
        world.paired.refresh()
    assert not world.paired.look()
    assert world.knows(phone)


def test_who_watches_is_told_of_each_change_and_lives_on_a_fault(world: World) -> None:
    world.pair("first")

    async def main() -> None:
        told: list[int] = []
        watching = asyncio.ensure_future(
            world.paired.watch(lambda: told.append(world.paired.security.devices))
        )
        await until(lambda: told == [1])
        phone = world.pair("phone")
        await until(lambda: told[-1] == 2 and world.knows(phone))
        world.store.revoke("phone")
        await until(lambda: told[-1] == 1)
        assert not world.knows(phone)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    run(main())


def test_an_identity_is_made_once(world: World) -> None:
    again = PairedDevices(PairingStore(world.store.folder))
    assert again.keys.pin == world.paired.keys.pin
