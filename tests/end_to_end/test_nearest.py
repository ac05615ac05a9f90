"""A device that may use several remotes goes on at the nearest one, and no page notices."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from configuration import LocalSettings
from emulation.relay.relay import Relay
from local_proxy.dialling import nearest
from pairing.store import PairingStore
from remote_proxy.devices import PairedDevices
from tests.end_to_end.pair import Client, FakeOrigin, Pair, Remote, pair, run, until
from tests.end_to_end.test_levels import PAGE, PHOTO, STOPS, policy
from tests.end_to_end.test_security import running

FAR, NEAR = 0.08, 0.005
"""Seconds one way."""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look is made at once; and again soon, where something moved meanwhile on a busy machine."""
    monkeypatch.setattr(nearest, "REST", 0.3)
    monkeypatch.setattr(nearest, "AGAIN", 0.3)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look that found nobody nearer is not the last one."""
    monkeypatch.setattr(nearest, "EVERY", 0.3)


@dataclass
class Fleet:
    """Two remotes that are one, and a device that begins at the far one."""

    origin: FakeOrigin
    far: Remote
    near: Remote
    device: Pair

    @property
    def at(self) -> list[str]:
        """Which remotes have a session."""
        both = (("far", self.far), ("near", self.near))
        return [name for name, remote in both if remote.sessions]

    async def moved(self) -> None:
        """Until it has: a busy machine may take the near one for far, and has to look again."""
        async with asyncio.timeout(60):
            while self.at != ["near"] or self.device.local.uplink.session is None:
                self.device.local.uplink.activity.happened()
                await asyncio.sleep(0.1)


@asynccontextmanager
async def fleet(*, serves: int = 64, near: float = NEAR, **settings: Any) -> AsyncIterator[Fleet]:
    """`serves`: devices that the near one takes; `near`: seconds to it."""
    async with AsyncExitStack() as ends:
        origin = await ends.enter_async_context(FakeOrigin().running())
        remotes, addresses = (Remote(), Remote(serves=serves)), []
        for remote, delay, host in zip(
            remotes, (FAR, near), ("127.0.0.1", "localhost"), strict=True
        ):
            await remote.start()
            ends.push_async_callback(remote.stop)
            link = Relay(target=("127.0.0.1", remote.port), rate_up=1e6, rate_down=1e6, delay=delay)
            _, port = (await ends.enter_async_context(link)).address
            addresses.append(f"{host}:{port}")
        device = await ends.enter_async_context(
            pair(start_remote=False, remotes=",".join(addresses), **settings)
        )
        await device.connected()
        yield Fleet(origin, *remotes, device)


@pytest.mark.usefixtures("often")
def test_the_link_moves_once_it_rests_and_pages_go_on() -> None:
    async def go() -> None:
        async with fleet() as world:
            world.origin.serve("/", PAGE)
            world.origin.serve("/a.jpg", PHOTO, "image/jpeg")
            world.origin.serve("/late", b"late", "text/plain")
            assert (await world.device.browser.navigate(world.origin.base + "/")).status == 200
            await world.moved()
            assert world.device.local.uplink.state().reason == ""
            assert "localhost" in world.device.local.uplink.state().remote
            assert (await world.device.client.get(world.origin.base + "/late")).body == b"late"
            await world.moved()  # and stays there

    run(go())


@pytest.mark.usefixtures("often")
def test_a_picture_that_stopped_goes_on_at_the_other_one(tmp_path: Path) -> None:
    async def go() -> None:
        names = policy(tmp_path, plan=STOPS, after=4.0)
        async with fleet(policy=names) as world:
            device, base = world.device, world.origin.base
            await until(lambda: len(device.local.runtime.rules) > 0)
            world.origin.serve("/", PAGE)
            world.origin.serve("/a.jpg", PHOTO, "image/jpeg")
            assert (await device.browser.navigate(base + "/")).status == 200
            picture = await device.arrived(base + "/a.jpg")
            low = picture.received
            assert [level.name for level in picture.levels] == ["low"]
            await world.moved()
            assert picture.received == low
            await until(lambda: picture.complete and picture.levels[-1].name == "original")
            assert picture.carried == picture.received > 5 * low  # no byte twice
            assert world.at == ["near"]

    run(go())


@pytest.mark.usefixtures("often")
def test_while_a_download_is_under_way_nothing_moves() -> None:
    async def go() -> None:
        async with fleet() as world:
            slow = b"x" * 1_500_000
            world.origin.serve("/slow", slow, "application/octet-stream")
            world.origin.serve("/soon", b"soon", "text/plain")
            assert world.at == ["far"]
            got = await world.device.client.get(world.origin.base + "/slow")  # 1.5 s
            assert got.body == slow
            assert len(world.origin.asked) == 1
            await world.moved()

    run(go())


@pytest.mark.usefixtures("often")
def test_while_a_tunnel_is_open_nothing_moves() -> None:
    async def go() -> None:
        async with fleet() as world:
            assert world.at == ["far"]
            authority = world.origin.base.removeprefix("http://")
            status, _, writer = await world.device.client.connect(authority)
            assert status == 200
            await asyncio.sleep(5 * nearest.REST)
            assert world.at == ["far"]
            writer.close()
            await writer.wait_closed()
            await world.moved()

    run(go())


def test_one_as_far_away_is_not_taken() -> None:
    async def go() -> None:
        async with fleet(near=0.07) as world:
            await until(lambda: world.near.sessions)  # it is tried
            await until(lambda: not world.near.sessions)
            assert world.at == ["far"]

    run(go())


def test_one_that_has_no_place_is_left_again() -> None:
    async def go() -> None:
        async with fleet(serves=0) as world:
            await until(lambda: not world.far.sessions)
            await until(lambda: world.at == ["far"])
            await world.device.connected()
            world.origin.serve("/", b"well", "text/plain")
            assert (await world.device.client.get(world.origin.base + "/")).body == b"well"
            assert world.at == ["far"]

    run(go())


def test_paired_remotes_are_changed_over_udp_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On loopback none is nearer: whichever is the other one counts as that."""
    monkeypatch.setattr(nearest, "NEARER", 1e9)
    monkeypatch.setattr(nearest, "GAIN", -1e9)

    async def go() -> None:
        store = PairingStore(tmp_path / "remote")
        pairing, devices = str(store.pair("phone", host="127.0.0.1", port=1)), PairedDevices(store)
        remotes = [Remote(security=devices.security, keys=devices.keys) for _ in range(2)]
        first, second = remotes
        async with FakeOrigin().running() as origin, AsyncExitStack() as ends:
            origin.serve("/", b"well", "text/plain")
            for remote in remotes:
                await remote.start()
                ends.push_async_callback(remote.stop)
            settings = LocalSettings(
                listen="127.0.0.1:0",
                remote=f"127.0.0.1:{first.port},localhost:{second.port}",
                pair=pairing,
                state=str(tmp_path / "device"),
                transport="atp-udp",
            )
            local = await ends.enter_async_context(running(settings))
            address = await local.listen()
            await until(lambda: second.sessions and not first.sessions)
            assert (await Client(address).get(origin.base + "/")).body == b"well"
            (session,) = second.sessions
            assert session.link.statistics().transport == "udp"

    run(go())
