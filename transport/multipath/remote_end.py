"""The remote's end of a connection over several paths: it answers what the device asks for.

One stream goes down, of which each path's sender (RCP) sends what its requests name; the link above
is asked for bytes no sooner than the device has asked for them, so what goes next is chosen at the
last moment, and no gate is needed. To a device that reads cells in any order, what goes over a path
is chosen when it goes (late_content.py). What comes up is put in order (uplink.py).

A path is an SPP connection of the same device that has named the connection (`Preamble.JOIN`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from transport.link.connection import Carried, DeliveryReport
from transport.link.interface import LinkError
from transport.link.quantum import PROTECTED_FRAMES, Chunks
from transport.link.records import ProvenPeer
from transport.multipath.cell_sender import CellSender
from transport.multipath.end import MultipathEnd
from transport.multipath.late_content import LateStream
from transport.multipath.path_probe import PathProbe
from transport.multipath.uplink import UplinkReceiver
from transport.multipath.words import (
    CellsWord,
    GivenWord,
    KeptWord,
    LagWord,
    NumberWord,
    SegmentWord,
    StreamWord,
    VoidWord,
    WordReader,
)
from transport.multipath.words import encode as encode_word
from transport.rcp.segments import DataSegment, Req, Segment, decode, encode
from transport.rcp.sender import RcpSender
from transport.rcp.settings import RcpSettings
from transport.spp.core.settings import PayloadRefused
from transport.spp.edge.link import SppLink
from wire.errors import PeerError

MOST_PATHS: Final = 8
"""Of one connection."""
_BUFFER: Final = 2 * RcpSettings().buffer
"""Bytes that the device may lack at first: it has places for half of them."""
PARTED: Final = (KeptWord(()), KeptWord(()), KeptWord(()))
"""That the stream has lost its order; and once more, which older ends do not, that as much is kept
of it as the device has places for; and a third time, that a path may be told of another."""
_LITTLE: Final = 4 * RcpSettings().size
"""Bytes under way in order, at most, when that ends: they are asked for anew, and come twice."""
_LARGEST_CHUNK: Final = 1 << 16
"""Bytes; what the link gives at once is less."""
_RECORD: Final = 12
"""Bytes by which the headers of UDP, SPP and RCP's DATA are more than those of TCP with IP."""


@dataclass(eq=False, slots=True)
class _Path:
    """One of them."""

    link: SppLink
    sender: RcpSender
    """Of what has an order,"""
    cells: CellSender
    """and of what has none."""
    reader: WordReader = field(default_factory=WordReader)
    number: int | None = None
    """What the device calls it, if it has said so."""


