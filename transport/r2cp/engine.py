"""Receives one stream over several pipes: the R2CP engine (section 4). Pure.

Each pipe decides how much may be asked for over its path; the engine decides what: the first bytes
that nobody will have brought by the time at which this pipe could (rank.py). All requests are pulls
(4.2), and senders are plain ones of RCP that know nothing of each other (4.1.2); every one hears
how far the whole stream is here (SEG.DEQ, 4.3.4). What one pipe loses is asked for by the next that
has room (4.3.5). A path that is silent for its timeout is doubted: others bring what it owed, and
until it answers it is asked for copies of what they bring, no more.

The paper's calls: `open`, `established`, `close` and `closed` by these names; `send()` is
`requests`, `recv()` is `received`; `loss()` and `update()` happen within, `FREEZE` and `resume()`
as well where the buffer is full; `freeze` and `resume` are those of a channel that is bad (3.4.4).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from transport.r2cp import cell_asking
from transport.r2cp.availability import Availability
from transport.r2cp.buffer_growth import BufferGrowth
from transport.r2cp.cell_asking import Lag
from transport.r2cp.late_cells import LateCells
from transport.r2cp.path import PathTable, PipePath
from transport.r2cp.requests import R2cpRequests
from transport.rcp.pending import ByteRange
from transport.rcp.pipe import Ask, Pipe
from transport.rcp.pipe_requests import PipeRequests
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import DataSegment, Fin, Limit, Req, Segment
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.interface import Congestion
from wire.errors import LocalError, PeerError

_BATCH: Final = 3
"""Segments of a request over a long path: pulls name every range, which costs bytes."""
_FADED: Final = 0.5
"""Of what a path carried: what stands was asked for by that."""


class R2cpEngine:
    """The receiver of a stream over as many pipes as are open."""

    def __init__(
        self, settings: RcpSettings | None = None, *, ranked: bool = True, stands: bool = False
    ) -> None:
        """`ranked`: by when it comes; else whoever asks first gets the first bytes (the paper's
        R2CP-s, to compare with). `stands`: senders keep what they are asked for until they have it,
        and say so reliably when they have more (`RcpSender`); the quickest path has such pulls."""
        self._settings = settings or RcpSettings()
        self._stands = stands
        self._paths = PathTable()
        self._opened = 0
        self._stream = ReceivedStream(self._settings.buffer, self._pipes)
        self._senders = Availability(self._stream, self._paths.values, stands=stands)
        self._requests = R2cpRequests(self._paths, self._stream, ranked=ranked, stands=stands)
        self._cells: list[bytes] = []
        self._late = LateCells(self._paths, self._stream)
        self._growth = BufferGrowth(self._stream.buffer, largest=self._settings.largest)

    @property
    def active(self) -> set[int]:
        """Pipes that had room for more than the buffer has places for."""
        return self._requests.active

    @property
    def apart(self) -> bool:
        """The stream has lost its order (cell_asking.py)."""
        return self._requests.apart

    @property
    def done(self) -> bool:
        """All of the stream has arrived."""
        return self._stream.done

    @property
    def closed(self) -> bool:
        """All has arrived, and every pipe has said goodbye."""
        return self.done and all(path.goodbye.closed for path in self._paths.values())

    @property
    def next(self) -> int:
        """All bytes before have arrived."""
        return self._stream.buffer.next

    @property
    def filled(self) -> float:
        """Part of the buffer that holds bytes which can't be read yet, or were not."""
        buffer = self._stream.buffer
        return (buffer.top - buffer.read_upto) / buffer.capacity

    @property
    def asked_ahead(self) -> int:
        """Bytes from the first that was not read to the last that was asked for."""
        return self._stream.pending.next - self._stream.buffer.read_upto

    @property
    def duplicates(self) -> int:
        """Bytes that came once more."""
        return self._stream.buffer.duplicates

    def pipe(self, number: int) -> Pipe:
        """Its congestion control, its clock and what is under way. Raises KeyError."""
        return self._paths[number].pipe

    def carried(self, number: int) -> int:
        """Bytes that came over that pipe first. Raises KeyError."""
        return self._paths[number].carried

    def read(self) -> bytes:
        """The bytes that are in order; their places are free for other requests."""
        self.active.clear()
        return self._stream.buffer.read()

    # -- a stream without order ------------------------------------------------------------------

    def part(self) -> None:
        """From now on cells are asked for: each path keeps what it has nothing for."""
        if self.apart:
            return
        self._requests.apart = True
        # Senders that keep the order say where they have no more; of cells these may be silent.
        self._growth.largest = self._settings.buffer
        self._stream.buffer.capacity = min(self._stream.buffer.capacity, self._settings.buffer)
        for path in self._paths.values():
            self._cancel(path)
            path.limit, path.asking.whole = None, True
        # What came behind a gap comes again: few bytes, and all that is asked for are whole cells.
        self._stream.pending.retreat(self.next)

    def widen(self, largest: int) -> None:
        """The buffer may grow to so many bytes: all senders keep as many cells."""
        self._growth.largest = largest

    def cells(self) -> list[bytes]:
        """Cells that have come since this was last called, in whatever order."""
        cells, self._cells = self._cells, []
        return cells

    def kept(self, number: int, ranges: Iterable[ByteRange]) -> None:
        """A path's sender keeps these cells until it has something for them; so it answers."""
        self.part()
        path = self._path(number)
        self._trust(path)
        if path.dropped is None or path.dropped >= path.void:
            self._stream.ask_again(cell_asking.kept(path, ranges))

    def given(self, number: int, ranges: Iterable[ByteRange], now: float) -> None:
        """A path's sender kept these, and they are on their way."""
        self.part()
        path = self._path(number)
        self._trust(path)
        cell_asking.given(path, ranges, now)

    def dropped(self, number: int, clock: int, ranges: Iterable[ByteRange]) -> None:
        """A path's sender keeps these no more, for which requests before that clock had asked."""
        path = self._path(number)
        path.dropped = max(clock, path.dropped or 0)
        self._trust(path)
        self._stream.ask_again(cell_asking.dropped(path, clock, ranges))

    def will_drop(self, number: int) -> None:
        """A path's sender says, from now on, when it has dropped what stood for earlier requests:
        what it says before that of what it keeps was of those, perhaps."""
        self._path(number).dropped = self._path(number).void

    def delay(self, number: int) -> float:
        """Seconds until what is asked for over that path now is here. Raises LocalError."""
        return self._path(number).delay

    def lag(self, number: int) -> Lag:
        """How far a path lags behind those that are asked for anything."""
        path = self._path(number)
        return cell_asking.lag(path, self._paths.asked(but=path))

    # -- pipes come and go ----------------------------------------------------------------------

    def open(self, congestion: Congestion | None = None) -> int:
        """A pipe over a path of its own, with a congestion control of its own (4.3.3): its number.

        It asks for nothing before it is `established`.
        """
        number = self._opened
        self._opened += 1
        self._paths[number] = PipePath(PipeRequests(self._settings, congestion, most=_BATCH))
        self._paths[number].asking.whole = self.apart
        return number

    def established(self, number: int, *, size: int, round_trip: float | None) -> None:
        """Its handshake has agreed to segments of that size, and has taken so many seconds."""
        path = self._path(number)
        path.established = True
        path.asking.begin(size=size, round_trip=round_trip)

    def close(self, number: int) -> None:
        """The path is gone: what was asked for over it is asked for over others."""
        path = self._path(number)
        self._cancel(path)
        del self._paths[number]
        self.active.discard(number)

    def freeze(self, number: int) -> None:
        """The channel is bad: nothing is asked for over it, and none of its timers runs."""
        path = self._path(number)
        path.frozen = True
        self._cancel(path)

    def resume(self, number: int) -> None:
        """The channel is good again."""
        self._path(number).frozen = False

    def spare(self, number: int, spare: bool) -> None:
        """Whether it is to be asked for nothing while a path that is no spare one answers."""
        self._path(number).spare = spare

    def retire(self, number: int) -> None:
        """Nothing more is asked for over it, until it is closed."""
        path = self._path(number)
        if not path.retired:
            path.retired = True
            for begin, end, _ in path.standing.withdraw():
                self._stream.pending.put_back(begin, end)

    def bound(self, number: int, left: int | None) -> None:
        """So many bytes may cross it from now on, with all that goes around them; None: any
        number."""
        self._path(number).left = left

    def owed(self, number: int) -> int:
        """Bytes, with their headers, that its sender was asked for and that are not here."""
        return self._path(number).owed

    def doubt(self, number: int) -> None:
        """Who carries it hears nothing over it any more: others bring what it owes."""
        path = self._path(number)
        if not path.doubtful and self._paths.replaced(path):
            if self.apart:
                self._late.doubted(path)
            self._cancel(path)
            path.doubtful = True

    def trust(self, number: int) -> None:
        """Who carries it has heard something over it."""
        self._trust(self._path(number))

    def crossed(self, number: int, trip: float, now: float) -> None:
        """Something that went over that path was acknowledged after so many seconds."""
        self._path(number).pipe.crossed(trip, now)

    # -- what happens -----------------------------------------------------------------------------

    def received(self, number: int, segment: Segment, now: float) -> None:
        """Takes in what a sender says. Raises PeerError; then nothing has changed."""
        path = self._path(number)
        match segment:
            case DataSegment():
                self._data(path, segment, now)
            case Limit():
                self._heard(path, segment.echo, segment.limit, fin=segment.fin, now=now)
                if self.apart:
                    return
                if segment.more:
                    self._senders.more(segment.limit, path, now)
                else:
                    self._senders.limited(path, segment.limit, segment.echo, now)
            case Fin():
                path.goodbye.answered(segment.length, done=self.next if self.done else None)
            case _:
                raise PeerError("a sender says no such thing")

    def requests(self, now: float) -> list[tuple[int, Req | Fin]]:
        """What goes now, and over which pipe: the quickest ones ask first."""
        made: list[tuple[int, Req | Fin]] = []
        if self.apart:
            made += self._late.requests(now)
        for number, path in sorted(self._paths.ready(), key=lambda one: one[1].delay):
            if self.done:
                timeout = path.pipe.timeout
                made += [(number, fin) for fin in path.goodbye.to_send(self.next, now, timeout)]
                continue
            requests = self._requests.made(number, path, now, owed=self._late.waiting)
            made += [(number, request) for request in requests]
        longest = max((path.delay for _, path in self._paths.ready()), default=0.0)
        self._growth.look(now, full=bool(self.active), trip=longest)
        return made

    def standing(self, now: float) -> list[tuple[int, Req]]:
        """Requests for what comes next, before it is there, which must arrive: of the quickest path
        for a window, again once half of that is gone, or where something before it has none."""
        return [] if self.apart else self._requests.standing(self._senders.known, now)

    def next_timer(self) -> float | None:
        """When to call `on_timer`; None: only news changes anything."""
        found = [timer for _, path in self._paths.ready() for timer in self._timers(path)]
        return min((one for one in found if one is not None), default=None)

    def on_timer(self, now: float) -> None:
        """A timer has come; `requests` says what follows from it."""
        if self.done:
            return
        for number, path in self._paths.ready():
            silence, deadline = self._silence(path), path.pipe.deadline()
            if silence is not None and silence <= now:
                self.doubt(number)
            elif deadline is not None and deadline <= now:
                self._ask_again(path, path.pipe.timed_out(now))

    # -- within -----------------------------------------------------------------------------------

    def _path(self, number: int) -> PipePath:
        path = self._paths.get(number)
        if path is None:
            raise LocalError(f"there is no pipe {number}")
        return path

    def _pipes(self) -> Iterator[Pipe]:
        return (path.pipe for path in self._paths.values())

    def _cancel(self, path: PipePath) -> None:
        asks = path.pipe.under_way()
        for one in asks:
            path.pipe.cancel(one)
        for begin, end, _ in path.standing.withdraw():
            self._stream.pending.put_back(begin, end)
        path.void = path.pipe.clock if self.apart else 0
        path.asking.delayed = None
        path.persist.clear()
        self._ask_again(path, asks)

    def _ask_again(self, path: PipePath, asks: Iterable[Ask]) -> None:
        """What the path will not bring is pending again, unless it had only a copy of it."""
        self._stream.ask_again([one for one in asks if one.number not in path.copies])
        path.copies.difference_update(one.number for one in asks)

    def _timers(self, path: PipePath) -> tuple[float | None, ...]:
        pipe = path.pipe
        if self.done:
            return (path.goodbye.deadline,)
        if self._paths.rests(path) or (path.doubtful and self._paths.replaced(path)):
            return (pipe.deadline(),)
        late = self._late.due(path) if self.apart else None
        own = (path.asking.delayed, path.persist.deadline, late)
        return (pipe.deadline(), pipe.reminder(), self._silence(path), *own)

    def _silence(self, path: PipePath) -> float | None:
        """When the path's silence is to be believed, for there are others; None: not at all."""
        if path.doubtful or not self._paths.replaced(path):
            return None
        return path.pipe.silence()

    def _data(self, path: PipePath, segment: DataSegment, now: float) -> None:
        one = path.pipe.find(segment.begin)
        # What stood has waited for its bytes, and so has what is no ask (any more), or answers an
        # earlier one for the same bytes, perhaps.
        waited = self._stands and (one is None or one.stood or segment.echo < one.clock)
        self._heard(path, segment.echo, segment.end, fin=segment.fin, now=now, measure=not waited)
        if segment.cell:
            self.part()
            carried = path.pipe.rate
            cell_asking.timed(path, segment, now)
            if path.pipe.rate < _FADED * carried and self._paths.replaced(path):
                self._late.faded(path, now)
        if self.apart:
            if path.standing.take_out(segment.begin, segment.end) is not None:
                cell_asking.carried(path, None, segment)
        elif segment.throttled:
            self._senders.limited(path, segment.end, segment.echo, now)
        else:
            self._senders.more(segment.end, path, now)
        before = self._stream.buffer.duplicates
        if not self._stream.accept(segment):
            return
        fresh = len(segment.data) - (self._stream.buffer.duplicates - before)
        path.carried += max(0, fresh - segment.spared)
        if segment.cell and fresh:
            self._cells.append(segment.data)
        lost: list[Ask] = []
        for one in self._stream.answered(path.pipe, segment):
            if segment.cell:
                cell_asking.carried(path, one, segment)
            lost += path.pipe.came(one, segment.echo, now, spared=segment.spared)
            path.copies.discard(one.number)
        lost = [one for one in lost if path.pipe.find(one.begin) is one]
        if lost:
            path.pipe.lose(lost, now)
            self._ask_again(path, lost)

    def _heard(
        self,
        path: PipePath,
        echo: int,
        end: int,
        *,
        fin: bool,
        now: float,
        measure: bool = False,
    ) -> None:
        self._stream.check(end, fin=fin)
        path.pipe.echoed(echo, now, measure=measure)
        self._trust(path)
        if fin:
            self._stream.ends(end)

    def _trust(self, path: PipePath) -> None:
        if path.doubtful:
            path.doubtful = False
            for one in path.pipe.under_way():
                if one.number in path.copies:
                    path.pipe.cancel(one)  # it has told what it was for
            path.copies.clear()

    def __repr__(self) -> str:
        return f"<R2cpEngine {len(self._paths)} pipes, {self.next} bytes here>"
