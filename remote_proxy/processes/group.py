"""Several remote proxies on one machine, for one processor each: `sluice remote --processes`.

Python keeps one processor busy; so there are several processes, each a whole remote proxy with a
port of its own (places.py), all with one state folder. A pairing string names all ports, from
another one on for each device. A process that ends is started again, while its devices go on at the
next one. Knows processes, not what they do.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Protocol

import structlog

from pairing.errors import PairingError
from pairing.store import PairingStore
from remote_proxy.processes.member import SAYS, SILENT, run_member
from remote_proxy.processes.places import ListeningPlace, others, places
from service.notify import ready

PAUSE: Final = 0.5
"""Seconds before a process that has ended is started again; doubled while it ends at once."""
PAUSE_MOST: Final = 30.0
LASTED: Final = 60.0
"""Seconds after which it did not end at once."""
_log = structlog.get_logger("sluice.remote")


class NotStarted(Exception):
    """One of them ended as it started. `code`: its exit code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


class GroupSettings(Protocol):
    """What it reads of the configuration's [remote] section."""

    @property
    def listen(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def security(self) -> str: ...
    @property
    def state(self) -> str: ...


class ProcessGroup:
    """The processes, by number."""

    def __init__(
        self, command: Sequence[str], where: Sequence[ListeningPlace], *, silent: float = SILENT
    ) -> None:
        """`command` starts one of them where its further arguments say."""
        self._command = command
        self._places = list(where)
        self._silent = silent
        self._listening: dict[int, str] = {}
        self._all: Callable[[list[str]], None] | None = None

    async def run(self, listening: Callable[[list[str]], None]) -> None:
        """Until cancelled; then all have ended. Raises NotStarted, OSError, whatever `listening`
        does.

        It is told all addresses once all of them listen.
        """
        self._all = listening
        with TemporaryDirectory(prefix="sluice-remote-") as folder:
            try:
                async with asyncio.TaskGroup() as tasks:
                    for number in range(len(self._places)):
                        tasks.create_task(self._keep(number, Path(folder) / str(number)))
            except ExceptionGroup as errors:
                raise _first(errors) from None

    async def _keep(self, number: int, signs: Path) -> None:
        clock, pause = asyncio.get_running_loop().time, PAUSE
        while True:
            began = clock()
            code = await run_member(
                self._arguments(number),
                signs,
                lambda address: self._listens(number, address),
                silent=self._silent,
            )
            if self._all is not None:
                count = len(self._places)
                words = f"process {number + 1} of {count} ended as it started"
                raise NotStarted(words, code if code > 0 else 1)
            pause = PAUSE if clock() - began > LASTED else min(2 * pause, PAUSE_MOST)
            at = self._places[number].listen
            _log.warning("a process ended; another is started", at=at, code=code, after_s=pause)
            await asyncio.sleep(pause)

    def _arguments(self, number: int) -> list[str]:
        place = self._places[number]
        beside = ",".join(str(port) for port in others(self._places, place))
        return [*self._command, "--processes=1", f"--beside={beside}", *place.arguments()]

    def _listens(self, number: int, address: str) -> None:
        """From now on it is there and nowhere else."""
        self._places[number] = replace(self._places[number], listen=address)
        self._listening[number] = address
        if self._all is not None and len(self._listening) == len(self._places):
            listening, self._all = self._all, None
            listening([self._listening[one] for one in sorted(self._listening)])


def _first(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def note_listening(pairings: PairingStore, *addresses: str) -> None:
    """For `sluice pair`, which can be told it as well: nothing ends where it can't be written."""
    try:
        pairings.note_listening(*addresses)
    except PairingError as error:
        _log.warning("sluice pair will not know the address", error=str(error))


async def run(settings: GroupSettings, command: Sequence[str], count: int) -> None:
    """`count` processes until cancelled. Prints a line for each when all are ready.

    Raises OSError, NotStarted, PairingError.
    """
    try:
        where = places(settings.listen, settings.status, count)
    except ValueError as error:
        raise OSError(str(error)) from error

    def listening(addresses: list[str]) -> None:
        if settings.security == "tls":
            pairings = PairingStore(Path(settings.state))
            note_listening(pairings, *addresses)
            if not pairings.devices()[0]:
                print("no device is paired yet: run sluice pair", file=sys.stderr)
        for address in addresses:
            print(f"{SAYS}{address}", flush=True)
        ready(f"{count} processes serve devices at {', '.join(addresses)}")

    await ProcessGroup(command, where).run(listening)
