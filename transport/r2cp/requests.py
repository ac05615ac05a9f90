"""Decides what each pipe asks for: as much as its window, the buffer and the stream let go. Pure.

What is pending is asked for in order, but for what others will bring sooner (rank.py). Of a stream
that has lost its order any cells are asked for: which bytes they have is decided by their sender.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from transport.r2cp import cell_asking
from transport.r2cp.late_cells import RANGES
from transport.r2cp.path import PathTable, PipePath
from transport.r2cp.rank import rank
from transport.rcp.pending import ByteRange
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import Block, Req

_LEAST_PLACES: Final = 8
"""So much of the buffer, at least, may be one path's: 128 KB, a satellite of 1 Mbit/s takes 75."""

_LONG: Final = 1.0
"""Seconds that a path is taken by what must be asked for again, from which on new cells are among
these:"""
_NEW: Final = 2
"""so many at least,"""
_NEW_PART: Final = 4
"""or this part of its window."""


class R2cpRequests:
    """The requests of all pipes of one engine."""

    def __init__(
        self, paths: PathTable, stream: ReceivedStream, *, ranked: bool, stands: bool
    ) -> None:
        """`ranked`: by when it comes. `stands`: senders keep what they are asked for until they
        have it."""
        self._paths, self._stream = paths, stream
        self._ranked, self._stands = ranked, stands
        self.active: set[int] = set()
        """Pipes that had room for more than the buffer has places for."""
        self.apart = False
        """The stream has lost its order (cell_asking.py)."""

    @property
    def _next(self) -> int:
        """All bytes before have arrived."""
        return self._stream.buffer.next

    def made(self, number: int, path: PipePath, now: float, *, owed: int = 0) -> Iterator[Req]:
        """The requests of one pipe: as many as its window, the buffer and the stream let go.
        `owed`: bytes that others owe, for which one is asked as it has room."""
        self.active.discard(number)
        if path.doubtful and self._paths.replaced(path):
            yield from self._copy(path, now)
            return
        if self._paths.rests(path):
            path.asking.delayed = None
            return
        owed += self._stream.pending.lacking
        if self.apart and owed > _LONG * cell_asking.rate(path):
            yield from self._beside_owed(path, now)
        while (request := self._request(number, path, now)) is not None:
            yield request
        path.asking.asked()
        due = path.pipe.reminder()
        if due is not None and due <= now:
            path.pipe.remind(now)
            yield path.asking.say((), now, deq=self._next, upto=self._next, pull=True)
        if path.persist.due(now, throttled=self._throttled(path), timeout=path.pipe.timeout):
            begin = self._stream.pending.begin  # a byte: others may probe for it as well
            probe = path.asking.blocks((ByteRange(begin, begin + 1),))
            yield path.asking.say(probe, now, deq=self._next, upto=self._next, pull=True)

    def standing(self, known: int, now: float) -> list[tuple[int, Req]]:
        """Requests for what comes next, before it is there. `known`: all bytes before exist."""
        pending, buffer = self._stream.pending, self._stream.buffer
        for number, path in self._paths.ready():
            if path.limit is None or path.limit < known or not self._may_stand(path):
                continue
            if pending.begin < path.limit:
                continue
            window = min(path.asking.window, path.affords * path.asking.size)
            bound = int(min(path.limit + window, buffer.read_upto + buffer.capacity))
            if wanted := path.standing.take(pending, path.limit, bound, now=now):
                clock = path.pipe.clock - 1  # it takes none: others may overtake it
                blocks = tuple(Block(clock, *one) for one in wanted)
                end = max(one.end for one in wanted)
                return [(number, Req(clock, self._next, end, pull=True, blocks=blocks))]
        return []

    def _may_stand(self, path: PipePath) -> bool:
        """Whether it is the quickest: what begins after a rest is not to come by another."""
        return self._stands and path is self._paths.quickest()

    def _copy(self, path: PipePath, now: float) -> Iterator[Req]:
        """Asks a doubtful path for what others were asked for, to hear whether it lives."""
        end = min(self._next + path.asking.size, self._stream.pending.next)
        if path.pipe.idle and self._next < end:
            wanted = (ByteRange(self._next, end),)
            blocks = path.asking.blocks(wanted)
            path.asking.ask(wanted, pulled=True, now=now)
            path.copies.update(one.number for one in path.pipe.under_way())
            yield path.asking.say(blocks, now, deq=self._next, upto=self._next, pull=True)

    def _beside_owed(self, path: PipePath, now: float) -> Iterator[Req]:
        """Asks for some cells that nobody was asked for, though there are others to be asked for
        again. These have their bytes, pictures' perhaps; text that has not gone yet needs new ones.
        What stands or is under way of them is enough, so they cost nothing where there is none."""
        size, pending = path.asking.size, self._stream.pending
        path.fresh = [begin for begin in path.fresh if path.pipe.find(begin) is not None]
        cells = max(_NEW, int(path.asking.window) // size // _NEW_PART)
        lacking = cells - len(path.fresh) - path.standing.size // size
        if 2 * lacking < cells or path.affords < lacking:
            return
        one = pending.take_beyond(pending.lacking, lacking * size, bound=self._last_place(size))
        if one is not None:
            path.fresh += range(one.begin, one.end, size)
            blocks = path.asking.blocks((one,))
            path.asking.ask((one,), pulled=True, now=now, kept=True)
            yield path.asking.say(blocks, now, deq=self._next, upto=one.end, pull=True)

    def _last_place(self, size: int) -> int:
        """Where the last whole cell ends for which the buffer has a place."""
        room = self._stream.buffer.read_upto + self._stream.buffer.capacity
        return room - room % size

    def _throttled(self, path: PipePath) -> bool:
        """All that the senders have so far is here or under way; of this one nothing is. Who says
        reliably when there is more need not be asked."""
        if self._stands or not path.pipe.idle:
            return False
        if any(other.limit is None for _, other in self._paths.ready()):
            return False
        return path.limit is not None and self._stream.pending.begin >= path.limit

    def _request(self, number: int, path: PipePath, now: float) -> Req | None:
        asking = path.asking
        pending = self._stream.pending
        # What the application waits for is asked for by nobody, or something was lost just now.
        hasty = pending.begin == self._next or (path.pipe.fast and pending.holes)
        packets = int(min(asking.packets(hole=pending.holes), path.affords))
        if self.apart:
            packets = self._beside_standing(number, path, packets)
        if packets <= 0:
            asking.delayed = None
            return None
        if packets < asking.batch and not (path.pipe.idle or hasty or asking.due(now)):
            return None
        taken = self._take(number, path, packets, now)
        asking.delayed = None
        if not taken:
            return None
        blocks, kept = asking.blocks(taken), self._may_stand(path) or self.apart
        asking.ask(taken, pulled=True, now=now, kept=kept)
        upto = max(one.end for one in taken) if kept else self._next
        return asking.say(blocks, now, deq=self._next, upto=upto, pull=True)

    def _beside_standing(self, number: int, path: PipePath, packets: int) -> int:
        """How many of so many cells may be asked for beside those that stand. These leave room for
        what must be asked for again: nothing need come for them while all waits for that."""
        asking, pending = path.asking, self._stream.pending
        left = packets - path.standing.size // asking.size
        places = (self._places(path) - path.owed) // asking.size
        if places < left:
            self.active.add(number)
            left = places
        if left >= packets or not pending.holes:
            return left
        return max(left, min(packets, -(-pending.lacking // asking.size)))

    def _take(self, number: int, path: PipePath, packets: int, now: float) -> list[ByteRange]:
        """Ranges for at most so many segments, behind those that others will bring sooner."""
        size = path.asking.size
        skip = self._skip(number, path, now) if self._ranked and not self.apart else 0
        room = self._last_place(size if self.apart else 1)
        bound = room
        if path.limit is not None:
            bound = min(bound, path.limit)
        taken: list[ByteRange] = []
        while packets > 0 and len(taken) < RANGES:
            most = packets * size
            if self.apart:
                most -= self._stream.pending.begin % size
            one = self._stream.pending.take_beyond(skip, most, bound=bound)
            if one is None:
                break
            packets -= -(-(one.end - one.begin) // size)
            taken.append(one)
        if not taken and self._stream.pending.next + skip >= room:
            self.active.add(number)
        return taken

    def _places(self, path: PipePath) -> int:
        """Bytes that a path may owe of a stream without order: places are left for what quicker
        ones bring before its own cells can be here, or these would wait for that."""
        capacity, delay, sooner = self._stream.buffer.capacity, path.delay, 0.0
        for other in self._paths.asked(but=path):
            if other.delay < delay:
                sooner += cell_asking.rate(other) * delay
        return max(capacity // _LEAST_PLACES, capacity - int(sooner))

    def _skip(self, number: int, path: PipePath, now: float) -> int:
        """Bytes of those pending that the others will have brought by the time that it could."""
        others = (
            (other.pipe, other.standing.size) for one, other in self._paths.ready() if one != number
        )
        return rank(path.pipe, others, now)
