"""Components of a tree in cells of near paths and far ones: each byte once, messages in turn."""

from __future__ import annotations

import random

import pytest

from hats.disciplines.registry import create
from hats.multiplexer import Multiplexer
from hats.tree.hierarchy import Hierarchy
from scheduling.long_way import LongWay
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget, Outgoing
from transport.stream.cell_filler import CellFiller
from transport.stream.reassembly import Reassembly
from wire import abilities
from wire import messages as m
from wire.frames import Control, Data
from wire.session import Session, Side


class TreeInCells:
    """A remote's outbox, its cells, and the device's side of both."""

    def __init__(
        self, *, accepts: tuple[str, ...] = (abilities.APART,), in_order: bool = False
    ) -> None:
        """`in_order`: frames go so until `part`."""
        self.tree = Hierarchy(root=create("low_fidelity_first"))
        self.remote = Session(Side.REMOTE, agent="far")
        self.device = Session(Side.LOCAL, agent="near", accepts=accepts)
        self.outbox = TreeOutbox(
            *(self.remote, self.tree, Multiplexer(self.tree, quantum=700), Budget(1 << 30)),
            wake=lambda: None,
            far=LongWay(self.tree).choose,
        )
        hello = self.device.next_control()
        assert hello is not None
        self.remote.receive(hello)
        if not in_order:
            self.part()
        self.reassembly = Reassembly()
        self.cells: list[bytes] = []
        self.got: dict[int, bytes] = {}
        self.ends: dict[int, str] = {}

    def open(self, component: int, *marks: int) -> Outgoing:
        """Its head goes right before its first byte."""
        kind = "image" if marks else "text"
        leaf = self.tree.attach(self.tree.root, str(component), kind=kind, order=component)
        self.tree.set_marks(leaf, marks)
        head = m.Head(component, 200, b"")
        return self.outbox.open(component, leaf, preface=((head, [("x-id", str(component))]),))

    def send_in_order(self, frames: int) -> None:
        """As over one path, before there are cells; the device reads it."""
        for _ in range(frames):
            frame = self.outbox.next_frame(now=0.0, urgent=False)
            if frame is not None:
                self._read(frame)

    def part(self) -> None:
        """From now on there are."""
        begun = self.outbox.part()
        while begun is None:
            self.send_in_order(1)
            begun = self.outbox.part()
        self.filler = CellFiller(self.outbox, begun)

    def fill(self, chance: random.Random, most: int = 1 << 30) -> None:
        """Cells, as many as there are."""
        while most:
            most -= 1
            behind = chance.choice([0, 2_000, 8_000])
            ends = chance.random() < 0.5
            cell = self.filler.next_cell(0.0, 1_160, behind=behind, ends=ends)
            if cell is not None:
                self.cells.append(cell)
            elif not behind:
                return

    def hear(self, chance: random.Random) -> None:
        """The device gets what there is, in any order."""
        chance.shuffle(self.cells)
        for cell in self.cells:
            for frame in self.reassembly.feed(cell):
                self._read(frame)
        self.cells.clear()

    def _read(self, frame: Data | Control) -> None:
        if isinstance(frame, Data):
            assert frame.component not in self.ends
            self.got[frame.component] += frame.payload
            if frame.last:
                self.ends[frame.component] = "whole"
            return
        message, headers = self.device.receive(frame.payload)
        if isinstance(message, m.Head):
            assert headers == [("x-id", str(message.component))]
            self.got[message.component] = b""
            self.ends.pop(message.component, None)
        elif isinstance(message, m.Reset):
            self.ends[message.component] = f"cut at {len(self.got[message.component])}"


def test_a_source_that_breaks_off_once_all_has_gone_is_told_of_at_once() -> None:
    """There is a word to say, though no bytes go with it."""
    world, chance = TreeInCells(), random.Random(1)
    outgoing = world.open(2)
    outgoing.write(b"all")
    world.fill(chance)
    outgoing.cut(m.Reset(2, "broke off"))
    cell = world.filler.next_cell(0.0, 1_160)
    assert cell is not None
    world.cells.append(cell)
    world.hear(chance)
    assert world.ends == {2: "cut at 3"}


@pytest.mark.parametrize("seed", range(40))
def test_every_byte_comes_once_whatever_goes_which_way(seed: int) -> None:
    chance = random.Random(seed)
    world = TreeInCells()
    bodies: dict[int, bytes] = {}
    cut: set[int] = set()
    for component in range(2, 30, 2):
        size = chance.choice([0, 1, 900, 12_000])
        marks = (300, 700) if size > 700 and chance.random() < 0.6 else ()
        outgoing = world.open(component, *marks)
        body = bodies[component] = chance.randbytes(size)
        at = chance.randint(0, size)
        outgoing.write(body[:at])
        world.fill(chance, chance.randint(0, 6))
        outgoing.write(body[at:])
        world.fill(chance, chance.randint(0, 6))
        if chance.random() < 0.2:
            outgoing.cut(m.Reset(component, "broke off"))
            cut.add(component)
        else:
            outgoing.finish()
    world.fill(chance)
    world.hear(chance)
    whole = {one: "whole" for one in bodies if one not in cut}
    broken = {one: f"cut at {len(bodies[one])}" for one in cut}
    assert world.got == bodies
    assert world.ends == whole | broken
    assert world.reassembly.held == world.reassembly.open == 0
    assert world.tree.root.backlog == 0


