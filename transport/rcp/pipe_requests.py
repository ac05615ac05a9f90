"""Makes the requests of one pipe: asks in segments, and what else each request carries. Pure.

It knows the pipe and its sender's recent blocks, not which bytes are best asked for next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final

from transport.rcp.pending import ByteRange
from transport.rcp.pipe import Pipe
from transport.rcp.recent_blocks import RecentBlocks
from transport.rcp.segments import Block, Req
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.new_reno import NewReno

BATCH: Final = 2
"""Segments of a request where nothing is in haste (RFC 5681, 4.2, of acknowledgements)."""
_TIMES: Final = 12
"""So many requests fill a window at least: what waits for its request leaves the path idle."""


class PipeRequests:
    """The requests over one path."""

    def __init__(
        self, settings: RcpSettings, congestion: Congestion | None, *, most: int = BATCH
    ) -> None:
        """`most`: segments that a request waits for where the window holds many times as many."""
        self._settings, self._most = settings, most
        packet = settings.packet
        self.size = settings.size
        """Bytes of data in a segment,"""
        self.packet = packet
        """and of its packet."""
        self.pipe = Pipe(congestion or NewReno(segment=packet), segment=packet)
        self.whole = False
        """Each ask ends where a segment does that is counted from the stream's beginning."""
        self.rate = 0
        """Bytes/second that requests tell the sender's timer (5.2.3); 0: none."""
        self.delayed: float | None = None
        """When a request for a single segment goes; None: none waits."""
        self._recent = RecentBlocks()

    def begin(self, *, size: int, round_trip: float | None) -> None:
        """The handshake has agreed to that size of segments, and has taken so many seconds."""
        self.size = min(size, self.size)
        if round_trip is not None:
            self.pipe.round_trip.measured(round_trip, delay=0.0)

    def packets(self, *, hole: bool) -> int:
        """Segments that may be asked for now; `hole`: one must be asked for again."""
        packets = int(self.pipe.room // self.packet)
        if self.pipe.fast and hole:
            packets = max(1, packets)
            self.pipe.fast = False
        return packets

    @property
    def batch(self) -> int:
        """Segments that a request without haste waits for."""
        return self._batch(self.pipe.window)

    def _batch(self, window: float) -> int:
        return self._most if window >= _TIMES * self._most * self.packet else BATCH

    def asked(self) -> None:
        """Nothing more is asked for now. With room for less than what a request waits for, the
        window is full."""
        window = self.pipe.window
        room = window - self.pipe.in_flight
        self.pipe.asked(window_full=room < self._batch(window) * self.packet)

    def due(self, now: float) -> bool:
        """Whether a single segment has waited for a second one for long enough."""
        if self.delayed is None:
            self.delayed = now + self._settings.delay
        return self.delayed <= now

    @property
    def window(self) -> int:
        """Bytes of data that may be under way."""
        return int(self.pipe.window // self.packet) * self.size

    def ask(
        self,
        ranges: Iterable[ByteRange],
        *,
        pulled: bool,
        now: float,
        kept: bool = False,
        stood_since: float = inf,
    ) -> None:
        """The next request asks for these, in segments. `kept`: its sender keeps what is not there
        yet; `stood_since`: an earlier request did, at that time, and it was kept."""
        stood = stood_since < inf
        more = self.packet - self._settings.size
        for first, last in ranges:
            begin = first
            while begin < last:
                end = min(begin + self.size - (begin % self.size if self.whole else 0), last)
                one = self.pipe.ask(
                    begin,
                    end,
                    size=end - begin + more,
                    clock=0 if stood else self.pipe.clock,  # whatever is echoed came after that
                    pulled=pulled,
                    now=now,
                    stood_since=stood_since,
                )
                one.kept = kept
                begin = end

    def say(self, fresh: Sequence[Block], now: float, *, deq: int, upto: int, pull: bool) -> Req:
        """A request with these new blocks and the recent ones."""
        carried = self._recent.carried(fresh, deq=deq)
        clock = self.pipe.begin_request(now)
        return Req(clock, deq, max(deq, upto), pull, carried, self.rate)

    def blocks(self, ranges: Iterable[ByteRange]) -> list[Block]:
        """Makes blocks of the next request; those that follow each other are one, which is cut as
        they are."""
        found: list[Block] = []
        whole = False
        for begin, end in ranges:
            if whole and found[-1].end == begin:
                found[-1] = Block(self.pipe.clock, found[-1].begin, end)
            else:
                found.append(Block(self.pipe.clock, begin, end))
            whole = (end - begin) % self.size == 0
        return found
