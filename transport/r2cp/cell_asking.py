"""Keeps account of the cells that one path was asked for, of a stream without order. Pure.

Of such a stream each request is a standing pull: a sender keeps it until it has something for its
path (transport/multipath/cell_sender.py), and which bytes a cell has is decided then. So a path is
asked for any cells, as many as its window holds, those that stand included; none is left to others,
and no sender says how much there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from transport.r2cp.path import PipePath
from transport.rcp.pending import ByteRange
from transport.rcp.pipe import Ask
from transport.rcp.segments import DataSegment
from transport.spp.congestion.bottleneck import BottleneckBased


class Lag(NamedTuple):
    """How far a path lags behind others."""

    behind: int
    """Bytes that these will have been given, and brought, by the time that what it is given now is
    here: what they carry, for as long as it takes longer."""
    rate: int
    """Bytes/second that it carries, 0: not known;"""
    others: int
    """and these."""
    void: int
    """What its requests before that one (by its clock) asked for need not be kept."""


def kept(path: PipePath, ranges: Iterable[ByteRange]) -> list[Ask]:
    """Its sender has nothing for these yet: they are neither under way nor lost. Those that were
    taken for late another was asked for. Returns those that it keeps no more, for it was told that
    others are asked for them."""
    left: list[Ask] = []
    for begin, end in _cells(path, ranges):
        one = path.pipe.find(begin)
        if one is None or one.end != end:
            continue
        path.pipe.cancel(one)
        since = min(one.at, one.stood_since)
        if one.number in path.copies:
            path.copies.discard(one.number)
        elif since <= path.void_at:
            left.append(one)
        else:
            path.standing.add(begin, end, since=since)
    return left


def dropped(path: PipePath, clock: int, ranges: Iterable[ByteRange]) -> list[Ask]:
    """Its sender keeps these no more, for which requests before that clock had asked. Returns those
    that nobody else was asked for."""
    left: list[Ask] = []
    for begin, end in _cells(path, ranges):
        one = path.pipe.find(begin)
        if one is None or one.end != end or one.stood or one.clock >= clock:
            continue  # what the path was asked for since
        path.pipe.cancel(one)
        if one.number in path.copies:
            path.copies.discard(one.number)
        else:
            left.append(one)
    return left


def given(path: PipePath, ranges: Iterable[ByteRange], now: float) -> None:
    """They stood, and are under way."""
    for begin, end in _cells(path, ranges):
        since = path.standing.take_out(begin, end)
        if since is not None:
            one = ByteRange(begin, end)
            path.asking.ask((one,), pulled=True, now=now, kept=True, stood_since=since)


def carried(path: PipePath, one: Ask | None, segment: DataSegment) -> None:
    """A cell has come that stood, or stands as far as is known: of it too the path tells what it
    carries, though not how long that took."""
    control = path.pipe.congestion
    if isinstance(control, BottleneckBased) and (one is None or one.waited(segment.echo)):
        control.arrived(path.asking.packet - segment.spared)  # as what was asked for is counted


def timed(path: PipePath, segment: DataSegment, now: float) -> None:
    """A cell has come, which says when it was sent."""
    packet, control = path.asking.packet, path.pipe.congestion
    size, asked = packet - segment.spared, path.asking.window / path.pipe.round_trip.smoothed
    path.train.came(size, sent=segment.sent, now=now, asked=asked)
    carries = path.train.rate
    path.pipe.carries(carries, now)
    if isinstance(control, BottleneckBased) and carries:
        control.carries(carries, trip=path.pipe.round_trip.least + packet / carries)


def lag(path: PipePath, others: Iterable[PipePath]) -> Lag:
    """How far it lags behind these."""
    there, own = list(others), _way(path)
    sooner = sum(rate(other) * max(0.0, own - _way(other)) for other in there)
    size, control = path.asking.size, path.pipe.congestion
    found = control.found if isinstance(control, BottleneckBased) else 0.0
    return Lag(
        int(sooner) // size * size,
        int(path.train.rate or found),
        int(sum(map(rate, there))),
        path.void,
    )


def _cells(path: PipePath, ranges: Iterable[ByteRange]) -> Iterable[ByteRange]:
    size = path.asking.size
    for first, last in ranges:
        for begin in range(first, last, size):
            yield ByteRange(begin, begin + size)


def _way(path: PipePath) -> float:
    """Seconds from there to here: half of the least round trip, the queue, which is of data, and
    the cell's own."""
    return path.delay - path.pipe.round_trip.least / 2


def rate(path: PipePath) -> float:
    """Bytes/second that it carries, as far as is known. Before a search has ended that is a window
    a round trip at least: what comes while little is asked for says nothing."""
    control, least = path.pipe.congestion, path.asking.window / path.pipe.round_trip.smoothed
    if not isinstance(control, BottleneckBased):
        return path.train.rate or least
    return path.train.rate or control.found or max(control.rate, least)