@pytest.mark.parametrize("seed", range(40))
def test_what_has_gone_in_order_in_part_goes_on_in_cells(seed: int) -> None:
    chance = random.Random(seed)
    world = TreeInCells(in_order=True)
    bodies = {one: chance.randbytes(chance.choice([1, 900, 9_000])) for one in range(2, 20, 2)}
    sources = {one: world.open(one) for one in bodies}
    for one, source in sources.items():
        source.write(bodies[one][: chance.randint(0, len(bodies[one]))])
        if source.written == len(bodies[one]) and chance.random() < 0.5:
            source.finish()
        elif source.written and chance.random() < 0.3:
            source.cut(m.Reset(one, "broke off"))
            bodies[one] = bodies[one][: source.written]
    cut = {one for one, source in sources.items() if source.epilogue is not None}
    world.send_in_order(chance.randint(0, 60))
    world.part()
    world.fill(chance, chance.randint(0, 6))
    dropped = {one for one in bodies if not sources[one].closed and chance.random() < 0.2}
    cut -= dropped
    for one, source in sources.items():
        if one in dropped:
            world.outbox.drop(one)
            continue
        if one in cut:
            continue
        source.write(bodies[one][source.written :])
        if chance.random() < 0.2 and source.held:
            source.cut(m.Reset(one, "broke off"))
            cut.add(one)
        else:
            source.finish()
    world.fill(chance)
    world.hear(chance)
    kept = {one: body for one, body in bodies.items() if one not in dropped}
    assert {one: world.got[one] for one in kept} == kept
    expected = {one: f"cut at {len(body)}" if one in cut else "whole" for one, body in kept.items()}
    assert {one: world.ends[one] for one in kept} == expected
    assert not dropped & world.ends.keys()
    assert world.reassembly.held == world.reassembly.open == 0


@pytest.mark.parametrize("seed", range(20))
def test_what_is_asked_for_anew_is_not_mixed_with_what_went_before(seed: int) -> None:
    chance = random.Random(seed)
    world = TreeInCells()
    for turn in range(4):
        outgoing = world.open(2)
        outgoing.write(b"%d" % turn * 9_000)
        world.fill(chance, chance.randint(1, 5))
        if turn < 3:
            world.outbox.drop(2)
    outgoing.finish()
    world.fill(chance)
    world.hear(chance)
    assert world.got == {2: b"3" * 9_000}
    assert world.ends == {2: "whole"}
    assert world.reassembly.held == world.reassembly.open == 0


def test_what_waits_gives_way_in_the_tree_as_it_goes() -> None:
    """A far piece from the middle counts as sent, and the end is said by the frame that has it."""
    world = TreeInCells()
    outgoing = world.open(2)
    outgoing.write(bytes(3_000))
    outgoing.finish()
    far = world.outbox.next_far(now=0.0, most=5_000, behind=1_000)
    assert far[-1] == Data(2, bytes(2_000), True, 1_000)
    assert world.tree.root.backlog == 1_000
    assert world.outbox.next_far(now=0.0, most=5_000, behind=1_000) == []
    near = [*world.outbox.next_near(now=0.0, most=500), *world.outbox.next_near(now=0.0, most=900)]
    assert near == [Data(2, bytes(500), False, 0), Data(2, bytes(500), False, 500)]
    assert outgoing.closed


def test_the_end_of_a_picture_may_go_first_and_says_that_it_is_the_end() -> None:
    world = TreeInCells()
    outgoing = world.open(2, 300, 700, 3_000)
    outgoing.write(bytes(3_000))
    outgoing.finish()
    far = world.outbox.next_far(now=0.0, most=1_000, behind=700, ends=True)
    assert far[-1] == Data(2, bytes(1_000), True, 2_000)
    assert world.outbox.next_far(now=0.0, most=1_000, behind=700, ends=True) == [
        Data(2, bytes(1_000), False, 1_000)
    ]
    assert world.outbox.next_far(now=0.0, most=1_000, behind=1_000, ends=True) == []
    near = [one for _ in range(3) for one in world.outbox.next_near(now=0.0, most=5_000)]
    assert [(one.offset, len(one.payload)) for one in near if isinstance(one, Data)] == [
        (0, 300),
        (300, 400),
        (700, 300),
    ]
    assert outgoing.closed


def test_pieces_are_taken_from_anywhere_once() -> None:
    for seed in range(50):
        chance = random.Random(seed)
        world = TreeInCells()
        outgoing = world.open(2)
        body = chance.randbytes(5_000)
        at = 0
        while at < len(body):
            size = chance.randint(1, 900)
            outgoing.write(body[at : at + size])
            at += size
        found = bytearray(len(body))
        while outgoing.held:
            skip = chance.randint(0, outgoing.held - 1)
            length = chance.randint(1, outgoing.held - skip)
            pieces = outgoing.take_pieces(length, skip=skip)
            assert sum(len(data) for _, data in pieces) == length
            for offset, data in pieces:
                assert not any(found[offset : offset + len(data)])
                found[offset : offset + len(data)] = b"\1" * len(data)
                assert data == body[offset : offset + len(data)]
        assert all(found)


def test_a_device_that_is_older_is_sent_frames_in_order() -> None:
    assert TreeInCells().outbox.apart
    assert not TreeInCells(accepts=()).outbox.apart
