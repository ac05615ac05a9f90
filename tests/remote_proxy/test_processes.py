"""Several remote proxies as one command: where they listen, and that they are kept running.

The processes here are small programs that do what a remote proxy does towards its parent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pairing.errors import PairingError
from remote_proxy.processes.group import NotStarted, ProcessGroup
from remote_proxy.processes.places import ListeningPlace, others, places
from tests.watched import run, until

ANY = ListeningPlace("127.0.0.1:0")
PROGRAM = """
import os, signal, socket, sys
given = dict(word[2:].split("=", 1) for word in sys.argv[1:])
host, port = given["listen"].rsplit(":", 1)
listener = socket.create_server((host, int(port)))
print(f"listening on {host}:{listener.getsockname()[1]}", flush=True)
"""
WAITS = PROGRAM + "sys.stdin.read()\n"
DEAF = (
    "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + PROGRAM + "signal.pause()\n"
)
BAD = "import sys\nif '--status=h:9' in sys.argv: sys.exit(3)\n" + WAITS
ALIVE = (
    PROGRAM
    + """
speaker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
speaker.connect(os.environ["NOTIFY_SOCKET"])
import time
for number in range(int(given.get("status", 10000))):
    speaker.send(b"WATCHDOG=1")
    time.sleep(int(os.environ["WATCHDOG_USEC"]) / 3e6)
signal.pause()
"""
)


def test_places_follow_each_other() -> None:
    assert places("[::1]:8119", "127.0.0.1:9100", 2) == [
        ListeningPlace("[::1]:8119", "127.0.0.1:9100"),
        ListeningPlace("[::1]:8120", "127.0.0.1:9101"),
    ]
    assert places("127.0.0.1:0", "", 2) == [ANY, ANY]


@pytest.mark.parametrize(
    ("listen", "status"),
    [("h:65535", ""), ("h:1", "h:65535"), ("h:8119", "h:8120"), ("h:8120", "h:8119")],
)
def test_places_that_there_are_not(listen: str, status: str) -> None:
    with pytest.raises(ValueError, match="processes"):
        places(listen, status, 2)
    assert places(listen, status, 1) == [ListeningPlace(listen, status)]


def test_each_knows_of_the_others() -> None:
    found = places("h:10", "h:20", 3)
    assert others(found, found[1]) == [10, 12, 20, 22]
    free = places("h:0", "", 3)
    assert others(free, free[0]) == []


def connects(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


class Run:
    """A group that runs."""

    def __init__(self, program: str, *where: ListeningPlace, silent: float = 60.0) -> None:
        self.told: list[list[str]] = []
        command = [sys.executable, "-I", "-c", program]
        group = ProcessGroup(command, where, silent=silent)
        self.running = asyncio.ensure_future(group.run(self.told.append))

    async def listens(self) -> list[str]:
        await until(lambda: self.told or self.running.done())
        if self.running.done():
            await self.running
        (addresses,) = self.told
        return addresses

    async def end(self) -> None:
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)


def go(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run(work())


def children() -> set[int]:
    return {
        int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    }


def test_all_listen_and_one_that_ends_is_started_again_where_it_was() -> None:
    async def work() -> None:
        before = children()
        group = Run(WAITS, ANY, ANY)
        first, second = await group.listens()
        assert first != second
        assert connects(first)
        assert connects(second)
        was = children() - before
        assert len(was) == 2
        for process in was:
            os.kill(process, signal.SIGKILL)
        await until(lambda: len(children() - before - was) == 2)
        await until(lambda: connects(first) and connects(second))
        await group.end()
        assert children() == before
        assert not connects(first)
        assert len(group.told) == 1

    go(work)


def test_one_that_ends_as_it_starts_ends_all_with_its_own_code() -> None:
    async def work() -> None:
        before = children()
        group = Run(BAD, ANY, ListeningPlace("127.0.0.1:0", "h:9"))
        with pytest.raises(NotStarted, match="process 2 of 2") as error:
            await group.listens()
        assert error.value.code == 3
        assert children() == before

    go(work)


def test_who_can_not_be_told_ends_all_with_its_own_error() -> None:
    def listening(_: list[str]) -> None:
        raise PairingError("no place left")

    async def work() -> None:
        before = children()
        group = ProcessGroup([sys.executable, "-I", "-c", WAITS], [ANY, ANY])
        with pytest.raises(PairingError, match="no place left"):
            await group.run(listening)
        assert children() == before

    go(work)


def test_a_program_that_can_not_be_run_is_said() -> None:
    async def work() -> None:
        group = ProcessGroup(["/nowhere/sluice"], [ANY, ANY])
        with pytest.raises(FileNotFoundError):
            await group.run(lambda _: None)

    go(work)


def test_one_that_gives_no_sign_of_life_is_ended_and_another_started() -> None:
    async def work() -> None:
        before = children()
        group = Run(ALIVE, ListeningPlace("127.0.0.1:0", "4"), silent=1.0)  # it says so four times
        await group.listens()
        was = children() - before
        await until(lambda: children() - before - was)
        await group.end()
        assert children() == before

    go(work)


def test_one_that_gives_signs_of_life_stays() -> None:
    async def work() -> None:
        before = children()
        group = Run(ALIVE, ANY, silent=1.5)
        await group.listens()
        was = children() - before
        await asyncio.sleep(4)
        assert children() - before == was
        await group.end()

    go(work)


def test_one_that_does_not_listen_to_reason_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("remote_proxy.processes.member.ENDING", 0.3)

    async def work() -> None:
        before = children()
        group = Run(DEAF, ANY)
        await group.listens()
        await group.end()
        assert children() == before

    go(work)
