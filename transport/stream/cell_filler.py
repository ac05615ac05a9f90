"""Fills cells at the last moment: control for the quickest way, data as the tree chooses. Pure.

What is said (control messages) is numbered as it is encoded, because HPACK has its order, and goes
into cells of the quickest path alone. A cell of a longer path may have data whose introduction goes
that other way: it says how much of the control stream must be there first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from transport.link.interface import ApartOutbox
from transport.stream.cell import CellBuilder, CellRecord, RecordKind, encode_record, farewell
from wire.frames import Control, Data

_AHEAD: Final = 1 << 20
"""Bytes by which the control stream may grow while one cell is filled."""
_LEAST: Final = 24
"""Bytes below which the rest of a cell is left empty."""


class CellFiller:
    """Makes the cells of one link."""

    def __init__(self, outbox: ApartOutbox, begun: Iterable[tuple[int, int]] = ()) -> None:
        """`begun`: components of which some has gone in order, and how many bytes."""
        self._outbox = outbox
        self._control = bytearray()
        """Of the control stream, encoded and in no cell yet."""
        self._encoded = 0
        """Bytes of the control stream so far."""
        self._cells = 0
        """How many there were so far."""
        self._behind = -1
        """Where in it the last message begins that is to be read behind data."""
        self._kept: deque[_Chosen] = deque()
        """Chosen for the quickest path, and in no cell yet."""
        for component, sent in begun:
            self._record(CellRecord(RecordKind.BEGUN, b"", component, sent))

    def next_cell(
        self, now: float, size: int, *, behind: int = 0, ends: bool = False, urgent: bool = False
    ) -> bytes | None:
        """A cell of at most so many bytes; None: there is nothing for this path.

        `behind`: bytes of what waits that others will have brought by the time that this cell
        could; 0: it goes by the quickest path. `ends`: the last bytes of a component may go before
        what others are to bring of it. `urgent`: control alone.
        """
        number, after = self._cells + 1, self._encoded + _AHEAD
        filling = _Filling(CellBuilder(size, number=number, after=after))
        self._hear(self._outbox.next_said(now=now))
        if not behind:
            self._fill_near(now, filling, urgent=urgent)
        elif not urgent:
            self._fill_far(now, filling, behind, ends=ends)
        cell = filling.cell()
        self._cells += cell is not None
        return cell

    def farewell(self) -> bytes:
        """The cell that ends the link on purpose."""
        self._cells += 1
        return farewell(self._cells)

    def _fill_near(self, now: float, filling: _Filling, *, urgent: bool) -> None:
        while True:
            self._put_control(filling.builder)
            if self._control or urgent or filling.builder.room < _LEAST:
                return
            if not self._kept:
                most = filling.builder.room
                self._kept.extend(self._hear(self._outbox.next_near(now=now, most=most)))
                if not self._kept:
                    self._put_control(filling.builder)
                    return
            elif filling.takes(self._kept[0].after, self._behind):
                self._put_kept(filling)
            else:
                return

    def _put_kept(self, filling: _Filling) -> None:
        after, data = self._kept.popleft()
        room = filling.builder.room
        if len(data.payload) > room:
            rest = replace(data, payload=data.payload[room:], offset=data.offset + room)
            self._kept.appendleft(_Chosen(after, rest))
            data = replace(data, payload=data.payload[:room], last=False)
        filling.put(after, data)

    def _fill_far(self, now: float, filling: _Filling, behind: int, *, ends: bool) -> None:
        while (room := filling.builder.room) >= _LEAST:
            far = self._outbox.next_far(now=now, most=room, behind=behind, ends=ends)
            chosen = self._hear(far)
            if chosen and filling.takes(chosen[0].after, self._behind):
                filling.put(*chosen.pop(0))
            # Pieces of which one fits, because others lie between that have gone; or none does.
            self._kept.extend(chosen)
            if chosen or filling.builder.room == room:
                return

    def _hear(self, frames: Iterable[Data | Control]) -> list[_Chosen]:
        """Numbers what is said; the data among the frames."""
        for component in self._outbox.dropped():
            self._record(CellRecord(RecordKind.GONE, b"", component))
            self._kept = deque(one for one in self._kept if one.data.component != component)
        chosen = []
        for frame in frames:
            if isinstance(frame, Data):
                chosen.append(_Chosen(self._encoded, frame))
            elif frame.behind is None:
                self._record(CellRecord(RecordKind.MESSAGE, frame.payload))
            else:
                self._behind = self._encoded
                self._record(CellRecord(RecordKind.BEHIND, frame.payload, *frame.behind))
        return chosen

    def _record(self, record: CellRecord) -> None:
        encoded = encode_record(record)
        self._control += encoded
        self._encoded += len(encoded)

    def _put_control(self, builder: CellBuilder) -> None:
        size = min(builder.room, len(self._control))
        if size > 0:
            offset = self._encoded - len(self._control)
            builder.control(offset, bytes(self._control[:size]))
            del self._control[:size]


class _Chosen(NamedTuple):
    """Data, and how much of the control stream goes before it."""

    after: int
    data: Data


class _Filling:
    """One cell while it is filled."""

    def __init__(self, builder: CellBuilder) -> None:
        self.builder = builder
        self._after: int | None = None

    def takes(self, after: int, behind: int) -> bool:
        """Whether data may share it that are behind so much of the control stream: not where a
        message may lie between that waits for what the cell has already. `behind`: where the last
        such message begins; those before it are not known, so it may lie behind the data as well.
        """
        return self._after is None or self._after == after or behind < self._after

    def put(self, after: int, data: Data) -> None:
        self._after = after
        self.builder.component(data.component, data.offset, data.payload, last=data.last)

    def cell(self) -> bytes | None:
        return None if self.builder.empty else self.builder.cell(self._after or 0)
