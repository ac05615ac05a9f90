"""The pair over TLS, as people use it: pair, browse, revoke; and what commands say."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.pairs.peers import command
from configuration import LocalSettings
from emulation.memory.secured import paired
from local_proxy.dialling import which_remote as local_pairing
from local_proxy.main import LocalProxy
from pairing.command import pair as pair_command
from pairing.identity import device_identity, new_identity
from pairing.invitation import parse
from pairing.store import PairingStore
from policies.host.loader import load
from remote_proxy.devices import PairedDevices
from remote_proxy.server import NotLoopback
from tests.end_to_end.origin import Asked
from tests.end_to_end.pair import Client, FakeOrigin, Remote, all_three, run, until
from transport.link.interface import LinkError
from transport.stream.accepting_end import Reception
from transport.stream.dialling_end import read_preamble
from transport.stream.preamble import Preamble, What
from transport.stream.stream_link import StreamLink
from transport.tcp.handshakes import dial_secured
from transport.tcp.security import ClientSecurity, ServerSecurity

ROOT = Path(__file__).resolve().parents[2]
REFUSED = 2
"""Exit code of a command that can't start as it is configured."""


def test_pages_load_over_tls() -> None:
    async def go() -> None:
        async with all_three(secure=True) as (origin, both):
            origin.serve("/", b"well" * 50_000, "text/plain")
            assert (await both.client.get(origin.base + "/")).body == b"well" * 50_000
            assert both.session.device == "test"
            assert both.session.statistics().device == "test"

    run(go())


def test_a_restarted_remote_is_found_again_over_tls() -> None:
    async def go() -> None:
        async with all_three(secure=True) as (origin, both):
            origin.serve("/", b"well", "text/plain")
            await both.remote.stop()
            await until(lambda: both.local.uplink.session is None)
            await both.remote.start()
            await both.connected()
            assert (await both.client.get(origin.base + "/")).body == b"well"

    run(go())


def test_a_link_over_tls_outlives_its_connections() -> None:
    async def go() -> None:
        async with all_three(secure=True) as (origin, both):
            body = bytes(range(256)) * 8000
            origin.serve("/", body, "application/zip")
            session = both.session
            async with both.client.open(origin.base + "/") as answer:
                got = b""
                async for piece in answer.stream:
                    got += piece
                    if len(got) // 400_000 > (len(got) - len(piece)) // 400_000:
                        link = session.link
                        assert isinstance(link, StreamLink)
                        link.lose(LinkError("cut"))
            assert got == body
            assert both.session is session
            assert session.device == "test"

    run(go())


def test_another_device_s_token_is_worth_nothing() -> None:
    """What names a link is kept private; who has it all the same must be the same device."""

    async def go() -> None:
        remote, one, other = new_identity(), device_identity(bytes(32)), device_identity(bytes(31))
        server = ServerSecurity(remote.pem, {one.certificate: "one", other.certificate: "other"})
        reception = Reception(
            lambda _: None, patience=5.0, congestion=None, new_token=lambda: bytes(range(16))
        )
        async with await reception.listen("127.0.0.1", 0, security=server) as listener:
            answers = []
            for identity, asked in (
                (one, Preamble(What.OPEN)),
                (other, Preamble(What.RESUME, bytes(range(16)))),
                (one, Preamble(What.RESUME, bytes(range(16)))),
            ):
                security = ClientSecurity(identity.pem, pin=remote.pin)
                connection = await dial_secured(*listener.address, security=security)
                await connection.send(asked.encode())
                answers.append((await read_preamble(connection)).what)
                connection.close()
            assert answers == [What.OPEN, What.UNKNOWN, What.RESUME]
        reception.close()

    run(go())


def test_without_security_only_loopback() -> None:
    async def go() -> None:
        remote = Remote()
        await remote.start()
        assert remote.server is not None
        with pytest.raises(NotLoopback, match="security = none"):
            await remote.server.listen("0.0.0.0", 0)
        listener = await remote.server.listen("0.0.0.0", 0, security=paired().server)
        async with listener:
            assert listener.address[0] == "0.0.0.0"
        await remote.stop()

    run(go())


@asynccontextmanager
async def device(
    folder: Path, remote: Remote, pairing: str, *, patience: float = 0.1
) -> AsyncIterator[LocalProxy]:
    """A local proxy on a device of its own."""
    settings = LocalSettings(
        listen="127.0.0.1:0",
        remote=f"127.0.0.1:{remote.port}",
        pair=pairing,
        state=str(folder),
        patience=patience,
    )
    async with running(settings) as local:
        yield local


