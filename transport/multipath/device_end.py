"""The device's end of a connection over several paths: it decides what comes over which (R2CP).

The engine asks each path's sender for the bytes that it would bring soonest (transport/r2cp/).
What goes up is pushed over the quickest path that answers (uplink.py), and the link's gate decides
how much of it is under way.

Paths join and leave at any time (`join`): each is an SPP connection from one of this device's
interfaces, whose first words name the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from transport.link.connection import Carried, DeliveryReport
from transport.link.interface import LinkError, PathStatistics
from transport.link.quantum import PROTECTED_FRAMES, Chunks
from transport.link.records import ProvenPeer
from transport.multipath.device_path import DevicePath
from transport.multipath.duty import Duty, Fixed, Meter
from transport.multipath.end import MultipathEnd
from transport.multipath.uplink import UplinkSender
from transport.multipath.words import (
    HEADER,
    DroppedWord,
    GivenWord,
    KeptWord,
    LagWord,
    NumberWord,
    SegmentWord,
    StreamWord,
    VoidWord,
)
from transport.multipath.words import encode as encode_word
from transport.r2cp.engine import R2cpEngine
from transport.rcp.segments import DataSegment, Segment, decode, encode
from transport.rcp.settings import LARGEST, RcpSettings
from transport.spp.congestion.bottleneck import BottleneckBased
from transport.spp.congestion.interface import Congestion
from transport.spp.congestion.rate_based import RateBased
from transport.spp.core.settings import Delivered
from transport.spp.edge.link import SppLink
from transport.udp.connection import UNKNOWN, paced
from wire.errors import PeerError

_RECORD: Final = 8
"""Bytes by which the headers of UDP, SPP and a word are more than those of TCP with IP."""
_TELL_EVERY: Final = 0.01
"""Seconds between two looks at what there is to tell of paths."""
_QUIET: Final = 0.2
"""Seconds of silence of a path, while others bring something, after which it is asked whether it is
there; 60 bytes."""
_SAID_TWICE: Final = 2
"""Who says so keeps as much as we have places for (transport/multipath/remote_end.py),"""
_SAID_AGAIN: Final = 3
"""and may be told of a path over another."""
_OVERDUE: Final = 1.0
"""Seconds without any acknowledgement over the quickest of the paths that owe one."""


class DeviceEnd(MultipathEnd):
    """Implements transport.link.connection.Connection."""

    kind = "paths"
    reports = False
    asked = False
    prompt = True
    local_address: str | None = None
    arriving = 0

    def __init__(self, opening: bytes) -> None:
        """`opening`: the first words over each path, which name the connection."""
        super().__init__()
        self._opening = opening
        self._size = RcpSettings().size
        self._engine = R2cpEngine(RcpSettings(largest=LARGEST), stands=True)
        self._paths: dict[int, DevicePath] = {}
        self._gone = 0
        """Bytes that crossed over paths that are no more."""
        self._uplink = UplinkSender()
        self._arrived_at = 0.0
        self._tell_at = 0.0
        """When to look again at what there is to tell of paths,"""
        self._untold = False
        """and whether something has happened since the last look."""
        self._rate = UNKNOWN
        """Bytes/second at which what goes up leaves."""
        self.peer: ProvenPeer | None = None
        self.on_network_change: Callable[[], None] = lambda: None
        """Called when this machine's addresses are not what they were."""
        self.on_close: Callable[[], None] = lambda: None
        """Called once, when it is over."""

    # -- paths -------------------------------------------------------------------------------------

    @property
    def paths(self) -> list[DevicePath]:
        """All that have joined and are not over."""
        return list(self._paths.values())

    @property
    def asked_ahead(self) -> int:
        """Bytes of the stream from the first that was not read to the last that was asked for."""
        return self._engine.asked_ahead

    def statistics(self) -> tuple[PathStatistics, ...]:
        """What each path does, the oldest first."""
        quickest = self._quickest()
        return tuple(
            PathStatistics(
                name=path.name,
                number=path.number,
                carried=self._engine.carried(path.number),
                rate=path.control.rate if isinstance(path.control, BottleneckBased) else 0.0,
                round_trip=self._trip(path),
                answers=not path.mute,
                quickest=path is quickest,
                spare=path.spare,
            )
            for path in self._paths.values()
        )

    def join(
        self,
        link: SppLink,
        *,
        name: str,
        round_trip: float | None,
        congestion: Congestion | None = None,
        meter: Meter | None = None,
    ) -> DevicePath:
        """Another path, whose handshake took so many seconds; None: nobody knows.

        `congestion`: of what comes over it; None: as its bottleneck delivers. `meter`: of what it
        is to carry; None: its share.
        """
        if congestion is None:
            congestion = BottleneckBased(segment=RcpSettings().packet)
        number = self._engine.open(congestion)
        path = DevicePath(name, number, link, congestion, meter or Fixed())
        self._paths[number] = path
        self.peer = link.peer
        link.changed = self._changed
        if isinstance(link.congestion, RateBased):
            link.congestion.on_lost = self._lost
        link.send(self._opening)
        self._engine.established(number, size=self._size, round_trip=round_trip)
        self.wake()
        return path

    def leave(self, path: DevicePath) -> None:
        """Its interface is gone."""
        path.link.end()
        self.wake()

    # -- transport.link.connection.Connection --------------------------------------------------

    @property
    def crossed(self) -> int:
        return self._gone + sum(path.link.crossed for path in self._paths.values())

    @property
    def chunks(self) -> Chunks:
        return Chunks(PROTECTED_FRAMES, _RECORD, self._size)

    async def send(self, data: bytes) -> None:
        self._push(data)
        self.wake()

    def prepare(self, congestion: str | None) -> None:
        """Does nothing: each path has what it was joined with."""

    def start(self, carried: Carried) -> None:
        self._uplink.counts_from = self._uplink.written
        super().start(carried)

    def pace(self, rate: float, *, sure: bool) -> None:
        self._rate = paced(rate, sure=sure)

    def network_changed(self) -> None:
        for path in self.paths:
            if path.link.open:
                path.link.ping()
        self.on_network_change()

    def overdue(self, times: float) -> bool:
        wait = max([_OVERDUE, *(2 * path.link.patience for path in self._paths.values())])
        return self.unanswered() > times * wait

    def unanswered(self) -> float:
        return min((path.link.unanswered() for path in self._paths.values()), default=0.0)

    def ask(self) -> None:
        for path in self.paths:
            if path.link.open and not path.link.unanswered():
                path.link.ping()

    def finish(self, words: bytes) -> None:
        if self._paths:
            self._push(words)
            for path in self.paths:
                path.link.flush()
        self.close()

    def close(self) -> None:
        self._forget()
        self._gone = self.crossed
        paths, self._paths = self._paths, {}
        for path in paths.values():
            self._engine.close(path.number)
            path.link.changed = lambda: None
        for path in paths.values():
            path.link.end()
        self._over()

    def __repr__(self) -> str:
        return f"<DeviceEnd {', '.join(path.name for path in self._paths.values())}>"

    # -- turns -------------------------------------------------------------------------------------

    def _turn(self) -> None:
        now = self._loop.time()
        for path in self.paths:
            if path.number in self._paths:  # what one brings may end them all
                self._take(path, now)
                self._judge(path)
                self._measure(path)
        due = self._engine.next_timer()
        if due is not None and due <= now:
            self._engine.on_timer(now)
        self._heard(self._engine.read())
        self._hear_cells()
        self._request(now)
        self._lose()
        self._give_up()
        self._send(now)

    def _take(self, path: DevicePath, now: float) -> None:
        """What has come over one path, and what of ours has arrived."""
        for payload in path.link.received():
            for word in path.reader.feed(payload):
                match word:
                    case SegmentWord(segment):
                        self._engine.received(path.number, self._whole(segment), now)
                    case KeptWord(ranges):
                        self._engine.kept(path.number, ranges)
                        path.parted += not ranges
                        if path.parted == _SAID_TWICE:
                            self._engine.widen(LARGEST)
                        if path.parted == _SAID_AGAIN and not ranges and path.link.open:
                            path.link.send(encode_word(NumberWord(path.number)))
                            self._engine.will_drop(path.number)
                    case GivenWord(ranges):
                        self._engine.given(path.number, ranges, now)
                    case DroppedWord(clock, ranges):
                        self._engine.dropped(path.number, clock, ranges)
                    case _:
                        raise PeerError("the remote pushes nothing")
        for segment, _ in path.link.segments():
            self._engine.received(path.number, self._whole(segment), now)
        for news in path.link.acked():
            self._engine.crossed(path.number, news.acknowledged_at - news.sent_at, now)
            self._delivered(path, news)

    def _whole(self, encoded: bytes) -> Segment:
        segment = decode(encoded)
        if isinstance(segment, DataSegment) and segment.cell:
            return segment.padded(self._size)
        return segment

    def _hear_cells(self) -> None:
        """What can be read by itself need not wait for what lies before it."""
        if self._carried is None:
            return
        if cells := self._engine.cells():
            if self._apart is None:
                raise PeerError("the remote sends cells unasked")
            self._question()
            self._apart.heard_cells(cells)

    def _question(self) -> None:
        """Others bring something: one that is silent has nothing, or is dead, and what it was given
        for its standing pulls is lost with the word of it. Its answer tells which."""
        for path in self._paths.values():
            quiet = path.link.silent() > max(_QUIET, self._trip(path))
            if quiet and not path.link.unanswered() and self._engine.owed(path.number):
                path.link.ping()

    def _delivered(self, path: DevicePath, news: Delivered) -> None:
        size = sum(self._uplink.arrived(path.number, number) for number in news.sequences)
        in_order = self._uplink.in_order - self._uplink.counts_from
        # Each path has a clock of its own over there: ours, and the way back, is the same for all.
        self._arrived_at = max(self._arrived_at, news.acknowledged_at)
        if size and self._carried is not None and in_order >= 0:
            at = news.sent_at
            self._carried.delivered(DeliveryReport(size, in_order, at, at, self._arrived_at))

    def _lost(self, sent_at: float) -> None:
        """Something that went up is lost, over whichever path."""
        if self._carried is not None:
            self._carried.lost(sent_at)

    def _judge(self, path: DevicePath) -> None:
        """Whether it answers."""
        mute = path.mute
        if mute:
            self._engine.doubt(path.number)  # each time: there may be another by now
        elif path.doubted:
            self._engine.trust(path.number)
        path.doubted = mute

    def _measure(self, path: DevicePath) -> None:
        """What it is to carry from now on."""
        duty = path.meter.duty(self._engine.owed(path.number))
        self._engine.bound(path.number, path.meter.left())
        path.leaving = path.leaving or duty is Duty.NONE
        path.spare = path.leaving or duty is Duty.SPARE
        self._engine.spare(path.number, path.spare)
        if path.leaving and path.link.open:
            self._engine.retire(path.number)
            if not self._engine.owed(path.number):  # what stood over it does no more
                path.link.end()

    def _request(self, now: float) -> None:
        if self._engine.apart:
            self._untold = now < self._tell_at
            if not self._untold:
                self._tell_at = now + _TELL_EVERY
                self._tell()
        for number, segment in self._engine.requests(now):
            link = self._paths[number].link
            if link.open:
                link.send_segment(encode(segment))
        for number, request in self._engine.standing(now):
            link = self._paths[number].link
            if link.open:
                link.send(encode_word(SegmentWord(encode(request))))

    def _tell(self) -> None:
        """How far each path lags behind others."""
        rests = all(self._engine.pipe(number).idle for number in self._paths)
        for path in self._paths.values():
            lag = LagWord(*self._engine.lag(path.number))
            if lag.void != path.lag.void:
                self._tell_others(path, lag.void)
            path.tell(lag, rests=rests)

    def _tell_others(self, path: DevicePath, void: int) -> None:
        """What stood over it others are asked for: a path that is slow, or dead, says so late. Its
        sender would fill cells for it, to be sent over the others as they are."""
        for other in self._paths.values():
            if other is not path and other.parted >= _SAID_AGAIN and other.link.open:
                other.link.send(encode_word(VoidWord(path.number, void)))

    def _lose(self) -> None:
        """Paths that are over; with the last one nothing more crosses."""
        for path in self.paths:
            if path.link.open:
                continue
            del self._paths[path.number]
            self._gone += path.link.crossed
            self._engine.close(path.number)
            self._uplink.give_up(path.number)
            if not self._paths:
                self._fail(path.link.error or LinkError("the connection ended"))
                self._over()
            else:
                self.wake()

    # -- what goes up --------------------------------------------------------------------------

    def _quickest(self) -> DevicePath | None:
        """What answers, and soonest; where none does, whichever did last."""
        paths = [path for path in self._paths.values() if path.link.open]
        return min(
            paths,
            key=lambda path: (path.mute, path.spare, self._trip(path)),
            default=None,
        )

    def _trip(self, path: DevicePath) -> float:
        return self._engine.delay(path.number)

    def _give_up(self) -> None:
        """What a path owes that answers no more is to go over another."""
        quickest = self._quickest()
        if quickest is not None and not quickest.mute:
            for path in self.paths:
                if path is not quickest and path.mute:
                    self._uplink.give_up(path.number)

    def _send(self, now: float) -> None:
        """What is owed, and as many chunks as the gate lets go; as far as the path takes it."""
        due = self._engine.next_timer()
        while (path := self._quickest()) is not None:
            if path.link.room() <= 0:
                due = _first(due, path.link.room_at())
                break
            path.pace(self._rate)
            if (owed := self._uplink.next_again()) is not None:
                self._piece(path, *owed)
            elif self._carried is None:
                break
            elif chunk := self._carried.next_bytes():
                self._push(chunk)
            else:
                due = _first(due, self._carried.next_time() if self._carried else None)
                break
            path.link.flush()
        waits = [path.mute_in for path in self._paths.values()]
        tell = self._tell_at if self._untold else None
        self._call_at(_first(due, tell, *(now + wait for wait in waits if wait)))

    def _push(self, data: bytes) -> None:
        most = self._size - HEADER
        for at in range(0, len(data), most):
            piece = data[at : at + most]
            offset = self._uplink.write(piece)
            path = self._quickest()
            if path is not None:
                self._piece(path, offset, piece)
            else:
                self._uplink.owe(offset)

    def _piece(self, path: DevicePath, offset: int, piece: bytes) -> None:
        number = path.link.send(encode_word(StreamWord(offset, piece)))
        self._uplink.sent(path.number, number, offset)

    def _over(self) -> None:
        on_close, self.on_close = self.on_close, lambda: None
        on_close()


def _first(*times: float | None) -> float | None:
    return min((one for one in times if one is not None), default=None)
