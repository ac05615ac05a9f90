"""Tests of a remote proxy as its settings compose it, on loopback."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from configuration import RemoteSettings
from pairing.errors import PairingError
from pairing.store import PairingStore
from remote_proxy.main import FILES, run, serving
from tests.watched import run as watched


@pytest.fixture(autouse=True)
def files() -> Iterator[None]:
    """How many files may be open is as it was."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def settings(folder: Path, **more: Any) -> RemoteSettings:
    usual: dict[str, Any] = {
        "listen": "127.0.0.1:0",
        "security": "none",
        "state": str(folder),
        "workers": 1,
    }
    return RemoteSettings(**(usual | more))


def served(of: RemoteSettings, work: Callable[[str, int], Awaitable[None]]) -> None:
    async def main() -> None:
        async with serving(of) as address:
            host, _, port = address.rpartition(":")
            await work(host, int(port))

    watched(main())


async def nothing(host: str, port: int) -> None:
    """It listens, and that is all."""


def test_it_listens_while_the_block_lasts(tmp_path: Path) -> None:
    where: list[tuple[str, int]] = []

    async def go(host: str, port: int) -> None:
        where.append((host, port))
        _, writer = await asyncio.open_connection(host, port)
        writer.close()

    served(settings(tmp_path), go)
    with pytest.raises(ConnectionRefusedError), socket.create_connection(where[0]):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("allowed", [True, False])
def test_it_says_how_long_links_would_be_used_better(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    monkeypatch.setattr("remote_proxy.main.may_change", lambda *_: allowed)
    structlog.reset_defaults()
    with capture_logs() as said:
        served(settings(tmp_path), nothing)
    words = [one for one in said if "BBR" in one["event"]]
    assert bool(words) is not allowed
    assert all("sysctl" in one["allow"] for one in words)


def test_with_security_it_has_an_identity_and_says_where_it_listens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def go(host: str, port: int) -> None:
        await asyncio.sleep(0)
        store = PairingStore(tmp_path)
        assert store.used
        assert store.listened() == [(host, port)]

    served(settings(tmp_path, security="tls"), go)
    assert "no device is paired yet: run sluice pair" in capsys.readouterr().err
    PairingStore(tmp_path).pair("phone", host="h", port=1)
    served(settings(tmp_path, security="tls"), nothing)
    assert capsys.readouterr().err == ""


def test_it_serves_where_it_can_not_note_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise PairingError("no space left")

    monkeypatch.setattr(PairingStore, "note_listening", full)
    with capture_logs() as logs:
        served(settings(tmp_path, security="tls"), nothing)
    assert any("sluice pair" in line["event"] for line in logs)


@pytest.mark.parametrize("udp", [True, False])
def test_devices_come_over_udp_at_the_same_port_if_they_may(tmp_path: Path, udp: bool) -> None:
    async def go(host: str, port: int) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            if udp:
                with pytest.raises(OSError, match="in use"):
                    other.bind((host, port))
            else:
                other.bind((host, port))

    served(settings(tmp_path, security="tls", udp=udp), go)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"listen": "0.0.0.0:0"}, "security = none"),
        ({"allow": ["not a host!"]}, "remote.allow"),
        ({"ca_file": "/nowhere/roots.pem"}, "ca_file"),
        ({"store": "disk"}, "remote.store"),
        ({"dask": "somewhere"}, "remote.dask"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    tmp_path: Path, wrong: dict[str, object], words: str
) -> None:
    with pytest.raises(OSError, match=words):
        served(settings(tmp_path, **wrong), nothing)


def test_a_port_that_somebody_has_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError):
        served(settings(tmp_path, listen=f"127.0.0.1:{taken.getsockname()[1]}"), nothing)


def test_it_may_open_as_many_files_as_its_devices_need(tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    served(settings(tmp_path), nothing)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == wanted


def test_it_says_in_one_line_where_it_listens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def main() -> str:
        running = asyncio.ensure_future(run(settings(tmp_path)))
        said = ""
        while not said:
            await asyncio.sleep(0.01)
            said = capsys.readouterr().out
        assert not running.done()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return said

    said = watched(main())
    assert said.startswith("listening on 127.0.0.1:") and said.count("\n") == 1