@asynccontextmanager
async def running(settings: LocalSettings) -> AsyncIterator[LocalProxy]:
    """A local proxy as its settings have it."""
    local = LocalProxy(settings, [load("default")], remote=local_pairing.remote(settings))
    running = asyncio.ensure_future(local.run())
    try:
        yield local
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_a_revoked_device_s_session_ends_and_no_other(tmp_path: Path) -> None:
    async def go() -> None:
        ended = asyncio.Event()

        async def late(_: Asked) -> None:
            await ended.wait()

        store = PairingStore(tmp_path / "remote")
        pairings = {
            name: str(store.pair(name, host="127.0.0.1", port=1)) for name in ("phone", "laptop")
        }
        devices = PairedDevices(store)
        remote = Remote(security=devices.security)
        await remote.start()
        server = remote.server
        assert server is not None
        watching = asyncio.ensure_future(
            devices.watch(lambda: server.end_unknown(devices.security))
        )
        async with (
            FakeOrigin().running() as origin,
            device(tmp_path / "1", remote, pairings["phone"], patience=600) as phone,
            device(tmp_path / "2", remote, pairings["laptop"]) as laptop,
        ):
            origin.serve("/", b"well", "text/plain")
            address = await phone.listen()
            other = await laptop.listen()
            assert await phone.uplink.wait_session(10) is not None
            assert await laptop.uplink.wait_session(10) is not None
            assert {session.device for session in remote.sessions} == {"phone", "laptop"}
            origin.paths["/late"] = late
            waiting = asyncio.ensure_future(Client(address).get(origin.base + "/late"))
            await until(lambda: origin.counts()["/late"])
            store.revoke("phone")
            answer = await waiting  # at once: nobody but people can change that
            ended.set()
            assert answer.status == 504
            assert b"does not know this device" in answer.body
            await until(lambda: len(remote.sessions) == 1)
            await until(lambda: "does not know this device" in phone.uplink.state().reason)
            answer = await Client(address).get(origin.base + "/")
            assert answer.status == 504
            assert b"does not know this device" in answer.body
            assert (await Client(other).get(origin.base + "/")).body == b"well"
            # Paired anew under the same name it is another device.
            again = str(store.pair("phone", host="127.0.0.1", port=1))
            await until(lambda: devices.security.devices == 2)
            async with device(tmp_path / "3", remote, again) as new:
                assert await new.uplink.wait_session(10) is not None
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await remote.stop()

    run(go())


def test_a_device_that_connects_right_after_its_pairing_is_known(tmp_path: Path) -> None:
    """Nothing looks at the store between the pairing and the connection but the handshake."""

    async def go() -> None:
        store = PairingStore(tmp_path / "remote")
        devices = PairedDevices(store)
        remote = Remote(security=devices.security)
        await remote.start()
        for name in ("phone", "laptop"):
            pairing = str(store.pair(name, host="127.0.0.1", port=1))
            async with device(tmp_path / name, remote, pairing) as local:
                await until(lambda local=local: local.uplink.session is not None)
                assert local.uplink.state().attempts == 0
        await remote.stop()

    run(go())


def test_strangers_do_not_make_the_remote_list_its_devices(tmp_path: Path) -> None:
    store = PairingStore(tmp_path / "remote")
    devices = PairedDevices(store)
    assert not devices.look()
    store.pair("phone", host="h", port=1)
    assert devices.look()
    assert devices.security.devices == 1
    folder = tmp_path / "remote" / "devices"
    os.utime(folder, (1e9, 1e9))
    devices.refresh()
    (folder / "phone.pem").write_text("noise")  # the folder itself has not changed
    assert not devices.look()
    assert devices.security.devices == 1
    assert devices.refresh()
    assert devices.security.devices == 0
    store.pair("tablet", host="h", port=1)
    os.utime(folder, None)
    before = folder.stat().st_mtime
    assert devices.look()
    store.pair("laptop", host="h", port=1)
    os.utime(folder, (before, before))  # as if in the same tick of the file system's clock
    assert devices.look()
    assert devices.security.devices == 2


