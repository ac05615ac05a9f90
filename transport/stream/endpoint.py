"""One end of a link, without its socket: frames, gate and reports put together.

An edge (transport/stream/stream_link.py, emulation/memory/memory.py) moves the bytes and keeps the
time:

    chunk = endpoint.next_chunk(now)        when the transport can take bytes
    frames = endpoint.receive(now, data)    when bytes came
    endpoint.next_time(now)                 when to try again though nothing happened

Reports are not counted, neither as sent nor as received: a report must not call for another. Over
a connection that knows itself what has arrived there are none (`carried_by`, `delivered`).

The stream of frames outlives the connection that carries it: `lost` when a connection broke, then
`resume` with what the peer has. What it lacks is sent again, to the byte; the gate begins anew,
because the new connection may take another way.

Pure. It does not know what a component is, nor what carries the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from monitor.estimate import BandwidthEstimate
from monitor.sensors.asked_rate import AskedRate
from transport.gate.controller import Gate
from transport.gate.granted_streams import GrantedStreams
from transport.link.connection import DeliveryReport
from transport.link.interface import ApartOutbox, LinkStatistics, Outbox
from transport.link.quantum import Chunks
from transport.stream.cell_filler import CellFiller
from transport.stream.long_run import Run
from transport.stream.own_reports import PAUSE, OwnReports
from transport.stream.probe import RESUMED, Probe
from transport.stream.reassembly import Reassembly, joined
from transport.stream.retained import Retained
from transport.stream.sent_pace import REPLAYED, SentPace, unmarked
from wire.errors import PeerError
from wire.frames import (
    APART,
    END,
    PADDING,
    CellFrame,
    Control,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    Report,
)

_GUESS: Final = 0.3
"""Confidence in what a gate says that does not limit."""
_OUTAGE: Final = 4.0
"""Seconds without a sign of a peer that owes one, after which the same link is another one."""
_MANY: Final = 4
"""Reports that come at once, because this end was late: the newest tells enough, but for a gate
that still searches."""
_LEAST_CELL: Final = 256
"""Bytes, whatever the quantum: a cell has a header."""
_MOST_EARLY: Final = 8_192
"""Cells that may have come before all that went in order; a connection has places for 1,000."""
_UNOPENED: Final = 16_384
"""Bytes of a record of TLS at most: reported as they come, but lost to the peer where the
connection breaks before the record's end. So much of what was reported is kept."""


