"""How many devices a remote proxy serves, and what those read that it does not."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from pairing.store import PairingStore
from remote_proxy.devices import PairedDevices
from remote_proxy.server import LINKS
from tests.end_to_end.client import Client
from tests.end_to_end.pair import FakeOrigin, Remote, run, until
from tests.end_to_end.test_security import device


def paired_remote(folder: Path, *names: str, serves: int) -> tuple[Remote, dict[str, str]]:
    store = PairingStore(folder / "remote")
    pairings = {name: str(store.pair(name, host="127.0.0.1", port=1)) for name in names}
    return Remote(security=PairedDevices(store).security, serves=serves), pairings


def test_a_device_too_many_reads_why_and_is_served_once_another_has_gone(tmp_path: Path) -> None:
    async def go() -> None:
        remote, pairings = paired_remote(tmp_path, "phone", "laptop", serves=1)
        await remote.start()
        async with FakeOrigin().running() as origin, AsyncExitStack() as first:
            origin.serve("/", b"well", "text/plain")
            phone = await first.enter_async_context(
                device(tmp_path / "1", remote, pairings["phone"])
            )
            assert await phone.uplink.wait_session(10) is not None
            async with device(tmp_path / "2", remote, pairings["laptop"]) as laptop:
                address = await laptop.listen()
                await until(
                    lambda: (
                        "serves as many devices as it may already: 1 (remote.devices)"
                        in laptop.uplink.state().reason
                    )
                )
                told = await Client(address).get(origin.base + "/")
                assert told.status == 504
                assert b"it serves as many devices as it may already: 1" in told.body
                assert b"remote.devices" in told.body
                assert {session.device for session in remote.sessions} == {"phone"}
                await first.aclose()
                assert await laptop.uplink.wait_session(10) is not None
                assert (await Client(address).get(origin.base + "/")).body == b"well"
        await remote.stop()

    run(go())


def test_one_device_with_many_links_takes_no_others_place(tmp_path: Path) -> None:
    async def go() -> None:
        remote, pairings = paired_remote(tmp_path, "phone", "laptop", serves=2)
        await remote.start()
        async with FakeOrigin().running() as origin, AsyncExitStack() as ending:
            origin.serve("/", b"well", "text/plain")
            for number in range(LINKS + 2):
                folder = tmp_path / f"phone {number}"
                one = await ending.enter_async_context(device(folder, remote, pairings["phone"]))
                assert await one.uplink.wait_session(10) is not None
            laptop = await ending.enter_async_context(
                device(tmp_path / "laptop", remote, pairings["laptop"])
            )
            address = await laptop.listen()
            assert await laptop.uplink.wait_session(10) is not None
            assert (await Client(address).get(origin.base + "/")).body == b"well"

            def counts() -> Counter[str]:
                return Counter(session.device for session in remote.sessions)

            await until(lambda: counts()["phone"] <= LINKS)  # one may be ending at the moment
            assert counts()["laptop"] == 1
        await remote.stop()

    run(go())
