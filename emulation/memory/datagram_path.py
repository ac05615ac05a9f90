"""Datagrams between two ends in one process, for virtual time: what bad links do to UDP.

    path = DatagramPath(profile("lossy"), seed=1)
    path.up.send(datagram, now)          dropped if the queue is full
    path.up.arrived(now)                 what has come over there
    path.next_time()                     when to look again

Lines and their disturbances are those of every other backend (emulation/lines/), so that a figure
measured here holds on a network device. `run` moves two ends of any protocol that takes `now`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from emulation.lines.flight import Flight
from emulation.lines.line import Line, LineStatistics
from emulation.lines.profiles import Profile

HEADERS: Final = 28
"""Bytes of IPv4 and UDP: links carry these too."""
MARK: Final = 9
"""Bytes that say whose a datagram is (PathDirection.lend)."""


class PathDirection:
    """One direction of the path."""

    def __init__(self, profile: Profile, *, down: bool, seed: int) -> None:
        disturbances = profile.disturbances()
        self._line: Line[bytes] = Line(
            schedule=profile.schedule(down=down, epoch=0.0),
            delay=profile.delay,
            queue=profile.queue if down else profile.queue_up or profile.queue,
            flight=Flight(disturbances, seed=seed) if disturbances.any else None,
        )
        self._mtu = profile.mtu
        self._lent: dict[bytes, Callable[[bytes, float], object]] = {}
        self.on_change: Callable[[], object] = lambda: None
        """Called when what is on its way may come sooner."""
        self._here: list[bytes] = []
        """Arrived, and not asked for yet."""

    def lend(self, deliver: Callable[[bytes, float], object]) -> bytes:
        """Somebody else is on the same line: datagrams that begin with these bytes are given to
        `deliver`, with the time, when anybody looks."""
        mark = f"\x00other {len(self._lent):02}".encode()
        self._lent[mark] = deliver
        return mark

    def send(self, datagram: bytes, now: float) -> None:
        """What is too large for the link vanishes, as behind a router that tells nobody."""
        size = len(datagram) + HEADERS
        if size <= self._mtu:
            self._line.offer(now, datagram, size)

    def arrived(self, now: float) -> list[bytes]:
        self.look(now)
        here, self._here = self._here, []
        return here

    def look(self, now: float) -> None:
        """What has come to others by now is theirs."""
        for _, datagram in self._line.take(now):
            deliver = self._lent.get(datagram[:MARK]) if self._lent else None
            if deliver is None:
                self._here.append(datagram)
            else:
                deliver(datagram, now)

    def next_time(self) -> float | None:
        return self._line.next_time()

    def set_rate(self, rate: float, now: float) -> None:
        """Bytes/second; 0: nothing moves."""
        self._line.set_rate(now, rate)
        self.on_change()

    def set_delay(self, delay: float) -> None:
        """Seconds from one end to the other from now on: another route."""
        self._line.delay = delay

    def set_mtu(self, mtu: int) -> None:
        """Bytes of the largest IP packet from now on."""
        self._mtu = mtu

    def statistics(self) -> LineStatistics:
        return self._line.statistics()


class DatagramPath:
    """Both directions of a profile's link, beginning at time 0. "up" is from near to far."""

    def __init__(self, profile: Profile, *, seed: int = 1) -> None:
        self.up = PathDirection(profile, down=False, seed=2 * seed)
        self.down = PathDirection(profile, down=True, seed=2 * seed + 1)

    def next_time(self) -> float | None:
        """When something arrives, or leaves the queue."""
        times = [time for way in (self.up, self.down) if (time := way.next_time()) is not None]
        return min(times, default=None)


class ProtocolCore(Protocol):
    """A protocol's core."""

    def datagram_received(self, datagram: bytes, now: float) -> object: ...

    def datagrams_to_send(self, now: float) -> list[bytes]: ...

    def deadline(self) -> float | None: ...

    def timeout(self, now: float) -> None: ...


class PathRun:
    """Two ends and the path between them; its clock jumps."""

    def __init__(
        self, near: ProtocolCore, far: ProtocolCore, path: DatagramPath, *, now: float = 0.0
    ) -> None:
        self.now = now
        self.path = path
        self._ends = ((near, path.up, path.down), (far, path.down, path.up))

    def until(
        self,
        done: Callable[[], bool],
        *,
        step: Callable[[float], None] = lambda now: None,
        limit: float,
    ) -> bool:
        """Go on until `done`, asked after every event; False: it was not before `limit` seconds.

        `step` is what the applications do at each event.
        """
        active = True
        while True:
            if active:
                step(self.now)
                self._flush()
                if done():
                    return True
            due = self._next()
            if due is None or due > limit:
                self.now = limit
                return False
            self.now = max(self.now, due)
            active = self._turn()

    def _next(self) -> float | None:
        times = [self.path.next_time(), *(end.deadline() for end, _, _ in self._ends)]
        return min((time for time in times if time is not None), default=None)

    def _turn(self) -> bool:
        """Did anything happen to an end?"""
        active = False
        for end, _, incoming in self._ends:
            for datagram in incoming.arrived(self.now):
                end.datagram_received(datagram, self.now)
                active = True
            due = end.deadline()
            if due is not None and due <= self.now:
                end.timeout(self.now)
                active = True
        return active

    def _flush(self) -> None:
        for end, outgoing, _ in self._ends:
            while datagrams := end.datagrams_to_send(self.now):
                for datagram in datagrams:
                    outgoing.send(datagram, self.now)