class Endpoint:
    """The protocol core of a link's end."""

    def __init__(
        self,
        outbox: Outbox,
        *,
        now: float,
        measures: bool = False,
        competes: Callable[[], bool] = lambda: True,
    ) -> None:
        """`measures`: learns what others leave of the path, where the connection tells what has
        arrived. `competes`: as of `Link.start`."""
        self._measures, self._competes = measures, competes
        self.gate = self._gate(now, outbox.quantum)
        self._probe = Probe()
        self.ended = False
        """The peer has closed on purpose."""
        self.chunks = Chunks()
        """What goes out together, once the link's rate is known: until then a single frame does,
        since as little as possible may be under way."""
        self._reporting = True
        """The ends report to each other; else the connection knows what has arrived."""
        self._outbox = outbox
        self._pace = SentPace()
        self._run = Run()
        self._filler: CellFiller | None = None
        """What is sent is in cells from some time on, whatever carries it."""
        self._reassembly = Reassembly()
        self._parted = False
        """What comes in order over this connection comes as cells as well."""
        self._early: list[bytes] = []
        """Cells that have come before all that went in order."""
        self._retained = Retained()
        self._resumed_from = 0
        self.resumed = False
        """It has had another connection before."""
        self._replayed_until = float("-inf")
        self._asked_at = now
        """Bytes that the peer had when the present connection began."""
        self._replayed = 0
        self._padding_sent = self._padding_received = 0
        self._writer = FrameWriter()
        self._reader = FrameReader()
        self.stirred = False
        """What came last may let something go that could not before; else what `next_time` said
        still holds."""
        self._sent = 0
        self._spoken_to = False
        """The peer has said something: nobody is sent padding who may be a stranger."""
        self._heard_at, self._data_at = now, float("-inf")
        """When the peer's bytes came last, reports too; and a component's."""
        self._owed_since = now
        """Since when something is under way without a break."""
        self._own = OwnReports(self._reader, now=now)
        self._asked_rate = AskedRate()

    def carried_by(self, *, chunks: Chunks, reports: bool, asked: bool = False) -> None:
        """The connection that there is now sends such chunks; `reports`: the ends must report;
        `asked`: the peer asks for each byte, so the gate only measures."""
        self.chunks = chunks
        self._reporting = self.gate.asks = reports
        self.gate.open = asked
        if self._measures and not reports and not asked:
            self.gate.streams = GrantedStreams()
        if chunks.whole or asked:  # whole segments are more than an idle modem should be asked for
            self._probe = Probe(())

    def next_chunk(self, now: float) -> bytes | None:
        """Bytes to send now, at most a report and some frames; None: nothing may or wants to go.

        What it returns counts as sent: the edge must send all of it, in order.
        """
        self._asked_at = now
        report = b"" if self._retained.cut else self._report(now)
        frame = self._replay(now) if self._retained.replaying else self._frame(now)
        if not frame and self.gate.open:
            self._asked_rate.dry(now)
        if not report and not frame:
            return None
        if frame:
            if not self.gate.under_way:
                self._owed_since = now
            self.gate.on_sent(now, len(frame))
        self._sent += len(report) + len(frame)
        return report + frame

    def receive(
        self, now: float, data: bytes, *, arriving: int = 0, age: float = 0.0
    ) -> list[Data | Control]:
        """The session's frames in `data`. Raises PeerError if the peer broke the protocol.

        `arriving`: bytes that have come behind `data` and can't be read before others have. `age`:
        seconds since the newest of all came to this machine.
        """
        frames: list[Data | Control] = []
        reports: list[Report] = []
        self._heard_at = now
        told_when = self._own.come(len(data), arriving=arriving)
        if self._parted:
            return frames
        for frame in self._reader.feed(data):
            if isinstance(frame, Report):
                reports.append(frame)
            elif isinstance(frame, CellFrame):
                frames += self._from_cell(frame)
            elif frame == END:
                self.ended = True
                break
            elif isinstance(frame, Data) and frame.component == PADDING:
                self._padding_received += len(frame.payload)
            else:
                frames.append(unmarked(frame) if now < self._replayed_until else frame)
                self._spoken_to = True
                if isinstance(frame, Data):
                    self._data_at = now
        for report in reports if len(reports) < _MANY or self.gate.starting else reports[-1:]:
            self.gate.on_report(now, report.received - self._resumed_from, report.clock)
            self._retained.reported(report.received - _UNOPENED)
        self._own.read(now - age, reports=len(reports))
        self.stirred = bool(reports or frames) or not told_when or now >= self._own.due
        return frames

    # -- cells in no order -------------------------------------------------------------------------

    def part(self, now: float, at: int, size: int) -> bytes | None:
        """The word that all that follows on this connection is cells, behind so many bytes, and
        what fills the last cell; None: it is not, because the peer can't read them, or not now."""
        outbox = self._outbox
        if not isinstance(outbox, ApartOutbox) or not outbox.apart or self._retained.replaying:
            return None
        if self._filler is None:
            begun = outbox.part()
            if begun is None:
                return None
            self._filler = CellFiller(outbox, begun)
        word = self._writer.encode(APART)
        word += bytes(-(at + len(word)) % size)
        self._retained.part(word)
        self.gate.on_sent(now, len(word))
        return word

    def next_cell(
        self, now: float, size: int, *, place: int, behind: int, ends: bool
    ) -> bytes | None:
        """A cell, chosen now, which takes so many bytes of the stream from `place` on, counted from
        where it lost its order. None: there is nothing for this path (`CellFiller.next_cell`)."""
        assert self._filler is not None
        self._asked_at = now
        self.gate.quantum = self._outbox.quantum
        cell = self._filler.next_cell(now, size, behind=behind, ends=ends)
        if cell is None:
            if not behind:
                self._asked_rate.dry(now)
            return None
        if not self.gate.under_way:
            self._owed_since = now
        self.gate.on_sent(now, size)
        self._sent += len(cell)
        self._retained.place(place, size, cell)
        return cell

    def padded(self, size: int, *, place: int) -> None:
        """A cell with nothing in it goes there."""
        self._retained.pass_over(place, size)

    def farewell(self) -> bytes:
        """The last word, as this connection has it."""
        if self._filler is not None and self._retained.parted:
            return self._filler.farewell()
        return self._writer.encode(END)

    def receive_cells(self, now: float, cells: Iterable[bytes]) -> list[Data | Control]:
        """What cells make readable. Raises PeerError if the peer broke the protocol."""
        self._heard_at = now
        self._own.come_apart(now)
        self.stirred = False
        if not self._parted:
            self._early += cells
            if len(self._early) > _MOST_EARLY:
                raise PeerError(f"{len(self._early)} cells have come before the end of an order")
            return []
        return self._fed(cells)

    def _fed(self, cells: Iterable[bytes]) -> list[Data | Control]:
        found = [frame for cell in cells for frame in self._reassembly.feed(cell)]
        return self._readable(joined(found))

    def _from_cell(self, frame: CellFrame) -> list[Data | Control]:
        if frame is APART:
            self._parted = True
            early, self._early = self._early, []
            return self._fed(early)
        return self._readable(self._reassembly.feed(frame.cell))

    def _readable(self, frames: list[Data | Control]) -> list[Data | Control]:
        self._spoken_to = self._spoken_to or bool(frames)
        if END in frames:
            self.ended = True
            frames.remove(END)
        return frames

    def delivered(self, now: float, news: DeliveryReport) -> None:
        """The connection says what has arrived over there."""
        if self.silent(now) > _OUTAGE:
            self._begin_anew(now)
        self._heard_at = now
        self.gate.on_delivered(now, news)
        if self.gate.open:
            self._asked_rate.arrived(news.in_order, sent_at=news.first_sent_at, now=now)
        self._retained.reported(self._resumed_from + news.in_order - _UNOPENED)

    def _gate(self, now: float, quantum: int) -> Gate:
        return Gate(now=now, quantum=quantum, competes=self._competes)

    def _begin_anew(self, now: float) -> None:
        """The same connection after an outage: what was measured before and during it is void."""
        before = self.gate
        under_way = before.under_way
        self.gate = self._gate(now, before.quantum)
        self.gate.asks, self.gate.open = before.asks, before.open
        self.gate.streams = None if before.streams is None else GrantedStreams()
        self.gate.on_sent(now, under_way)

    def end(self) -> None:
        """The peer's bytes have ended. Raises PeerError in the middle of a frame."""
        if self._reader.buffered:
            raise PeerError(f"the peer's bytes end {self._reader.buffered} bytes into a frame")

    def lost(self) -> int:
        """The connection broke: bytes of the peer's stream that are here, to tell it."""
        self._parted = False
        self._early.clear()  # all of them come again
        return self._own.lost()

    def resume(self, now: float, received: int) -> None:
        """A new connection; the peer has `received` bytes of ours. Raises PeerError if not."""
        self._replayed += self._retained.rewind(received)
        self._resumed_from = received
        self.resumed = True
        self._replayed_until = now + REPLAYED
        self.gate = self._gate(now, self._outbox.quantum)
        self._reporting = True
        self._probe = Probe(RESUMED)
        self._asked_rate = AskedRate()
        self._own.resume(now)
        self._heard_at = now

    def silent(self, now: float) -> float:
        """Seconds without a byte of the peer while it owes a report; 0: it owes none."""
        return now - max(self._heard_at, self._owed_since) if self.gate.under_way else 0.0

    def quiet(self, now: float) -> float:
        """Seconds since the peer's bytes came, or news of our own."""
        return now - self._heard_at

    def next_time(self, now: float) -> float | None:
        """When to ask `next_chunk` again though nothing happened."""
        # As the gate saw it when it was asked: what it waited for may have come to pass since.
        asked_at = self._asked_at
        due = self.gate.next_time(asked_at)
        times = [due] if due is not None and due > asked_at else []
        if self._own.owed:
            times.append(max(now, self._own.due))
        return min(times, default=None)

    def statistics(self, now: float) -> LinkStatistics:
        gate = self.gate.statistics(now)
        return LinkStatistics(
            sent=self._sent,
            received=self._own.received,
            under_way=gate.under_way,
            cap=gate.cap,
            min_delay=gate.min_delay,
            delay=gate.delay,
            outgoing=self._outgoing(now),
            available=None if self.gate.streams is None else self.gate.streams.estimate(),
            shared=self.gate.contends and not self.gate.open,
            incoming=self._own.incoming(),
            seen=gate.seen,
            replayed=self._replayed,
            padding_sent=self._padding_sent,
            padding_received=self._padding_received,
            chunks=self.chunks,
        )

    def _outgoing(self, now: float) -> BandwidthEstimate | None:
        """What the link carries. Where the peer asks for each byte the gate sees lumps: it is asked
        only before there is anything better."""
        estimate = self.gate.estimate(now)
        if not self.gate.open:
            return estimate
        asked = self._asked_rate.estimate(now)
        if asked is None and estimate is not None:
            return replace(estimate, confidence=min(estimate.confidence, _GUESS))
        return asked

    def _report(self, now: float) -> bytes:
        """A report, if one is due and the peer needs it."""
        report = self._own.next_report(now, outgoing=self.gate.estimate)
        return b"" if report is None or not self._reporting else self._writer.encode(report)

    def _replay(self, now: float) -> bytes:
        """What the peer did not get of the connection before, in the pieces that it was sent in."""
        self.gate.quantum = self._outbox.quantum
        return self._retained.next_again() if self.gate.may_send(now, self.gate.quantum) else b""

    def _frame(self, now: float) -> bytes:
        """What goes now: a chunk where the gate is open, else at most what may pass a closed one.

        A small chunk waits for nothing but the gate, which opens for a whole one.
        """
        quantum = self._outbox.quantum
        if self._filler is not None:
            return self._cell_frame(now, self._filler)
        self.gate.quantum = quantum * (1 if self.gate.starting else self.chunks.frames)
        if self.gate.may_send(now, self.gate.quantum):
            return self._chunk(now, quantum) or self._padding(now)
        if self.gate.may_send(now, 1, urgent=True):
            frame = self._outbox.next_frame(now=now, urgent=True)
            return b"" if frame is None else self._encoded(frame, quantum)
        return b""

    def _cell_frame(self, now: float, filler: CellFiller) -> bytes:
        """The same, in cells: whoever reads them has to do with offsets from some time on."""
        self.gate.quantum = size = max(self._outbox.quantum, _LEAST_CELL)
        if self.gate.may_send(now, size):
            cell = filler.next_cell(now, size)
        elif self.gate.may_send(now, 1, urgent=True):
            cell = filler.next_cell(now, size, urgent=True)
        else:
            cell = None
        return b"" if cell is None else self._encoded(CellFrame(cell), size)

    def _chunk(self, now: float, quantum: int) -> bytes:
        """Frames, chosen now: one, or as many as share a chunk.

        A record opens when all of it has come. A component's end is waited for: what follows goes
        by itself, unless the record would have little in it. So does the first quantum of what
        ends a lasting run (transport/stream/long_run.py).
        """
        frames, turned = b"", False
        known = not (self.gate.open or self.gate.starting)
        self._pace.begins(now, self.gate.rate if known else 0.0)
        while len(frames) < self.gate.quantum - quantum // 2:
            frame = self._outbox.next_frame(now=now, urgent=False)
            if frame is None:
                break
            frames += self._encoded(self._pace.marked(frame), quantum)
            turned |= self._run.sent(now, frame)
            if isinstance(frame, Data) and (turned or (frame.last and len(frames) > quantum // 2)):
                break
        self._pace.ends(now, len(frames))
        return frames

    def _padding(self, now: float) -> bytes:
        """While nothing is known of the link and nothing wants to go: what makes it known."""
        gate = self.gate
        if not gate.starting or not self._spoken_to:
            return b""
        due, comes = gate.under_way, now < self._data_at + PAUSE
        piece = self._probe.next_piece(under_way=due, quantum=gate.quantum, comes=comes)
        if not piece:
            return b""
        if self._probe.ends_burst:
            gate.burst_ends(now)
        self._padding_sent += len(piece)
        return self._encoded(Data(PADDING, piece), self._outbox.quantum)

    def _encoded(self, frame: Frame, quantum: int) -> bytes:
        """The frame's bytes, and before them the quantum's size where that has changed."""
        prefix = self._writer.quantum(quantum) if isinstance(frame, Data) else b""
        encoded = prefix + self._writer.encode(frame)
        self._retained.add(encoded)
        return encoded
