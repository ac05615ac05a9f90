"""A slow link between two kernel sockets, in user space, without root.

    async with Relay(target=origin, rate_up=7000, rate_down=48_000, delay=0.04) as relay:
        await asyncio.open_connection(*relay.address)

All connections share one line per direction, as they would share a modem. The relay terminates
TCP, so its queue is a hidden buffer: the sender's kernel sees these bytes acknowledged at once.
Set it to what a modem holds (64 KB) or to what an accelerator or a tunnel does (256 KB).
"up" is from who connects towards the target. Rates count payload: no packet headers are added.

It runs in a thread of its own, or in a process of its own (`process=True`), so that a busy proxy
does not disturb it; `statistics().lateness` says whether it was disturbed all the same.

    python -m emulation.relay.relay --target 127.0.0.1:8080 --rate-down 48000 --delay 0.04
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, TypeVar

import msgspec

from emulation.lines.impairments import GOOD, Impairments
from emulation.relay.relay_engine import Engine
from emulation.relay.relay_settings import Address, RelaySettings, RelayStatistics

_Answer = TypeVar("_Answer")

_STOP_AFTER: Final = 5.0
"""Seconds a relay's thread or process is given to end."""


class _Command(msgspec.Struct):
    """What a process is told, one a line; it answers with its statistics."""

    up: float | None = None
    down: float | None = None
    rewind: bool = False
    reach: Address | None = None
    """Another target; the answer to that is where to connect."""


class _Listening(msgspec.Struct):
    """What a process says first."""

    address: Address


class _InThread:
    """An engine in a thread with a loop whose timers are not rounded to milliseconds."""

    def __init__(self, settings: RelaySettings) -> None:
        self._loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="relay")
        self._thread.start()
        try:
            self._engine = self._call(lambda: Engine(settings))
        except (OSError, ValueError):
            self._end_loop()
            raise
        self.address = self._engine.address

    def reach(self, target: Address) -> Address:
        return self._call(lambda: self._engine.reach(target))

    def set_rate(self, up: float | None, down: float | None) -> None:
        self._call(lambda: self._engine.set_rate(up, down))

    def rewind(self) -> None:
        self._call(self._engine.rewind)

    def statistics(self) -> RelayStatistics:
        return self._call(self._engine.statistics)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._engine.close(), self._loop).result(_STOP_AFTER)
        self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_AFTER)
        self._loop.close()

    def _call(self, function: Callable[[], _Answer]) -> _Answer:
        async def answer() -> _Answer:
            return function()

        return asyncio.run_coroutine_threadsafe(answer(), self._loop).result(_STOP_AFTER)


class _InProcess:
    """An engine in a process of its own, told what to do in JSON lines on its standard input."""

    def __init__(self, settings: RelaySettings) -> None:
        command = [
            sys.executable,
            "-m",
            "emulation.relay.relay",
            "--control",
            *_arguments(settings),
        ]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        try:
            self.address = msgspec.json.decode(self._read(), type=_Listening).address
        except OSError:
            self.stop()
            raise

    def reach(self, target: Address) -> Address:
        answer = self._ask(_Command(reach=target))
        return msgspec.json.decode(answer, type=_Listening).address

    def set_rate(self, up: float | None, down: float | None) -> None:
        self._ask(_Command(up, down))

    def rewind(self) -> None:
        self._ask(_Command(rewind=True))

    def statistics(self) -> RelayStatistics:
        return msgspec.json.decode(self._ask(_Command()), type=RelayStatistics)

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_AFTER)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, command: _Command) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(command).decode() + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise OSError("the relay's process ended; its standard error says why")
        return line


class Relay:
    """An emulated slow link, as an async context manager."""

    def __init__(
        self,
        *,
        target: Address,
        rate_up: float,
        rate_down: float,
        delay: float = 0.0,
        queue: int = 65_536,
        listen: Address = ("127.0.0.1", 0),
        process: bool = False,
        impairments: Impairments = GOOD,
        trace_up: str = "",
        trace_down: str = "",
    ) -> None:
        """Rates in bytes/second; `delay` in seconds one way; `queue` in bytes per direction.

        `impairments`: jitter, loss and outages, see there. `trace_up`, `trace_down`: paths of files
        that the rates follow instead (emulation/lines/traces.py).

        Entering raises OSError if `listen` can't be had, ValueError for a file that is no trace.
        """
        self._settings = RelaySettings(
            target, rate_up, rate_down, delay, queue, listen, impairments, trace_up, trace_down
        )
        self._process = process
        self._runner: _InThread | _InProcess | None = None

    async def __aenter__(self) -> Relay:
        kind = _InProcess if self._process else _InThread
        self._runner = await asyncio.to_thread(kind, self._settings)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        runner, self._runner = self._runner, None
        if runner is not None:
            await asyncio.to_thread(runner.stop)

    @property
    def address(self) -> Address:
        """Where to connect."""
        return self._running().address

    def reach(self, target: Address) -> Address:
        """Where to connect to get to another target over the same line. Raises OSError."""
        return self._running().reach(target)

    def set_rate(self, *, up: float | None = None, down: float | None = None) -> None:
        """Change a rate, bytes/second, from the next byte on; None leaves it."""
        self._running().set_rate(up, down)

    def rewind(self) -> None:
        """Traces begin anew."""
        self._running().rewind()

    def statistics(self) -> RelayStatistics:
        return self._running().statistics()

    def _running(self) -> _InThread | _InProcess:
        if self._runner is None:
            raise RuntimeError("the relay is not running: use `async with`")
        return self._runner


