"""Puts what cells bring in order: components by their offsets, control by its own. Pure.

Whatever order cells come in, what comes out is legal on a link that has an order: messages as they
were said, each byte of a component once and in its order, data behind the messages that went before
them, and a message that was said behind data after these. What comes once more is recognised.

What waits is bounded by how much a connection lets be under way, and by MOST_HELD.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from transport.stream.cell import (
    Cell,
    CellRecord,
    ComponentPiece,
    ControlPiece,
    EndPiece,
    RecordKind,
    decode,
    decode_record,
)
from wire.errors import PeerError
from wire.frames import END, Control, Data

MOST_HELD: Final = 8 << 20
"""Bytes that may wait for others, as few as there may be in each cell."""
MOST_OPEN: Final = 65_536
"""Components of which more is to come."""
MOST_EARLY: Final = 65_536
"""Cells that may have come before one that was filled sooner."""
MOST_GONE: Final = 16_384
"""Components remembered of which late bytes are of no use. More can't be under way at once."""
PIECE: Final = 200
"""Bytes that a piece takes besides its own while it waits."""


class OrderedBytes:
    """A stream of bytes of which pieces come in any order."""

    def __init__(self) -> None:
        self.next = 0
        """All before has been taken."""
        self._ahead: dict[int, bytes] = {}
        self._begins: list[int] = []
        """Where these begin, and some that were taken: a heap."""

    def add(self, offset: int, data: bytes) -> int:
        """Another piece; how many bytes more are held."""
        if offset < self.next:
            data, offset = data[self.next - offset :], self.next
        before = self._ahead.get(offset)
        if not data or (before is not None and len(before) >= len(data)):
            return 0
        if before is None:
            heappush(self._begins, offset)
        self._ahead[offset] = data
        return len(data) + PIECE - (0 if before is None else len(before) + PIECE)

    def take(self) -> tuple[bytes, int]:
        """All that is in order, and how many bytes fewer are held."""
        taken, freed = [], 0
        while self._ahead:
            data = self._ahead.pop(self.next, None)
            if data is None:
                data = self._overlapping()
                if data is None:
                    break
            freed += len(data) + PIECE
            taken.append(data)
            self.next += len(data)
        if not self._ahead:
            self._begins.clear()
        return b"".join(taken), freed

    def _overlapping(self) -> bytes | None:
        """Cells are cut once, so pieces hardly ever overlap."""
        while self._begins and self._begins[0] < self.next:
            offset = heappop(self._begins)
            data = self._ahead.pop(offset, None)
            if data is not None:
                self.add(offset, data)
        return self._ahead.pop(self.next, None)

    @property
    def held(self) -> int:
        """Bytes that wait."""
        return sum(len(data) + PIECE for data in self._ahead.values())


def joined(frames: Iterable[Data | Control]) -> list[Data | Control]:
    """The same with the data of one component that follow each other in one frame: its reader is
    told once."""
    found: list[Data | Control] = []
    run: list[Data] = []
    for frame in frames:
        if run and (isinstance(frame, Control) or run[-1].last or not _same(run[-1], frame)):
            found.append(_whole(run))
            run = []
        if isinstance(frame, Data):
            run.append(frame)
        else:
            found.append(frame)
    return [*found, _whole(run)] if run else found


def _same(one: Data, other: Data) -> bool:
    return one.component == other.component


def _whole(run: list[Data]) -> Data:
    first, *others = run
    if not others:
        return first
    return Data(first.component, b"".join(one.payload for one in run), run[-1].last)


@dataclass(slots=True)
class _Component:
    gathered: OrderedBytes = field(default_factory=OrderedBytes)
    length: int | None = None
    """Where it ends; None: nobody has said."""


