"""Which remote a device uses: the settings, the pairing that is given, the one that was kept."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from configuration import LocalSettings
from local_proxy.dialling.which_remote import remote
from pairing.errors import PairingError
from pairing.invitation import Invitation

INVITATION = Invitation("proxy.example", 8119, bytes(32), secrets.token_bytes(32))


def settings(folder: Path, **more: Any) -> LocalSettings:
    return LocalSettings(state=str(folder / "local"), **more)


def test_a_pairing_is_kept_for_later_starts(tmp_path: Path) -> None:
    first = remote(settings(tmp_path, pair=f" {INVITATION}\n"))
    assert first.address == "proxy.example:8119"
    assert first.security is not None
    assert (tmp_path / "local" / "pairing").stat().st_mode & 0o777 == 0o600
    again = remote(settings(tmp_path))
    assert again.address == "proxy.example:8119"
    assert again.security is not None


def test_the_address_may_be_another_than_the_pairing_says(tmp_path: Path) -> None:
    found = remote(settings(tmp_path, pair=str(INVITATION), remote="127.0.0.1:7"))
    assert found.address == "127.0.0.1:7"
    assert found.security is not None


def test_without_a_pairing_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PairingError, match="run `sluice pair` on the remote"):
        remote(settings(tmp_path))


def test_a_damaged_string_replaces_nothing(tmp_path: Path) -> None:
    remote(settings(tmp_path, pair=str(INVITATION)))
    with pytest.raises(PairingError, match="were lost"):
        remote(settings(tmp_path, pair=str(INVITATION).replace("AAAA", "A")))
    assert remote(settings(tmp_path)).address == "proxy.example:8119"


def test_a_folder_that_can_t_be_written_costs_only_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "local").touch()
    assert remote(settings(tmp_path, pair=str(INVITATION))).security is not None


@pytest.mark.parametrize("address", ["", "127.0.0.1:9", "localhost:9", "[::1]:9"])
def test_without_security_only_loopback(tmp_path: Path, address: str) -> None:
    found = remote(settings(tmp_path, security="none", remote=address))
    assert found.security is None
    assert found.address == (address or "127.0.0.1:8119")


@pytest.mark.parametrize("address", ["proxy.example:9", "192.0.2.1:9", "[2001:db8::1]:9"])
def test_without_security_nowhere_else(tmp_path: Path, address: str) -> None:
    with pytest.raises(PairingError, match="loopback only"):
        remote(settings(tmp_path, security="none", remote=address, pair=str(INVITATION)))


def test_several_paths_are_for_paired_devices_and_go_over_udp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"paths": ["wlan0", "wwan0"]}
    assert remote(settings(tmp_path, pair=str(INVITATION), **wanted)).keys is not None
    assert remote(settings(tmp_path)).keys is None
    with pytest.raises(PairingError, match=r"paths is for paired devices.*leave it out"):
        remote(settings(tmp_path, security="none", **wanted))
    monkeypatch.delattr("socket.SO_BINDTODEVICE")
    with pytest.raises(PairingError, match="needs Linux"):
        remote(settings(tmp_path, **wanted))
