"""`sluice service` and `sluice uninstall`, as people run them, in a home of their own."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from local_proxy.front.tls.authority import Authority
from tests.cli.commands import home, running, sluice


def test_a_dry_run_shows_the_unit_and_what_would_be_done(tmp_path: Path) -> None:
    at = home(tmp_path)
    done = sluice(
        "service", "install", "local", "--dry-run", "--", "--listen", "127.0.0.1:9", home=at
    )
    assert done.code == 0, done.errors
    assert "systemctl --user enable sluice-local.service" in done.out
    (start,) = (line for line in done.out.splitlines() if "ExecStart=" in line)
    assert start.endswith("sluice.py local --listen 127.0.0.1:9")
    assert start.partition("=")[2].startswith("/")
    assert not (at.folder / ".config").exists()


def test_without_a_service_status_says_how_to_have_one(tmp_path: Path) -> None:
    done = sluice("service", "status", home=home(tmp_path))
    assert "sluice service install local" in done.errors or "(system)" in done.out


def test_to_remove_what_is_not_there_is_refused(tmp_path: Path) -> None:
    assert sluice("service", "remove", "local", home=home(tmp_path)).refused("there is none in")


def test_uninstall_leaves_nothing_but_what_is_not_its_own(tmp_path: Path) -> None:
    at = home(tmp_path)
    at.write_settings("[local]\nnotice = 9.0\n")
    state = at.folder / ".local/share/sluice"
    Authority.open(state)
    (state / "thesis.odt").write_text("years of work")
    dry = sluice("uninstall", "--dry-run", home=at)
    assert dry.code == 0, dry.errors
    assert str(state) in dry.out
    assert (state / "ca.pem").exists()
    refused = sluice("uninstall", home=at, stdin="n\n")
    assert refused.code != 0
    assert (state / "ca.pem").exists()
    done = sluice("uninstall", "--yes", home=at)
    assert done.code == 0, done.errors
    assert [one.name for one in state.iterdir()] == ["thesis.odt"]
    assert not (at.folder / ".config/sluice").exists()
    assert "1 other files in it stay" in done.out


@pytest.mark.parametrize("role", ["local", "remote"])
def test_its_manager_hears_when_it_serves_that_it_lives_and_that_it_ends(
    role: str, tmp_path: Path
) -> None:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(60.0)
        at = home(tmp_path, NOTIFY_SOCKET=str(path), WATCHDOG_USEC="60000000")
        flags = ("--listen=127.0.0.1:0", "--security=none")
        with running(role, *flags, home=at) as proxy:
            said = [manager.recv(4096).decode() for _ in range(2)]
        said.append(manager.recv(4096).decode())
    assert said[:1] == ["WATCHDOG=1"]
    assert said[1].startswith("READY=1\nSTATUS=serves")
    assert proxy.address in said[1]
    assert said[2] == "STOPPING=1"
