"""Carries packets between TUN devices as profiles say; runs as a process of its own.

    python -m emulation.worlds.tun_relay      told on standard input, in JSON lines, by tun_world.py

Its loop is one thread with absolute deadlines: it waits for packets or for the next deadline, takes
in all there is, and hands on all that is due. A wake-up that is late delays what it delivers, not
what follows. Ends with its standard input. Knows packets and lines; nothing of who sends them.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Final

import msgspec

from emulation.lines.flight import Flight
from emulation.lines.line import Line
from emulation.lines.packets import Openings
from emulation.lines.profiles import Profile
from emulation.lines.punctuality import Punctuality
from emulation.worlds.netns import enter, go_back, own
from emulation.worlds.tun import open_tun

_AT_ONCE: Final = 64
"""Packets read of one device before others have their turn."""
_LARGEST: Final = 65_536
_AWAKE: Final = 0.000_1
"""Seconds before a deadline from which on the relay does not sleep."""
_WORTH_SPINNING: Final = 0.001
"""Seconds to a deadline below which it sleeps all the same: so it is awake a tenth of the time."""
_PR_SET_TIMERSLACK: Final = 29
"""linux/prctl.h"""
_PRIORITY: Final = 10
"""SCHED_FIFO's: above everybody who has none."""


HOME: Final = ""
"""The namespace in which the relay was started."""


class PathSettings(msgspec.Struct, frozen=True):
    """One path: a device in each of two namespaces and what lies between them."""

    near: str
    """Namespaces, or HOME. "up" is from near to far."""
    far: str
    device: str
    """The name of both devices."""
    profile: Profile
    seed: int


class Command(msgspec.Struct, frozen=True):
    """What the relay is told: rates of a path, bytes/second, or nothing; it answers with counts."""

    path: int = 0
    up: float | None = None
    down: float | None = None
    rewind: bool = False
    """Rates that change over time begin anew, on all paths."""


class WayStatistics(msgspec.Struct, frozen=True):
    """One direction of one path, bytes of IP packets unless it says otherwise."""

    carried: int = 0
    dropped: int = 0
    """Because the queue was full."""
    dropped_packets: int = 0
    lost_packets: int = 0
    """In flight, as the profile says."""
    backlog: int = 0
    peak_backlog: int = 0
    connections: int = 0
    """TCP connections that were opened this way."""


class RelayAnswer(msgspec.Struct, frozen=True):
    """An immutable snapshot."""

    up: list[WayStatistics]
    """One for each path."""
    down: list[WayStatistics]
    lateness: tuple[float, float, float]
    """Seconds by which packets were delivered late: median, 99th percentile, most."""
    realtime: bool
    """Whether the relay has a processor before everybody else."""


@dataclass(frozen=True, slots=True)
class TunDirection:
    """One direction of one path."""

    source: int
    sink: int
    line: Line[bytes]
    openings: Openings