class Reassembly:
    """What has come of one link's cells."""

    def __init__(self) -> None:
        self.held = 0
        """Bytes that wait for others."""
        self._control = OrderedBytes()
        self._records = bytearray()
        """Of the control stream, in order, and not acted on yet."""
        self._done = 0
        """Bytes of it that were acted on."""
        self._components: dict[int, _Component] = {}
        self._gone: OrderedDict[int, int] = OrderedDict()
        """Components, and where in the control stream it was said."""
        self._waiting: list[tuple[int, int, ComponentPiece]] = []
        """Data behind messages that are not here, by how much of the control stream must be."""
        self._count = 0
        self._cells = 0
        """All cells up to this number have come,"""
        self._early: set[int] = set()
        """and these."""

    @property
    def open(self) -> int:
        """Components of which more is to come, as far as is known."""
        return len(self._components)

    def feed(self, data: bytes) -> list[Data | Control]:
        """What a cell makes readable, in order. Raises PeerError."""
        cell: Cell = decode(data)
        if not self._is_new(cell.number):
            return []
        ended = False
        for piece in cell.pieces:
            match piece:
                case ControlPiece(offset, own):
                    self.held += self._control.add(offset, own)
                case ComponentPiece():
                    self._wait(cell.after, piece)
                case EndPiece():
                    ended = True
        found = self._advance()
        if self.held > MOST_HELD:
            raise PeerError(f"{self.held} bytes of cells wait for others")
        return [*found, END] if ended else found

    def _is_new(self, number: int) -> bool:
        if number <= self._cells or number in self._early:
            return False
        self._early.add(number)
        while self._cells + 1 in self._early:
            self._cells += 1
            self._early.discard(self._cells)
        if len(self._early) > MOST_EARLY:
            raise PeerError(f"{len(self._early)} cells have come before another")
        return True

    def _wait(self, after: int, piece: ComponentPiece) -> None:
        self._count += 1
        self.held += len(piece.data) + PIECE
        heappush(self._waiting, (after, self._count, piece))

    def _advance(self) -> list[Data | Control]:
        records, freed = self._control.take()
        self._records += records
        self.held += len(records) - freed
        found: list[Data | Control] = []
        moved = True
        while moved:
            moved = self._release(found)
            moved = self._act(found) or moved
        return found

    def _release(self, found: list[Data | Control]) -> bool:
        """Data whose introduction has been read."""
        moved = False
        while self._waiting and self._waiting[0][0] <= self._done:
            after, _, piece = heappop(self._waiting)
            self.held -= len(piece.data) + PIECE
            if self._gone.get(piece.component, -1) <= after:
                self._take(piece, found)
            moved = True
        return moved

    def _take(self, piece: ComponentPiece, found: list[Data | Control]) -> None:
        known = self._components.get(piece.component) or self._begin(piece.component)
        end = piece.offset + len(piece.data)
        if piece.last:
            if known.length not in (None, end):
                raise PeerError(f"component {piece.component} has two ends")
            known.length = end
        if known.length is not None and end > known.length:
            raise PeerError(f"component {piece.component} has bytes behind its end")
        self.held += known.gathered.add(piece.offset, piece.data)
        data, freed = known.gathered.take()
        self.held -= freed
        last = known.gathered.next == known.length
        if data or last:
            found.append(Data(piece.component, data, last))
        if last:
            del self._components[piece.component]

    def _begin(self, component: int, sent: int = 0) -> _Component:
        """Another component, of which so many bytes came in order."""
        if len(self._components) >= MOST_OPEN:
            raise PeerError(f"more than {MOST_OPEN} components at a time")
        if component in self._components:
            raise PeerError(f"component {component} begins twice")
        known = self._components[component] = _Component()
        known.gathered.next = sent
        return known

    def _act(self, found: list[Data | Control]) -> bool:
        """The next record, unless it is to be read behind data that are not here."""
        known = decode_record(self._records)
        if known is None:
            return False
        record, end = known
        if record.kind is RecordKind.BEHIND and not self._is_there(record):
            return False
        del self._records[:end]
        self._done += end
        self.held -= end
        match record.kind:
            case RecordKind.BEGUN:
                self._begin(record.component, record.sent)
                return True
            case RecordKind.GONE:
                self._forget(record.component)
                self._gone.pop(record.component, None)
                self._gone[record.component] = self._done
                if len(self._gone) > MOST_GONE:
                    self._gone.popitem(last=False)
                return True
            case RecordKind.BEHIND:
                self._forget(record.component)
        found.append(Control(record.payload))
        return True

    def _is_there(self, record: CellRecord) -> bool:
        component = self._components.get(record.component)
        return record.sent <= (component.gathered.next if component is not None else 0)

    def _forget(self, component: int) -> None:
        known = self._components.pop(component, None)
        if known is not None:
            self.held -= known.gathered.held

    def __repr__(self) -> str:
        return f"<Reassembly {self.held} bytes wait, {len(self._components)} components>"
