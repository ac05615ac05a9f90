"""`sluice service` on a machine that boots: a real systemd, in namespaces of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from emulation.machines.booted import PATIENCE, BootedMachine, NoBoot
from tests.service.machine import SLUICE, machine

UNIT = "sluice-remote.service"
ADDRESS = "127.0.0.1:8119"


@pytest.fixture(scope="module")
def here() -> Iterator[BootedMachine]:
    try:
        with machine() as one:
            yield one
    except NoBoot as error:
        pytest.skip(f"no machine boots here: {error}")


def traces(here: BootedMachine) -> set[str]:
    """Whatever has its name."""
    found = here.run(
        "find", "/etc", "/var/lib", "/root/.local", "/root/.config", "-name", "*sluice*"
    )
    return set(found.out.split())


def state(here: BootedMachine) -> dict[str, str]:
    """The remote's files, by name, with their digests."""
    words = ("find", ".", "-type", "f", "-exec", "sha256sum", "{}", "+")
    found = here.run("env", "-C", "/var/lib/sluice/remote", *words).out
    return {line[64:].strip().removeprefix("./"): line[:64] for line in found.splitlines()}


def test_a_remote_proxy_is_installed_starts_again_with_the_machine_and_goes(
    here: BootedMachine,
) -> None:
    before = traces(here)
    done = here.run(*SLUICE, "service", "install", "remote", "--", "--listen", ADDRESS)
    assert done.code == 0, done.errors
    assert f"active (running), serves devices at {ADDRESS}" in done.errors
    assert (
        f"remote (system): active (running), serves devices at {ADDRESS}"
        in here.run(*SLUICE, "service", "status").out
    )
    assert here.property("User", UNIT) == "sluice"

    # It runs as nobody else, sees no homes, and may write its state alone.
    first = here.property("MainPID", UNIT)
    status = here.run("cat", f"/proc/{first}/status").out
    assert "NoNewPrivs:\t1" in status
    assert "CapEff:\t0000000000000000" in status
    assert here.run("stat", "-c", "%U", "/var/lib/sluice/remote/identity.pem").out == "sluice\n"

    # A device is paired, connects, and is served. Root's own pairings would be of no use.
    own = here.run(*SLUICE, "pair", "laptop", "--address", ADDRESS)
    assert own.code == 2
    assert f"runuser -u sluice -- {' '.join(SLUICE)} pair laptop" in own.errors
    paired = here.run(
        *("runuser", "-u", "sluice", "--", *SLUICE, "pair", "laptop"),
        *("--state", "/var/lib/sluice/remote", "--address", ADDRESS),
    )
    assert paired.code == 0, paired.errors
    here.run(
        *("systemd-run", "--unit=device", "--setenv=HOME=/root", *SLUICE, "local"),
        *("--pair", paired.out.strip()),
    )
    end = time.monotonic() + PATIENCE
    while f"link to {ADDRESS}: up for" not in (shown := here.run(*SLUICE, "status").out):
        assert time.monotonic() < end, shown
        time.sleep(0.5)

    # Its authority is trusted, by the system as well.
    trusted = here.run(*SLUICE, "trust")
    assert trusted.code == 0, trusted
    assert "/etc/ssl/certs/sluice.pem" in traces(here)

    # One that dies is begun again, with what it had; so is the machine.
    kept = state(here)
    assert "devices/laptop.pem" in kept
    here.run("kill", "-KILL", first)
    here.until("NRestarts", "1", UNIT)
    here.until("SubState", "running", UNIT)
    assert here.property("MainPID", UNIT) not in ("0", first)
    assert state(here) == kept
    here.stop()
    here.boot()
    here.until("SubState", "running", UNIT)
    assert state(here) == kept

    # Settings that make no sense are not tried over and over.
    refused = here.run(*SLUICE, "service", "install", "remote", "--", "--listen", "nonsense")
    assert refused.code == 1
    assert "nonsense" in refused.errors
    assert here.property("NRestarts", UNIT) == "0"

    gone = here.run(*SLUICE, "uninstall", "--system", "--yes")
    assert gone.code == 0, gone.errors
    assert here.property("LoadState", UNIT) == "not-found"
    assert here.run("id", "sluice").code != 0
    assert traces(here) == before