class TunRelay:
    """All paths of a world."""

    def __init__(self, paths: list[PathSettings], *, realtime: bool) -> None:
        """Makes the devices. Raises OSError."""
        with own() as home:
            self._ways = [way for path in paths for way in _ways(path, home)]
        self._of_source = {way.source: way for way in self._ways}
        self._paths = paths
        self._late = Punctuality()
        self._realtime = realtime

    def run(self, commands: int) -> None:
        """Carry packets until the descriptor of commands has ended."""
        watched = [commands, *self._of_source]
        while True:
            for descriptor in self._wait(watched):
                if descriptor != commands:
                    self._take_in(self._of_source[descriptor])
                elif not self._obey(commands):
                    return
            for way in self._ways:
                self._hand_on(way)

    def _wait(self, watched: list[int]) -> list[int]:
        """Descriptors that can be read, or none at the next deadline.

        A processor takes its time to wake up: shortly before a deadline it stays awake.
        """
        due = min((time for way in self._ways if (time := way.line.next_time())), default=None)
        if due is None:
            return select.select(watched, (), ())[0]
        pause = due - monotonic()
        if pause < _WORTH_SPINNING:
            return select.select(watched, (), (), max(0.0, pause))[0]
        ready = select.select(watched, (), (), pause - _AWAKE)[0]
        while not ready and monotonic() < due:
            ready = select.select(watched, (), (), 0)[0]
        return ready

    def _take_in(self, way: TunDirection) -> None:
        now = monotonic()
        with contextlib.suppress(BlockingIOError):
            for _ in range(_AT_ONCE):
                packet = os.read(way.source, _LARGEST)
                if way.line.offer(now, packet, len(packet)):
                    way.openings.note(packet)

    def _hand_on(self, way: TunDirection) -> None:
        now = monotonic()
        for due, packet in way.line.take(now):
            self._late.count(now - due)
            # A device that is down or full has lost it, as a network card would.
            with contextlib.suppress(OSError):
                os.write(way.sink, packet)

    def _obey(self, commands: int) -> bool:
        """Carry out what has been said; False: nothing will be said any more."""
        said = os.read(commands, _LARGEST)
        for line in said.splitlines():
            self._carry_out(msgspec.json.decode(line, type=Command))
            print(msgspec.json.encode(self._answer()).decode(), flush=True)
        return bool(said)

    def _carry_out(self, command: Command) -> None:
        now = monotonic()
        up, down = self._ways[2 * command.path : 2 * command.path + 2]
        for rate, way in ((command.up, up), (command.down, down)):
            if rate is not None:
                way.line.set_rate(now, rate)
        if command.rewind:
            for number, way in enumerate(self._ways):
                profile, is_down = self._paths[number // 2].profile, number % 2 == 1
                if profile.changes:
                    way.line.set_schedule(now, profile.schedule(down=is_down, epoch=now))

    def _answer(self) -> RelayAnswer:
        return RelayAnswer(
            up=[_statistics(way) for way in self._ways[::2]],
            down=[_statistics(way) for way in self._ways[1::2]],
            lateness=self._late.summary(),
            realtime=self._realtime,
        )


def _ways(path: PathSettings, home: int) -> Iterator[TunDirection]:
    """Up and down. `home`: the descriptor of HOME. Raises OSError."""
    ends = []
    for space in (path.near, path.far):
        if space == HOME:
            go_back(home)
        else:
            enter(space)
        ends.append(open_tun(path.device, mtu=path.profile.mtu))
    near, far = ends
    up = line_of(path.profile, down=False, seed=2 * path.seed)
    yield TunDirection(near, far, up, Openings())
    down = line_of(path.profile, down=True, seed=2 * path.seed + 1)
    yield TunDirection(far, near, down, Openings())


def line_of(profile: Profile, *, down: bool, seed: int) -> Line[bytes]:
    """One direction of a profile's link, beginning now. Raises OSError, TraceError."""
    disturbances = profile.disturbances()
    return Line(
        schedule=profile.schedule(down=down, epoch=monotonic()),
        delay=profile.delay,
        queue=profile.queue if down else profile.queue_up or profile.queue,
        flight=Flight(disturbances, seed=seed) if disturbances.any else None,
    )


def _statistics(way: TunDirection) -> WayStatistics:
    of = way.line.statistics()
    return WayStatistics(
        of.carried,
        of.dropped,
        of.dropped_packets,
        of.lost,
        of.backlog,
        of.peak_backlog,
        way.openings.count,
    )


def _be_punctual() -> bool:
    """Timers to the nanosecond, no pauses for garbage; whether this process goes before others."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    gc.collect()
    gc.freeze()
    gc.disable()  # no cycles are made
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    except OSError:
        return False
    return True


def main() -> int:
    """Exit code: 0, or 1 when the devices can't be had, with the reason as its first line."""
    # Interrupts are for the bench, which then closes our standard input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    paths = msgspec.json.decode(sys.stdin.buffer.readline(), type=list[PathSettings])
    try:
        relay = TunRelay(paths, realtime=_be_punctual())
    except (OSError, ValueError) as error:
        print(f"error {error}", flush=True)
        return 1
    print("ready", flush=True)
    relay.run(sys.stdin.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
