"""Cells in any order, lost and repeated: every body right, what is said in its order."""

from __future__ import annotations

import random

import pytest

from tests.transport.apart_ends import ApartSink, ApartSource
from transport.stream.cell import CellBuilder
from transport.stream.cell_filler import CellFiller
from transport.stream.reassembly import MOST_HELD, Reassembly, joined
from wire.errors import PeerError
from wire.frames import END, Control, Data


def filled(source: ApartSource, chance: random.Random, filler: CellFiller) -> list[bytes]:
    """All that waits, in cells of near paths and far ones."""
    cells = []
    while True:
        behind = chance.choice([0, 0, 2_000, 9_000])
        cell = filler.next_cell(0.0, chance.choice([300, 1_160]), behind=behind)
        if cell is not None:
            cells.append(cell)
        elif not behind:
            return cells


def heard(cells: list[bytes], reassembly: Reassembly, sink: ApartSink) -> int:
    """Feeds them; the most that was held."""
    most = 0
    for cell in cells:
        sink.frames_received(reassembly.feed(cell), now=0.0)
        most = max(most, reassembly.held)
    return most


def test_what_several_cells_bring_of_a_component_is_one_frame() -> None:
    one, two, word = Data(1, b"a"), Data(1, b"b"), Control(b"word")
    last, other, anew = Data(1, b"c", last=True), Data(2, b"x"), Data(1, b"anew")
    assert joined([one, two, last, anew]) == [Data(1, b"abc", last=True), anew]
    assert joined([one, two, other, one]) == [Data(1, b"ab"), other, one]
    assert joined([one, word, two]) == [one, word, two]
    assert joined([]) == []


