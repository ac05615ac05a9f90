"""A connection leaves some of its stream unreported: that goes again, cells in places and all."""

from __future__ import annotations

import pytest

from transport.stream.retained import Retained
from wire.errors import PeerError
from wire.frames import CellFrame, FrameReader

WORD = b"\x42" + bytes(9)


def parted() -> Retained:
    """Has sent 10 bytes in order, the word, and three cells of 100 bytes: the second was filled
    with nothing, and the third before the first."""
    retained = Retained()
    retained.add(b"in order".ljust(10))
    retained.part(WORD)
    retained.place(200, 100, b"third")
    retained.place(0, 100, b"first")
    return retained


def again(retained: Retained) -> list[bytes]:
    pieces = []
    while retained.replaying:
        pieces.append(retained.next_again())
    return pieces


def cells(pieces: list[bytes]) -> list[bytes]:
    frames = FrameReader().feed(b"".join(pieces))
    return [frame.cell for frame in frames if isinstance(frame, CellFrame)]


def test_cells_go_again_in_the_order_of_filling() -> None:
    retained = parted()
    assert retained.end == 320
    assert retained.rewind(20) > 0
    assert not retained.parted
    assert cells(again(retained)) == [b"third", b"first"]


def test_those_that_came_without_a_gap_do_not() -> None:
    retained = parted()
    retained.reported(120)
    retained.rewind(220)
    assert cells(again(retained)) == [b"third"]
    retained = parted()
    retained.rewind(320)
    assert again(retained) == []


def test_a_report_inside_a_cell_settles_those_before() -> None:
    retained = parted()
    retained.reported(150)
    retained.rewind(160)
    assert cells(again(retained)) == [b"third"]


def test_the_word_holds_for_its_connection_alone() -> None:
    for received in (10, 11, 15):
        retained = parted()
        retained.rewind(received)
        assert cells(again(retained)) == [b"third", b"first"]
    retained = parted()
    retained.rewind(4)
    assert again(retained)[0] == b"rder  "


def test_a_stream_that_went_again_breaks_again() -> None:
    retained = parted()
    size = retained.rewind(20)
    first = retained.next_again()
    assert retained.end == 20 + size
    retained.rewind(20 + len(first))
    assert cells(again(retained)) == [b"first"]
    retained.part(WORD)
    retained.place(0, 100, b"anew")
    retained.rewind(20 + size + len(WORD))
    assert cells(again(retained)) == [b"anew"]


def test_more_than_was_sent_has_not_come() -> None:
    with pytest.raises(PeerError):
        parted().rewind(321)


def test_a_cell_that_says_nothing_has_a_place_and_does_not_go_again() -> None:
    """Padding of a path (transport/multipath/path_probe.py)."""
    retained = parted()
    retained.pass_over(300, 100)
    assert retained.end == 420
    retained.reported(420)
    assert retained.rewind(420) == 0
    assert again(retained) == []
    retained = parted()
    retained.pass_over(300, 100)
    retained.rewind(20)
    assert cells(again(retained)) == [b"third", b"first"]