def test_what_a_handshake_finds_changed_is_told_all_the_same(tmp_path: Path) -> None:
    async def go() -> None:
        store = PairingStore(tmp_path / "remote")
        store.pair("phone", host="h", port=1)
        devices, known = PairedDevices(store), list[int]()
        watching = asyncio.ensure_future(
            devices.watch(lambda: known.append(devices.security.devices))
        )
        await until(lambda: known == [1])
        store.revoke("phone")
        assert devices.look()
        await until(lambda: known == [1, 0])
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    run(go())


def test_the_store_is_read_again_when_it_changed(tmp_path: Path) -> None:
    store = PairingStore(tmp_path / "remote")
    store.pair("phone", host="h", port=1)
    devices = PairedDevices(store)
    assert devices.security.devices == 1
    assert not devices.refresh()
    (tmp_path / "remote" / "devices" / "tablet.pem").write_text("noise")
    assert devices.refresh()
    assert devices.security.devices == 1
    shutil.rmtree(tmp_path / "remote" / "devices")
    assert devices.refresh()
    assert devices.security.devices == 0


def test_a_remote_without_devices_says_what_to_do(tmp_path: Path) -> None:
    async def go() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(ROOT / "sluice.py"), "remote", "--listen=127.0.0.1:0",
            f"--state={tmp_path}", f"--config={os.devnull}", stdout=-1, stderr=-1,
        )  # fmt: skip
        assert process.stdout
        assert process.stderr
        try:
            assert (await process.stdout.readline()).startswith(b"listening on 127.0.0.1:")
            assert await process.stderr.readline() == (
                b"no device is paired yet: run sluice pair\n"
            )
        finally:
            process.terminate()
            await process.communicate()

    asyncio.run(go())


async def said(*arguments: str, state: Path, stdin: bytes = b"") -> tuple[int, str, str]:
    """A command that ends by itself: exit code, output, errors."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLUICE_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ROOT / "sluice.py"), *arguments, f"--config={os.devnull}",
        env=environment | {"XDG_DATA_HOME": str(state)}, stdin=-1, stdout=-1, stderr=-1,
    )  # fmt: skip
    out, errors = await process.communicate(stdin)
    return process.returncode or 0, out.decode(), errors.decode()


def test_commands_say_what_to_do(tmp_path: Path) -> None:
    async def go() -> None:
        listed, unpaired, damaged, outside, nobody, paired_one = await asyncio.gather(
            said("pair", "--list", state=tmp_path / "1"),
            said("local", "--listen=127.0.0.1:0", state=tmp_path / "2"),
            said("local", "--pair=-", state=tmp_path / "3", stdin=b"sluice://abc\n"),
            said("remote", "--listen=0.0.0.0:0", "--security=none", state=tmp_path / "4"),
            said("pair", "--revoke=nobody", state=tmp_path / "5"),
            said("pair", "phone", "--address=proxy.example:7", state=tmp_path / "6"),
        )
        assert listed == (0, "", "sluice: no device is paired\n")
        assert unpaired[0] == REFUSED
        assert "run `sluice pair`" in unpaired[2]
        assert damaged[0] == REFUSED
        assert "it was cut" in damaged[2]
        assert outside[0] == 1
        assert "loopback only" in outside[2]
        assert nobody[0] == REFUSED
        assert "no device is named nobody" in nobody[2]
        assert paired_one[0] == 0
        assert parse(paired_one[1]).address == "proxy.example:7"

    asyncio.run(go())


def test_a_remote_starts_without_devices_and_strangers_learn_nothing(tmp_path: Path) -> None:
    """As processes, with the files between them."""

    async def go() -> None:
        state = tmp_path / "remote"
        async with command("remote", "--listen=127.0.0.1:0", f"--state={state}") as address:
            with socket.create_connection(address) as stranger:
                stranger.settimeout(10)
                stranger.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                stranger.shutdown(socket.SHUT_WR)
                answer = b""
                with contextlib.suppress(ConnectionError):
                    while more := stranger.recv(65536):
                        answer += more
            assert b"sluice" not in answer.lower()
            assert len(answer) <= 7
            printed: list[str] = []
            settings = Settings(str(state))
            pair_command(settings, "phone", out=printed.append, notice=lambda _: None)
            assert parse(printed[0]).address == settings.address

    asyncio.run(go())


class Settings:
    listen, address = "127.0.0.1:1", "proxy.example:9"

    def __init__(self, state: str) -> None:
        self.state = state
