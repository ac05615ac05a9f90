"""How large a quantum suits a link: from what a chunk costs there, and how long it takes.

A chunk is what is sent in one go: a quantum, or some that share a record. It goes out in segments
of its own, because the gate opens for one chunk at a time. Each segment has headers of IP and TCP,
each chunk its record, each quantum its frame. With o bytes of these, C bytes of payload in a chunk
and r bytes/second

    cost    o / (C + o)  of the link
    delay   C / r        of what is chosen next, and of the gate's margin as much

So a chunk is no smaller than what keeps the cost at 8 %. On a fast link it takes no time: there a
chunk is half of the margin that the gate needs anyhow (transport/gate/controller.py), and of whole
segments, since to begin another for a few bytes costs as much as to fill it.

Each costs its sender time as well. One that has none is late for everything, and larger chunks make
it less so: they may take as long as it is late anyhow.

Pure: numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_COST: Final = 0.08
"""Of the link. Goodput at 56 and 384 kbit/s is .92 so, little more than docs/measured.md demands;
with 7 % it is a hundredth more, and an urgent quantum at 56 kbit/s a tenth later."""
_TIME: Final = 0.005
"""Seconds of the link that a chunk may take anywhere: half of the gate's least margin."""
_NOT_LATE: Final = 0.05
"""Seconds by which an event loop is late now and then, and its chunks remain as they are."""
_LARGER: Final = 5
"""Times that a late sender's chunks are larger than their cost asks, at most."""
_HEADERS: Final = 52
"""Bytes of IP and TCP with timestamps; IPv6 has 20 more."""
_FRAME: Final = 4
"""Bytes of the usual frame's header (wire/frames.py)."""
SEGMENT: Final = 1448
"""Bytes of payload in an Ethernet packet."""
PROTECTED_FRAMES: Final = 2
"""Quanta that share a record. They cost little more than one of twice the size, and
two components can take turns within it."""
_QUANTA_UNDER_WAY: Final = 8
"""Of the largest quantum of a link that is not measured: another is chosen after an eighth of what
may be under way."""
_SMALLEST: Final = 64
_LARGEST: Final = 16_384


@dataclass(frozen=True, slots=True)
class Chunks:
    """What a link's chunks are made of."""

    frames: int = 1
    """Quanta that go together."""
    record: int = 0
    """Bytes that protecting a chunk adds."""
    segment: int = SEGMENT
    """Bytes of payload in a packet, at most."""
    whole: bool = False
    """Whatever the link: what is not filled of a packet is sent all the same."""

    def quantum(self, rate: float, *, late: float = 0.0) -> int:
        """Bytes of a quantum that suit a link of `rate` bytes/second. `late`: seconds by which the
        sender's event loop is."""
        own = self.record + self.frames * _FRAME
        cheap = (_HEADERS + own) * (1 / _COST - 1)
        size = max(cheap, rate * _TIME, min(rate * (late - _NOT_LATE), _LARGER * cheap))
        packets = int(size + own) // self.segment
        whole = max(packets, int(self.whole)) * self.segment - own
        return max(_SMALLEST, min(_LARGEST, int(whole if whole > 0 else size) // self.frames))

    def quantum_at_least(self, rate: float, *, cap: float) -> int:
        """The same for a link that carries `rate` and perhaps much more: nobody has filled it.

        `cap`: bytes that could be under way without a queue that shows. Small messages that came
        together look like a link of gigabits, so that alone bounds what may wait behind a quantum.
        """
        return min(self.quantum(rate), int(cap / _QUANTA_UNDER_WAY))


def chunks_of(*, record: int, segment: int) -> Chunks:
    """The chunks of a link whose protection adds `record` bytes to each; 0: it has none.

    `segment`: as the kernel says, which may know of no slow link: loopback takes 64 KB.
    """
    return Chunks(PROTECTED_FRAMES if record else 1, record, min(SEGMENT, segment))
