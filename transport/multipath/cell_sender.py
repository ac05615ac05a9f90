"""Sends cells over one path: what was asked for is kept until there is something for it. Pure.

Each request is a standing pull (HATS, 3.1). The receiver hears of what is kept because there is
nothing for it, so that it waits for nothing, and of what was kept and is sent, so that it can miss
it; both words must arrive.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Final

from transport.multipath.late_content import LateStream
from transport.multipath.path_probe import RESUMED, PathProbe
from transport.multipath.words import DroppedWord, GivenWord, KeptWord, LagWord
from transport.rcp.pending import ByteRange
from transport.rcp.recent_blocks import RecentBlocks
from transport.rcp.segments import MOST_SENT, DataSegment, Req
from transport.rcp.settings import LARGEST, RcpSettings

MOST_KEPT: Final = LARGEST // RcpSettings().size
"""Cells; of more the last are forgotten, and asked for again once their time is over."""

_FASTER: Final = 1.25
"""Times its rate that a path is given: else nobody would see that it carries more."""
_QUEUE: Final = 0.5
"""Seconds, at most, that what is given faster waits on its way: a path that others have left may
stand for ten times what its queue holds."""
_BURST: Final = 2
"""Cells that go at once after a pause."""
_LATE: Final = 0.02
"""Seconds by which a turn may come late without anything being lost by that: a machine that does
much besides lets a process wait so long, and a fast path carries many cells meanwhile."""
_TOGETHER: Final = 24
"""Cells of one word that they are on their way, or will be: each word is a packet, and over a path
that has faded the next would come behind all of them."""
_SLOW: Final = 0.05
"""Seconds for which a path is taken, from which on what follows is chosen for that time."""
_GRAIN: Final = 0.0005
"""Seconds; timers are no finer."""
_SEVERAL: Final = 4
"""Times what all others do that a path carries over which the ends of components go as well: where
it fades others are waited for, but for what is in their queues already."""
_OTHERS: Final = 1.0
"""Seconds: what another path was given, which was asked for it because it was late here, has come
by then,"""
_COPY: Final = 0.1
"""or in the time of which a copy would take no more than this part."""
_LOOK: Final = 0.01
"""Seconds from one look through all these to the next: there may be as many as are kept."""


class CellSender:
    """One path's sender of a stream that has lost its order."""

    def __init__(self, stream: LateStream) -> None:
        self.probe = PathProbe(RESUMED)
        """The padding by which the path is known."""
        self.may_drop = False
        """The receiver knows DROPPED."""
        self.behind = 0
        """Bytes that other paths bring before what goes over this one is there."""
        self._rate = 0
        """Bytes/second that the path carries; 0: not known. What is sent faster waits on its way,
        and something more urgent may turn up meanwhile."""
        self._others = 0
        """Bytes/second of the others."""
        self.due: float | None = None
        """When more may go; None: not before there is something, or somebody asks."""
        self._at = float("-inf")
        """When more may go,"""
        self._free = float("-inf")
        """and when the path will have carried what has gone, of what was asked for before."""
        self._all_free = float("-inf")
        """The same of all that has gone, whatever was left to others for that."""
        self._paced = False
        """What goes was asked for before there was anything: a window of it would leave at once.
        What is asked for since comes as fast as the path brings, for so requests do."""
        self._late = 0.0
        """Seconds that may be made up for: a cell has waited for its time."""
        self._stream = stream
        self._clock = -1
        self._recent = RecentBlocks()
        self._void = 0
        self._kept: list[int] = []
        """Where cells begin that were asked for and are not filled, or not sent,"""
        self._doubled: dict[int, float] = {}
        """those that another path was given meanwhile, and when they go over this one as well,"""
        self._look_at = self._double_due = float("-inf")
        """When these may be looked through again, and when the first of them goes,"""
        self._looked = 0
        """where all before had come when they were last looked through."""
        self._asked: dict[int, int] = {}
        """and the clocks of the requests for all these."""
        self._dry = False
        """There was nothing for the first of them."""
        self._untold: set[int] = set()
        """Those of them that the receiver does not know to be kept."""

    @property
    def kept(self) -> int:
        """Cells that wait."""
        return len(self._kept)

    def received(self, request: Req, now: float) -> list[DataSegment | KeptWord | GivenWord]:
        """What follows from a request."""
        if request.clock <= self._clock:
            return []
        self._clock = request.clock
        said: list[DataSegment | KeptWord | GivenWord] = []
        before = len(self._kept)
        for block in self._recent.missing(request.blocks):
            if block.clock < self._void:
                continue
            for begin in self._stream.begins(block.begin, block.end):
                if self._stream.filled(begin):
                    self._forget(begin)
                    said.append(self._segment(begin, now))
                elif begin in self._asked or len(self._kept) < MOST_KEPT:
                    if begin not in self._asked:
                        insort(self._kept, begin)
                    self._asked[begin] = block.clock
                    self._untold.add(begin)
        self.probe.asked(len(self._kept) - before, now)
        return [*said, *self.give(now)]

    def lags(self, word: LagWord) -> list[KeptWord | DroppedWord]:
        """The receiver tells how its path does, and as much as `voids` has."""
        self.behind, self._rate, self._others = word.behind, word.rate, word.others
        if self._rate:
            self.probe.known()
        return self.voids(word.void)

    def voids(self, clock: int) -> list[KeptWord | DroppedWord]:
        """What requests before that clock asked for, others were asked for since, and is kept no
        more: what of it the receiver takes for sent. Of what is kept it is told anew, for it can't
        tell earlier words of that from those of what is not."""
        if clock <= self._void:
            return []
        self._void = clock
        left = sorted(begin for begin, clock in self._asked.items() if clock < self._void)
        unsent = [begin for begin in left if begin in self._untold]
        for begin in left:
            self._forget(begin)
        if self.may_drop:
            self._untold.update(self._asked)
            return [DroppedWord(self._void, _ranges(left, self._stream.size))]
        return [KeptWord(_ranges(unsent, self._stream.size))] if unsent else []

    def give(self, now: float) -> list[DataSegment | KeptWord | GivenWord]:
        """What there is by now for what is kept; and what is kept, once there is nothing."""
        said: list[DataSegment | KeptWord | GivenWord] = []
        self.due = None
        waits: set[int] = set()
        while self._kept:
            begin = self._kept[0]
            if self._stream.comes_sooner(begin, self.behind):
                waits.add(self._kept.pop(0))
                self._leave_to_others(begin, now)
                continue
            if not self._stream.filled(begin) and not self._fill(begin, now):
                break
            said += self._given(begin)
            said.append(self._segment(begin, now))
            self._forget(begin)
        if self._dry and self._kept and not self.probe.over:
            said += self._pad(now)
        if not self._kept:
            self._paced, self._late = False, 0.0
        if self._dry:
            waits.update(self._untold)
        if waits := waits & self._untold:
            said.append(KeptWord(_ranges(sorted(waits), self._stream.size)))
            self._untold -= waits
        return [*said, *self._after_others(now)]

    def _leave_to_others(self, begin: int, now: float) -> None:
        """Another path was given that cell; it has come, perhaps."""
        copy = self._stream.size / self._rate if self._rate else 0.0
        due = now if begin < self._stream.purged else now + max(_OTHERS, copy / _COPY)
        self._double_due = min(self._double_due, due) if self._doubled else due
        self._doubled[begin] = due

    def _after_others(self, now: float) -> list[DataSegment | KeptWord | GivenWord]:
        """What another path was given, and has not brought by now; and an answer for what it has:
        nobody is to wait for that."""
        if not self._doubled:
            return []
        purged, look = self._stream.purged, self._double_due
        if purged > self._looked:
            look = min(look, self._look_at)
        if now < look:
            self.due = look if self.due is None else min(self.due, look)
            return []
        begins = [begin for begin, at in self._doubled.items() if at <= now or begin < purged]
        for begin in begins:
            self._forget(begin)
        self._looked, self._look_at = purged, now + _LOOK
        self._double_due = min(self._doubled.values(), default=self._look_at)
        if self._doubled:
            self.due = self._double_due if self.due is None else min(self.due, self._double_due)
        word = [GivenWord(_ranges(begins, self._stream.size))] if begins else []
        return [*word, *(self._segment(begin, now) for begin in begins)]

    def _fill(self, begin: int, now: float) -> bool:
        """Whether there is something for that cell, and it may go now."""
        self._dry = False
        if self._paced and self._at > now + _GRAIN:
            self.due, self._late = self._at, _LATE
            return False
        wait = self._free - now if self.behind and self._free > now + _SLOW else 0.0
        behind, ends = self.behind + int(wait * self._others), self._carries_most
        if not self._stream.fill(begin, behind, ends=ends):
            self._dry, self.due = True, self._stream.stale_at(begin)
            if wait:
                self.due = min(self._free, self.due or self._free)
            self._paced, self._late = True, 0.0
            return False
        if self._paced and self._rate:
            took = self._stream.size / self._rate
            self._all_free = max(self._all_free, now) + took
            faster = _FASTER if self._all_free < now + _QUEUE else 1.0
            self._at = max(self._at, now - max(self._late, _BURST * took / faster)) + took / faster
            self._free = min(max(self._free, now) + took, now + _BURST * took)
        return True

    @property
    def _carries_most(self) -> bool:
        return self._rate > _SEVERAL * self._others

    def _pad(self, now: float) -> list[DataSegment | KeptWord | GivenWord]:
        """There is nothing to fill cells with: what tells what the path carries."""
        said: list[DataSegment | KeptWord | GivenWord] = []
        cells, length = self.probe.burst(now, len(self._kept), size=self._stream.size)
        for begin in self._kept[:cells]:
            if not self._stream.pad(begin, length):
                break
            said += self._given(begin)
            said.append(self._segment(begin, now))
            self._forget(begin)
        due = self.probe.due
        if due is not None and due > now:
            self.due = due if self.due is None else min(self.due, due)
        return said

    def _forget(self, begin: int) -> None:
        """Keeps a request for that cell no more, if there was one."""
        if self._asked.pop(begin, None) is None:
            return
        if self._doubled.pop(begin, None) is None:
            del self._kept[bisect_left(self._kept, begin)]
        self._untold.discard(begin)

    def _given(self, begin: int) -> list[GivenWord]:
        """The word that it is on its way, and others that are next: each word is a packet."""
        if begin in self._untold:
            return []
        next_ones = [one for one in self._kept[:_TOGETHER] if one not in self._untold]
        self._untold.update(next_ones)
        return [GivenWord(_ranges(next_ones, self._stream.size))]

    def _segment(self, begin: int, now: float) -> DataSegment:
        clock, sent, data = max(0, self._clock), round(now * 1_000), self._stream.cell(begin)
        return DataSegment(clock, begin, data, cell=True, sent=sent % MOST_SENT)


def _ranges(begins: Iterable[int], size: int) -> tuple[ByteRange, ...]:
    found: list[ByteRange] = []
    for begin in begins:
        if found and found[-1].end == begin:
            found[-1] = ByteRange(found[-1].begin, begin + size)
        else:
            found.append(ByteRange(begin, begin + size))
    return tuple(found)