class RemoteEnd(MultipathEnd):
    """Implements transport.link.connection.Connection."""

    kind = "paths"
    reports = False
    asked = True
    prompt = True
    local_address: str | None = None
    arriving = 0

    def __init__(self, peer: ProvenPeer, on_over: Callable[[], object] = lambda: None) -> None:
        """`on_over`: told once that no path can join any more."""
        super().__init__()
        self.peer: ProvenPeer | None = peer
        self._on_over = on_over
        self._size = RcpSettings().size
        self._stream = LateStream(capacity=_BUFFER, size=self._size, clock=self._loop.time)
        self._content = self._stream.ordered
        self._last: bytes | None = None
        """The farewell, as a cell."""
        self._uplink = UplinkReceiver()
        self._paths: list[_Path] = []
        self.crossed = 0
        """The device counts, whose line it is."""
        self._written: deque[tuple[int, float]] = deque()
        """Where each piece of the stream ends, and when it was written."""
        self._before = self._reported = 0
        """Bytes of the stream when the link took it over; those that the device has."""
        self._over = False

    # -- paths -------------------------------------------------------------------------------------

    @property
    def paths(self) -> int:
        """How many there are."""
        return len(self._paths)

    def join(self, link: SppLink, early: bytes) -> None:
        """Another path; `early`: what has come over it behind its preamble. Raises LinkError."""
        if self._over or len(self._paths) >= MOST_PATHS:
            raise LinkError("the connection takes no more paths")
        sender = RcpSender(self._content, size=self._size)
        path = _Path(link, sender, CellSender(self._stream))
        self._paths.append(path)
        if self._stream.parted:
            self._say(path, PARTED)
        link.changed = self._changed
        if early:
            try:
                self._words(path, early)
            except PeerError as error:
                self._fail(error)
        self.wake()

    # -- transport.link.connection.Connection --------------------------------------------------

    @property
    def chunks(self) -> Chunks:
        return Chunks(PROTECTED_FRAMES, _RECORD, self._size)

    async def send(self, data: bytes) -> None:
        self._write(data)
        self.wake()

    def start(self, carried: Carried) -> None:
        self._before = self._reported = self._content.written
        self._written.clear()
        super().start(carried)

    def prepare(self, congestion: str | None) -> None:
        """Does nothing: each path's device end has chosen."""

    def pace(self, rate: float, *, sure: bool) -> None:
        """Does nothing: the device asks at the rates of its paths."""

    def network_changed(self) -> None:
        """Does nothing: the device knows its paths."""

    def overdue(self, times: float) -> bool:
        return False

    def unanswered(self) -> float:
        return 0.0

    def ask(self) -> None:
        """Does nothing: the device asks."""

    def finish(self, words: bytes) -> None:
        if self._stream.parted:
            self._last = words
            self._give()
            for path in self._paths:
                path.link.flush()
        elif self._content.room >= len(words):
            self._write(words)
            for path in self._paths:
                if path.link.open:
                    self._say(path, path.sender.news())
                    path.link.flush()
        self.close()

    def close(self) -> None:
        self._forget()
        self._end()

    def __repr__(self) -> str:
        return f"<RemoteEnd of {len(self._paths)} paths>"

    # -- turns -------------------------------------------------------------------------------------

    def _turn(self) -> None:
        for path in list(self._paths):
            self._take(path)
        self._heard(self._uplink.read())
        self._tell()
        if not self._part():
            self._fill(max((path.sender.awaited for path in self._paths), default=0))
            for path in list(self._paths):
                if path.link.open:
                    self._say(path, path.sender.news())
        self._give()
        self._lose()

    def _part(self) -> bool:
        """Have the stream lose its order, once the link above can do without; whether it has."""
        if self._stream.parted:
            return True
        if not self._paths or self._apart is None:
            return False
        content = self._content
        if content.room < _LARGEST_CHUNK or content.written - content.purged > _LITTLE:
            return False
        words = self._apart.part(self._content.written, self._size)
        if words is None:
            return False
        self._write(words)
        for path in self._paths:
            self._say(path, [*path.sender.news(), *PARTED])
            if not self._apart.resumed:
                path.cells.probe = PathProbe()
        self._stream.part()
        self._stream.choose = self._choose
        self._stream.on_padded = self._padded
        return True

    def _choose(self, place: int, behind: int, *, ends: bool) -> bytes | None:
        if self._last is not None:
            last, self._last = self._last, None
            return last
        if self._apart is None:
            return None
        return self._apart.next_cell(self._size, place=place, behind=behind, ends=ends)

    def _padded(self, place: int) -> None:
        if self._apart is not None:
            self._apart.padded(self._size, place=place)

    def _give(self) -> None:
        """What was kept goes as soon as there is something, over the quickest path first."""
        if self._stream.parted:
            for path in sorted(self._paths, key=lambda path: path.cells.behind):
                if path.link.open:
                    self._say(path, path.cells.give(self._loop.time()))
            due = (path.cells.due for path in self._paths if path.link.open)
            self._call_at(min((at for at in due if at is not None), default=None))

    def _take(self, path: _Path) -> None:
        """What has come over one path."""
        for payload in path.link.received():
            self._words(path, payload)
        path.link.acked()  # nobody counts words
        for segment, _ in path.link.segments():
            self._answer(path, decode(segment))

    def _words(self, path: _Path, data: bytes) -> None:
        for word in path.reader.feed(data):
            match word:
                case StreamWord(offset, piece):
                    self._uplink.came(offset, piece)
                case SegmentWord(segment):
                    pull = decode(segment)
                    if self._stream.parted:
                        self._answer(path, pull)
                        continue
                    self._fill(path.sender.asks_upto(pull))
                    self._say(path, path.sender.keep(pull))
                case LagWord():
                    self._say(path, path.cells.lags(word))
                case NumberWord(number):
                    path.number, path.cells.may_drop = number, True
                case VoidWord(number, clock):
                    for other in self._paths:
                        if other.number == number:
                            self._say(other, other.cells.voids(clock))
                case _:
                    raise PeerError("the device keeps nothing")

    def _answer(self, path: _Path, segment: Segment) -> None:
        if isinstance(segment, Req):
            self._stream.widen(path.sender.asks_upto(segment) - segment.deq)
        if self._stream.parted and isinstance(segment, Req):
            self._answer_apart(path, segment)
            return
        self._fill(path.sender.asks_upto(segment))
        self._say(path, path.sender.received(segment))

    def _answer_apart(self, path: _Path, request: Req) -> None:
        """What of it has no order is the cells' affair."""
        origin = self._stream.origin
        self._stream.purge(request.deq)
        if request.deq < origin:
            blocks = tuple(
                one._replace(end=min(one.end, origin))
                for one in request.blocks
                if request.deq < one.end and one.begin < origin
            )
            ordered = request._replace(blocks=blocks, upto=min(request.upto, origin))
            self._say(path, path.sender.received(ordered))
        self._say(path, path.cells.received(request, self._loop.time()))

    def _fill(self, upto: int) -> None:
        """Have the link choose what goes, as far as it was asked for and has anything."""
        content = self._content
        while self._carried and content.written < upto and content.room >= _LARGEST_CHUNK:
            chunk = self._carried.next_bytes()
            content.dry = not chunk
            if not chunk:
                return
            self._write(chunk)

    def _write(self, data: bytes) -> None:
        self._content.write(data)
        self._written.append((self._content.written, self._loop.time()))

    def _say(self, path: _Path, said: Sequence[Segment | CellsWord]) -> None:
        for one in said:
            if not path.link.open:
                return
            if isinstance(one, DataSegment):
                path.link.send_segment(encode(one))
                continue
            word = one if isinstance(one, CellsWord) else SegmentWord(encode(one))
            try:
                path.link.send(encode_word(word))
                if isinstance(word, GivenWord):
                    path.link.flush()  # before what it tells of, which a slow path takes long for
            except PayloadRefused:  # it has taken in nothing for long: the device has others
                path.link.close()

    def _tell(self) -> None:
        """What the device has in order by now."""
        written, purged = self._written, self._content.purged
        sent, self._stream.settled = self._stream.settled, []
        size = len(sent) * self._size
        while written and written[0][0] <= purged:
            end, at = written.popleft()
            size, self._reported = size + end - self._reported, end
            sent.append(at)
        if not sent:
            return
        in_order = purged if self._stream.parted else self._reported
        if self._carried is not None:
            in_order -= self._before
            now = self._loop.time()
            self._carried.delivered(DeliveryReport(size, in_order, min(sent), max(sent), now))

    def _lose(self) -> None:
        """Paths that are over; with the last one nothing more crosses."""
        over = [path for path in self._paths if not path.link.open]
        if not over:
            return
        self._paths = [path for path in self._paths if path.link.open]
        if self._paths:
            return
        error = over[-1].link.error
        carried = self._carried
        self._end()
        if error is None and carried is not None:
            carried.ended(None)
        else:
            self._fail(error or LinkError("the connection ended"))

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._on_over()
        for path in self._paths:
            path.link.close()
