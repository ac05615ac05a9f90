"""Tells a service manager that it is ready, alive and about to end: over its real socket."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.memory.virtual_time import run
from service.notify import SOCKET, WATCHDOG, notify, patience, ready, watched


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """What a manager listens at, and the environment that it gives its services."""
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(path)
        one.setblocking(False)
        yield one, {SOCKET: path}


def heard(one: socket.socket) -> list[str]:
    said = []
    while True:
        try:
            said.append(one.recv(4096).decode())
        except BlockingIOError:
            return said


def test_without_a_manager_nothing_is_said() -> None:
    assert not notify("READY=1", environ={})
    assert not notify("READY=1", environ={SOCKET: "relative"})
    assert not notify("READY=1", environ={SOCKET: "/nobody/listens"})


def test_a_manager_hears_that_it_serves(
    manager: tuple[socket.socket, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, environ = manager
    monkeypatch.setenv(SOCKET, environ[SOCKET])
    ready("serves browsers at\n127.0.0.1:8118")
    assert heard(one) == ["READY=1\nSTATUS=serves browsers at 127.0.0.1:8118"]


def test_an_abstract_socket_is_one_too() -> None:
    name = f"sluice-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(f"\0{name}")
        assert notify("READY=1", environ={SOCKET: f"@{name}"})
        assert one.recv(99) == b"READY=1"


def test_while_it_lives_it_says_so_in_time_and_at_the_end_that_it_ends(
    manager: tuple[socket.socket, dict[str, str]],
) -> None:
    one, environ = manager

    async def main() -> None:
        async with watched({**environ, WATCHDOG: "30000000"}):
            await asyncio.sleep(29.0)
            assert heard(one) == ["WATCHDOG=1"] * 3

    run(main())
    assert heard(one) == ["STOPPING=1"]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [({}, None), ({WATCHDOG: "x"}, None), ({WATCHDOG: "0"}, None), ({WATCHDOG: "2500000"}, 2.5)],
)
def test_a_manager_says_how_long_it_waits(said: dict[str, str], seconds: float | None) -> None:
    assert patience(said) == seconds


def test_a_watchdog_that_is_meant_for_another_process_is_none_of_ours() -> None:
    assert patience({WATCHDOG: "1000000", "WATCHDOG_PID": str(os.getpid())}) == 1.0
    assert patience({WATCHDOG: "1000000", "WATCHDOG_PID": "1"}) is None
