"""Finds cells that are late over their path, and asks another for them. Pure.

A path that fades goes on owing what it was asked for by its rate of before: a window of cells. They
take many times as long, and text may be among them. The quickest other path is asked for them at
once. Were they left to whoever has room, the path that did not bring them would be asked again, as
soon as it gives a sign of life. Whatever comes first counts; what the slow path brings after all
tells what it carries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from math import inf
from typing import Final

from transport.r2cp.path import PathTable, PipePath
from transport.rcp.pending import ByteRange
from transport.rcp.pipe import Ask
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import MOST_BLOCKS, Req

RANGES = MOST_BLOCKS - 3
"""Ranges of one request at most, beside the recent blocks that it carries."""
_WINDOWS: Final = 2
"""Of a path may be under way when others' late cells are asked of it: its queue holds no more."""
_LONG: Final = 1.0
"""Seconds that what is under way may take longer than over another path: a satellite's window."""
_BRIEF: Final = 0.25
"""Seconds for which a path that has nothing to bring is taken by others' cells: something urgent
may turn up."""


class LateCells:
    """Asks another path at once for what one will bring late, or not at all."""

    def __init__(self, paths: PathTable, stream: ReceivedStream) -> None:
        self._paths, self._stream = paths, stream
        self._owed: deque[ByteRange] = deque()
        """What paths that are doubted since will not bring."""
        self.waiting = 0
        """Bytes, at most, of what is late and others have no room for yet."""

    def doubted(self, path: PipePath) -> None:
        """The path answers no more: what it owes is asked of another next."""
        owed = [one for one in path.pipe.under_way() if one.number not in path.copies]
        path.copies.update(one.number for one in owed)
        self._owed += [ByteRange(one.begin, one.end) for one in owed]

    def faded(self, path: PipePath, now: float) -> None:
        """Others are asked for what stands there: a window of what it carried before, of which its
        sender may have given away some that will not be here for long."""
        for begin, end, _ in path.standing.withdraw():
            self._stream.pending.put_back(begin, end)
        path.void, path.void_at = path.pipe.clock, now

    def due(self, path: PipePath) -> float | None:
        """When something is late over that path which another could bring; None: nothing is, or
        that one has enough to bring for now."""
        due = _due(path)
        if due is None:
            return None
        other = self._quickest(but=path)
        return due if other is not None and _room(other) else None

    def requests(self, now: float) -> Iterator[tuple[int, Req]]:
        """Asks for what is late, of the quickest other path, by its number: for as much as that
        has room for. The rest is asked of it as it brings this: its queue would not hold all."""
        self.waiting = 0
        if self._owed:
            yield from self._ask_for_owed(now)
        for path in [path for _, path in self._paths.ready() if not path.doubtful]:
            other = self._quickest(but=path)
            if other is None:
                continue
            room = _room(other)
            asks = late(path, now, most=room + 1)
            if len(asks) > room:
                self.waiting += path.pipe.in_flight
            asks = (asks or overtaken(path, other))[:room]
            path.copies.update(one.number for one in asks)
            there = [ByteRange(one.begin, one.end) for one in asks]
            yield from self._ask(other, there, now)

    def _quickest(self, but: PipePath | None = None) -> PipePath | None:
        """The quickest other that may be asked for anything."""
        return min(self._paths.asked(but=but), key=lambda path: path.delay, default=None)

    def _ask_for_owed(self, now: float) -> Iterator[tuple[int, Req]]:
        other, here = self._quickest(), self._stream.buffer
        if other is None:
            self._stream.ask_again(self._owed)
            self._owed.clear()
            return
        some: list[ByteRange] = []
        room = _room(other)
        while self._owed and len(some) < room:
            one = self._owed.popleft()
            if not here.has(one.begin, one.end):
                some.append(one)
        yield from self._ask(other, some, now)
        self.waiting += len(self._owed) * other.asking.size

    def _ask(
        self, other: PipePath, cells: Sequence[ByteRange], now: float
    ) -> Iterator[tuple[int, Req]]:
        number = next(one for one, its in self._paths.items() if its is other)
        deq = self._stream.buffer.next
        wanted = sorted(one for one in cells if one.begin >= deq and not _left_to(other, one))
        for at in range(0, len(wanted), RANGES):
            some = wanted[at : at + RANGES]
            blocks = other.asking.blocks(some)
            other.asking.ask(some, pulled=True, now=now, kept=True)
            yield number, other.asking.say(blocks, now, deq=deq, upto=some[-1].end, pull=True)


def _room(path: PipePath) -> int:
    """Cells that are late over others and that it may be asked for now."""
    left = int(_WINDOWS * path.asking.window) - path.pipe.in_flight
    return int(max(0, min(-(-left // path.asking.size), path.affords)))


def _left_to(path: PipePath, one: ByteRange) -> bool:
    """Leaves it to that path, if that was asked for the same; whether it was. Nobody else is to
    bring it then, so what the path loses is asked for again."""
    there = path.pipe.find(one.begin)
    if there is None:
        return False
    path.copies.discard(there.number)
    there.late_at = inf  # nobody can bring it sooner
    return True


def _due(path: PipePath) -> float | None:
    """When the first of what is under way over that path, and nowhere else, is late."""
    known = (one for one in path.pipe.asks() if one.late_at < inf)
    return next((one.late_at for one in known if one.number not in path.copies), None)


def overtaken(path: PipePath, other: PipePath) -> list[Ask]:
    """What is under way over that path, and another that has nothing to bring would bring in less
    than half the time: opportunistic retransmission (Raiciu et al., NSDI'12). What a path was asked
    for once it had faded is late by no rate, and stands behind all that it owes from before."""
    rate, quick = path.train.rate, other.train.rate
    if not rate or not quick or not other.pipe.idle or not other.standing.size:
        return []
    sooner = (2 * other.delay + _LONG) * rate
    if path.pipe.in_flight <= sooner:
        return []
    found: list[Ask] = []
    ahead, left = 0, int(_BRIEF * quick)
    for one in path.pipe.asks():
        ahead += one.size
        taken = 2 * rate * one.size / quick
        if one.number in path.copies or one.late_at == inf or ahead <= sooner + taken:
            continue
        sooner, left = sooner + taken, left - one.size
        if left < 0:
            break
        found.append(one)
    return found


def late(path: PipePath, now: float, *, most: int) -> list[Ask]:
    """What is under way over that path for longer than it should be, or will have been, and was
    asked of nobody else for that: so many at most."""
    found: list[Ask] = []
    ahead, known = 0, path.train.rate or inf
    for one in path.pipe.asks():
        ahead += one.size
        if one.number in path.copies or one.late_at == inf:
            continue
        if now + ahead / known < one.late_at or len(found) == most:
            break
        found.append(one)
    return found