def _arguments(settings: RelaySettings) -> list[str]:
    """The command line that says the same as `settings`."""
    return [
        f"--target={settings.target[0]}:{settings.target[1]}",
        f"--listen={settings.listen[0]}:{settings.listen[1]}",
        f"--rate-up={settings.rate_up}",
        f"--rate-down={settings.rate_down}",
        f"--delay={settings.delay}",
        f"--queue={settings.queue}",
        f"--jitter={settings.impairments.jitter}",
        f"--loss={settings.impairments.loss}",
        f"--outage-every={settings.impairments.outage_every}",
        f"--outage={settings.impairments.outage}",
        f"--seed={settings.impairments.seed}",
        f"--trace-up={settings.trace_up}",
        f"--trace-down={settings.trace_down}",
    ]


def _address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    return (host or "127.0.0.1", int(port))


def _parse(arguments: list[str] | None) -> tuple[RelaySettings, bool]:
    parser = argparse.ArgumentParser(prog="emulation.relay.relay", description="A slow link.")
    parser.add_argument("--target", type=_address, required=True, help="host:port")
    parser.add_argument("--listen", type=_address, default=("127.0.0.1", 0), help="host:port")
    parser.add_argument("--rate-down", type=float, required=True, help="bytes/second")
    parser.add_argument("--rate-up", type=float, help="bytes/second; the same as down unless given")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds one way")
    parser.add_argument("--queue", type=int, default=65_536, help="bytes per direction")
    parser.add_argument("--jitter", type=float, default=0.0, help="seconds, most")
    parser.add_argument("--loss", type=float, default=0.0, help="share of segments, 0 to 1")
    parser.add_argument("--outage-every", type=float, default=0.0, help="seconds; 0: none")
    parser.add_argument("--outage", type=float, default=0.0, help="seconds that nothing moves")
    parser.add_argument("--seed", type=int, default=1, help="of jitter, loss and resets")
    parser.add_argument("--trace-up", default="", metavar="FILE", help="in place of a rate")
    parser.add_argument("--trace-down", default="", metavar="FILE", help="in place of a rate")
    parser.add_argument("--control", action="store_true", help="take JSON lines, answer each")
    got = parser.parse_args(arguments)
    up = got.rate_down if got.rate_up is None else got.rate_up
    impairments = Impairments(got.jitter, got.loss, got.outage_every, got.outage, got.seed)
    return RelaySettings(
        got.target, up, got.rate_down, got.delay, got.queue, got.listen, impairments,
        got.trace_up, got.trace_down,
    ), got.control  # fmt: skip


def _obey(engine: Engine, line: str) -> str:
    """Carry one command out; the answer is an address, or the statistics."""
    command = msgspec.json.decode(line, type=_Command)
    if command.reach is not None:
        return msgspec.json.encode(_Listening(engine.reach(command.reach))).decode()
    engine.set_rate(command.up, command.down)
    if command.rewind:
        engine.rewind()
    return msgspec.json.encode(engine.statistics()).decode()


async def _serve(settings: RelaySettings, control: bool) -> None:
    engine = Engine(settings)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def command() -> None:
        line = sys.stdin.readline()
        if line:
            print(_obey(engine, line), flush=True)
        else:
            loop.remove_reader(sys.stdin)
            ended.set()

    if control:
        loop.add_reader(sys.stdin, command)
    print(msgspec.json.encode(_Listening(engine.address)).decode(), flush=True)
    try:
        await ended.wait()
    finally:
        await engine.close()


def main(arguments: list[str] | None = None) -> None:
    """Relay until interrupted, or until the controlling standard input ends."""
    settings, control = _parse(arguments)
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(loop):
        loop.run_until_complete(_serve(settings, control))


if __name__ == "__main__":
    main()
