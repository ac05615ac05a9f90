"""Tests what each pipe asks for: nothing that others bring sooner, whole cells, as it may."""

from __future__ import annotations

import pytest

from transport.r2cp.path import PathTable, PipePath
from transport.r2cp.requests import R2cpRequests
from transport.rcp.pending import ByteRange
from transport.rcp.pipe_requests import PipeRequests
from transport.rcp.received_stream import ReceivedStream
from transport.rcp.segments import Req
from transport.rcp.settings import RcpSettings
from transport.spp.congestion.new_reno import NewReno

SIZE = 1_000
QUICK, SLOW = 0, 1


class Asked:
    """Two paths of 50 and 500 ms to senders of one stream."""

    def __init__(self, *, buffer: int = 256 * SIZE, stands: bool = False) -> None:
        settings = RcpSettings(size=SIZE, buffer=buffer)
        self.paths = PathTable()
        self.stream = ReceivedStream(buffer, lambda: [path.pipe for path in self.paths.values()])
        self.requests = R2cpRequests(self.paths, self.stream, ranked=True, stands=stands)
        for number, round_trip in ((QUICK, 0.05), (SLOW, 0.5)):
            path = PipePath(PipeRequests(settings, None))
            path.asking.begin(size=SIZE, round_trip=round_trip)
            path.established = True
            self.paths[number] = path

    def made(self, number: int, now: float) -> list[Req]:
        return list(self.requests.made(number, self.paths[number], now))

    def ranges(self, number: int, now: float = 1.0) -> list[ByteRange]:
        """What one path asks for now, one range for each that is new."""
        asked = self.paths[number].pipe
        before = {one.number for one in asked.under_way()}
        self.made(number, now)
        return [ByteRange(o.begin, o.end) for o in asked.under_way() if o.number not in before]


def begins(ranges: list[ByteRange]) -> list[int]:
    return [one.begin // SIZE for one in ranges]


def test_a_long_path_asks_for_what_the_quick_one_would_bring_no_sooner() -> None:
    asked = Asked()
    quick = begins(asked.ranges(QUICK))
    slow = begins(asked.ranges(SLOW))
    assert quick == list(range(len(quick)))
    # Until 1.5 the quick one can ask for its window nine times more.
    assert slow[0] >= len(quick) * 9


def test_a_window_is_asked_for_once() -> None:
    asked = Asked()
    assert asked.made(QUICK, 1.0)
    assert asked.made(QUICK, 1.0) == []


def test_cells_are_asked_for_whole_and_none_is_left_to_others() -> None:
    asked = Asked(buffer=15 * SIZE + 300)
    asked.requests.apart = True
    quick, slow = asked.ranges(QUICK), asked.ranges(SLOW)
    assert begins(slow)[0] == begins(quick)[-1] + 1
    assert all(one.end - one.begin == SIZE for one in quick + slow)
    assert slow[-1].end <= 15 * SIZE


def fat(asked: Asked, *, quick: float) -> None:
    """The stream has no order, the slow path's window no end; the quick one carries so many
    bytes/second."""
    asked.requests.apart = True
    asked.paths[QUICK].train.rate = quick
    control = NewReno(segment=SIZE)
    control.window = 10_000.0 * SIZE
    asked.paths[SLOW].pipe.congestion = control


def test_a_long_path_leaves_places_for_what_a_quick_one_brings_before_its_own_cells_are_here() -> (
    None
):
    """Else the quick one could ask for nothing until these have come."""
    asked = Asked(buffer=1_000 * SIZE)
    fat(asked, quick=200_000.0)
    slow = asked.ranges(SLOW)
    assert asked.requests.active == {SLOW}, "a larger buffer would hold more"
    assert 800 <= len(slow) <= 900
    assert asked.ranges(QUICK)[0].begin == slow[-1].end


@pytest.mark.parametrize("without", ["doubtful", "spare", "retired", "left"])
def test_no_places_are_left_to_a_quick_path_that_is_asked_for_nothing(without: str) -> None:
    asked = Asked(buffer=1_000 * SIZE)
    fat(asked, quick=200_000.0)
    setattr(asked.paths[QUICK], without, 0 if without == "left" else True)
    assert len(begins(asked.ranges(SLOW))) >= 930


def test_a_long_path_may_owe_an_eighth_of_the_buffer_whatever_the_quick_one_brings() -> None:
    asked = Asked(buffer=80 * SIZE)
    fat(asked, quick=10_000_000.0)
    assert len(begins(asked.ranges(SLOW))) == 10


def test_a_pipe_for_which_the_buffer_has_no_place_is_active_until_it_has() -> None:
    asked = Asked(buffer=2 * SIZE)
    assert len(asked.ranges(QUICK)) == 2
    assert asked.requests.active == {QUICK}
    assert asked.ranges(SLOW) == []
    assert asked.requests.active == {QUICK, SLOW}


def test_a_spare_path_and_one_that_has_been_retired_ask_for_nothing() -> None:
    asked = Asked()
    asked.paths[QUICK].spare = True
    assert asked.ranges(QUICK) == []
    asked.paths[SLOW].retired = True
    assert asked.ranges(SLOW) == []
    assert asked.ranges(QUICK)


def test_a_doubtful_path_is_asked_for_one_copy_of_what_others_bring() -> None:
    asked = Asked()
    quick = asked.ranges(QUICK)
    asked.paths[SLOW].doubtful = True
    assert asked.ranges(SLOW) == quick[:1]
    assert asked.made(SLOW, 1.1) == []


def test_what_is_not_there_yet_stands_with_the_quickest_path_s_sender() -> None:
    asked = Asked(stands=True)
    path = asked.paths[QUICK]
    assert asked.requests.standing(0, 1.0) == [], "the sender has not said that it has no more"
    path.limit = 0
    asked.paths[SLOW].limit = 0
    [(number, request)] = asked.requests.standing(0, 1.0)
    assert number == QUICK
    assert path.standing.size == path.asking.window == sum(b.end - b.begin for b in request.blocks)
    assert asked.requests.standing(0, 1.1) == [], "it stands"


def test_a_path_that_may_carry_less_than_a_segment_is_asked_for_nothing() -> None:
    asked = Asked()
    asked.paths[QUICK].left = SIZE // 2
    assert asked.ranges(QUICK) == []


def owing(cells: int, *, kept: int = 0) -> list[int]:
    """New cells that the quick path asks for, of 20 KB/s, where so many must be asked for again and
    its window is taken; `kept`: as many stand with its sender already."""
    asked = Asked()
    asked.requests.apart = True
    path = asked.paths[QUICK]
    path.train.rate = 20.0 * SIZE
    asked.stream.pending.take_new(100 * SIZE)
    asked.stream.pending.put_back(0, cells * SIZE)
    if kept:
        path.standing.add(90 * SIZE, (90 + kept) * SIZE, since=0.0)
    found = [one for turn in range(3) for one in begins(asked.ranges(QUICK, 1.0 + turn / 1_000))]
    return [place for place in found if place >= 100]


def test_new_cells_are_asked_for_beside_much_that_must_be_asked_for_again() -> None:
    """These have their bytes, pictures' perhaps: text that had not gone yet waited for them all."""
    assert owing(30) == [100, 101]
    assert owing(19) == []
    assert owing(30, kept=2) == []