@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_order_all_comes_once_and_in_its_own(seed: int) -> None:
    chance = random.Random(seed)
    source, sink, reassembly = ApartSource(seed=seed), ApartSink(), Reassembly()
    filler = CellFiller(source)
    cells: list[bytes] = []
    for component in range(1, 12):
        source.open(component, chance.randbytes(chance.choice([0, 1, 500, 6_000]) or 3))
        if chance.random() < 0.3:
            source.say(bytes(chance.randint(1, 4_000)) or b"-")
        if chance.random() < 0.6:
            cells += filled(source, chance, filler)[:]
    cells += filled(source, chance, filler)
    total = sum(map(len, source.bodies.values())) + sum(map(len, source.messages))
    repeated = [*cells, *chance.sample(cells, len(cells) // 3)]
    chance.shuffle(repeated)
    most = heard(repeated, reassembly, sink)
    assert sink.bodies == source.bodies
    assert sink.done == set(source.bodies)
    assert sink.messages == source.messages
    assert reassembly.held == reassembly.open == 0
    assert most < total + 250 * 6 * len(cells)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_dropped_and_begun_anew_is_not_mixed(seed: int) -> None:
    chance = random.Random(seed)
    source, sink, reassembly = ApartSource(seed=seed), ApartSink(), Reassembly()
    filler = CellFiller(source)
    source.open(1, b"old" * 4_000)
    cells = [filler.next_cell(0.0, 1_160) or b"" for _ in range(4)]
    source.drop(1)
    source.open(1, b"new" * 900)
    cells += filled(source, chance, filler)
    chance.shuffle(cells)
    heard(cells, reassembly, sink)
    assert sink.bodies == {1: b"new" * 900}
    assert sink.messages == [b"open 1", b"open 1"]
    assert reassembly.held == reassembly.open == 0


@pytest.mark.parametrize("seed", range(20))
def test_what_was_said_behind_data_is_read_behind_them(seed: int) -> None:
    chance = random.Random(seed)
    source, sink, reassembly = ApartSource(seed=seed), ApartSink(), Reassembly()
    filler = CellFiller(source)
    source.open(1, chance.randbytes(3_000))
    source.bodies[1] += b"never sent"  # so that no frame is the last one
    cells = filled(source, chance, filler)
    source.say(b"it broke off", behind=(1, 3_000))
    source.open(2, bytes(700))
    cells += filled(source, chance, filler)
    chance.shuffle(cells)
    read = 0
    for cell in cells:
        for frame in reassembly.feed(cell):
            if frame == Data(1, getattr(frame, "payload", b""), False):
                read += len(frame.payload)
            if frame.payload == b"it broke off":
                assert read == 3_000
                sink.done.add(1)
    assert sink.done == {1}
    assert reassembly.held == reassembly.open == 0


def test_the_farewell_is_read_whatever_is_missing() -> None:
    filler = CellFiller(ApartSource())
    assert Reassembly().feed(filler.farewell()) == [END]


def test_control_goes_by_the_quickest_path_alone() -> None:
    source = ApartSource()
    filler = CellFiller(source)
    source.say(b"a word")
    assert filler.next_cell(0.0, 1_160, behind=1_000) is None
    cell = filler.next_cell(0.0, 1_160)
    assert cell is not None
    assert b"a word" in cell


def test_a_peer_that_never_says_what_goes_before_is_refused() -> None:
    reassembly = Reassembly()

    def cell(number: int) -> bytes:
        builder = CellBuilder(60_000, number=number, after=5)
        builder.component(1, number * 50_000, bytes(50_000), last=False)
        return builder.cell(5)

    with pytest.raises(PeerError):
        for number in range(1, MOST_HELD // 50_000 + 2):
            assert reassembly.feed(cell(number)) == []
            assert reassembly.held <= MOST_HELD


def test_a_component_has_one_end() -> None:
    def cell(number: int, offset: int, *, last: bool) -> bytes:
        builder = CellBuilder(1_160, number=number, after=0)
        builder.component(1, offset, b"data", last=last)
        return builder.cell(0)

    for other in (cell(2, 4, last=True), cell(2, 12, last=False)):
        reassembly = Reassembly()
        reassembly.feed(cell(1, 8, last=True))
        with pytest.raises(PeerError):
            reassembly.feed(other)


class ToldOutbox:
    """Gives what it was told to, in that order; implements ApartOutbox."""

    quantum = 1024
    apart = True

    def __init__(self) -> None:
        self.said: list[Data | Control] = []
        self.near: list[Data | Control] = []
        self.far: list[Data | Control] = []

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        return None

    def part(self) -> list[tuple[int, int]] | None:
        return []

    def next_said(self, *, now: float) -> list[Data | Control]:
        said, self.said = self.said, []
        return said

    def next_near(self, *, now: float, most: int) -> list[Data | Control]:
        near, self.near = self.near, []
        return near

    def next_far(
        self, *, now: float, most: int, behind: int, ends: bool = False
    ) -> list[Data | Control]:
        far, self.far = self.far, []
        return far

    def dropped(self) -> list[int]:
        return []


def test_no_cell_waits_for_a_message_that_waits_for_it() -> None:
    """Two messages are to be read behind data, and what they lie between is to share a cell."""
    outbox, reassembly = ToldOutbox(), Reassembly()
    filler = CellFiller(outbox)
    outbox.said = [Control(b"open 1"), Control(b"open 2")]
    outbox.near = [Data(1, b"a" * 400, False, 0)]
    cells = [filler.next_cell(0.0, 300)]  # the rest is chosen, and in no cell
    outbox.said = [Control(b"first", behind=(1, 400))]
    outbox.far = [Data(2, b"b" * 100, False, 0), Data(2, b"b" * 100, False, 300)]
    cells.append(filler.next_cell(0.0, 150, behind=1_000))  # so is the second piece
    outbox.said = [Control(b"second", behind=(2, 100))]
    while (cell := filler.next_cell(0.0, 1_160)) is not None:
        cells.append(cell)
    found = [frame for cell in cells if cell is not None for frame in reassembly.feed(cell)]
    words = [frame.payload for frame in found if isinstance(frame, Control)]
    assert words == [b"open 1", b"open 2", b"first", b"second"]
    assert sum(len(frame.payload) for frame in found if isinstance(frame, Data)) == 500
