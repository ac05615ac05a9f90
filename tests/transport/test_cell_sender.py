"""Cells at their sender: filled when they go, kept until then, sent again as they were."""

from __future__ import annotations

from collections import deque

import pytest

from transport.multipath.cell_sender import CellSender
from transport.multipath.late_content import LateStream
from transport.multipath.path_probe import PathProbe
from transport.multipath.words import DroppedWord, GivenWord, KeptWord, LagWord
from transport.rcp.pending import ByteRange
from transport.rcp.segments import Block, DataSegment, Req
from transport.stream.cell import decode
from wire.errors import PeerError

SIZE = 1_000
Said = DataSegment | KeptWord | GivenWord


class Tickets:
    """A stream of cells, and what there is to put into them."""

    def __init__(self, *, cells: int = 40) -> None:
        self.now = 5.0
        self.near: deque[bytes] = deque()
        self.far: deque[bytes] = deque()
        self.stream = LateStream(capacity=cells * SIZE, size=SIZE, clock=lambda: self.now)
        self.stream.ordered.write(bytes(SIZE))
        self.stream.part()
        self.stream.choose = self._choose

    def _choose(self, place: int, behind: int, *, ends: bool) -> bytes | None:
        waiting = self.far if behind else self.near
        return waiting.popleft() if waiting else None


def pull(clock: int, *cells: int, deq: int = 0) -> Req:
    blocks = tuple(Block(clock, one * SIZE, (one + 1) * SIZE) for one in cells)
    return Req(clock, deq * SIZE, deq * SIZE, True, blocks)


def ranges(*cells: int) -> tuple[ByteRange, ...]:
    return tuple(ByteRange(one * SIZE, (one + 1) * SIZE) for one in cells)


def shown(said: list[Said]) -> list[tuple[int, bytes] | KeptWord | GivenWord]:
    return [
        (one.begin // SIZE, one.data.rstrip(b"\0")) if isinstance(one, DataSegment) else one
        for one in said
    ]


def test_a_cell_is_filled_when_its_own_path_is_answered() -> None:
    """The long path was asked for the first cells, and answers last."""
    world = Tickets()
    world.near.extend([b"urgent", b"more"])
    world.far.append(b"late")
    quick, slow = CellSender(world.stream), CellSender(world.stream)
    slow.lags(LagWord(3 * SIZE, 0, 0, 0))
    assert shown(quick.received(pull(0, 3, 5), 0.0)) == [
        (3, b"urgent"),
        (5, b"more"),
    ]
    assert shown(slow.received(pull(0, 1), 0.0)) == [(1, b"late")]


def test_what_there_is_nothing_for_is_kept_and_goes_as_soon_as_there_is() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    assert sender.received(pull(0, 1, 2), 0.0) == [
        KeptWord((ByteRange(SIZE, 3 * SIZE),)),
    ]
    assert sender.give(0.1) == []
    world.near.append(b"news")
    assert shown(sender.give(0.2)) == [
        GivenWord((ByteRange(SIZE, 3 * SIZE),)),
        (1, b"news"),
        KeptWord(ranges(2)),
    ]
    assert sender.kept == 1


def test_a_word_is_said_for_several_cells_and_for_none_that_only_waits_its_turn() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    sender.lags(LagWord(0, 100 * SIZE, 0, 0))
    sender.received(pull(0, 1, 2, 3, 4, 5, 6, 7), 0.0)
    world.near.extend([b"x"] * 9)
    said = sender.give(1.0)
    while sender.due is not None:
        said += sender.give(sender.due)
    said += sender.received(pull(1, 8, 9), sender.due or 1.0)
    words = [one for one in said if not isinstance(one, DataSegment)]
    assert words == [GivenWord((ByteRange(SIZE, 8 * SIZE),))]


def test_a_cell_that_was_filled_is_the_same_over_whichever_path() -> None:
    world = Tickets()
    world.near.append(b"once")
    quick, slow = CellSender(world.stream), CellSender(world.stream)
    quick.received(pull(0, 1), 0.0)
    assert shown(slow.received(pull(0, 1), 0.0)) == [(1, b"once")]
    assert shown(quick.received(pull(1, 1), 0.0)) == [(1, b"once")]


def filled(said: list[Said]) -> int:
    return sum(isinstance(one, DataSegment) for one in said)


def standing(world: Tickets, cells: int, *, rate: int) -> CellSender:
    """A path of which so many cells stand, and then there is something for more."""
    sender = CellSender(world.stream)
    sender.lags(LagWord(0, rate, 0, 0))
    sender.received(pull(0, *range(1, cells + 1)), 0.0)
    world.near.extend([b"x"] * 2 * cells)
    return sender


def test_of_what_stood_a_path_is_given_little_more_than_it_carries() -> None:
    world = Tickets()
    sender = standing(world, 7, rate=100 * SIZE)
    at = [0.0] * filled(sender.give(0.0))
    while sender.due is not None:
        now = sender.due
        at += [now] * filled(sender.give(now))
    assert len(at) == 7
    assert at[:2] == [0.0, 0.0]
    assert at[-1] == pytest.approx(4 / 125, abs=1 / 100)


def test_what_is_asked_for_while_there_is_something_waits_for_no_pace() -> None:
    """Requests come as fast as the path brings: who held them back as well would carry less, be
    thought to carry less, and hold back more."""
    world = Tickets()
    sender = standing(world, 3, rate=100 * SIZE)
    while sender.kept:
        sender.give(sender.due or 0.0)
    assert filled(sender.received(pull(1, 4, 5, 6), 1.0)) == 3
    world.near.clear()
    sender.received(pull(2, *range(7, 13)), 1.0)
    world.near.extend([b"x"] * 6)
    assert filled(sender.give(1.0)) == 3, "these stood again"


def test_a_turn_that_comes_late_makes_up_for_it() -> None:
    """A fast path carries many cells while its process waits for a processor."""
    world = Tickets()
    sender = standing(world, 20, rate=1_000 * SIZE)
    assert filled(sender.give(0.0)) == 3
    assert filled(sender.give(0.008)) == pytest.approx(0.008 * 1_250, abs=1)


def test_what_was_asked_of_others_since_is_kept_no_more() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    sender.received(pull(0, 1), 0.0)
    sender.received(pull(4, 2), 0.0)
    sender.lags(LagWord(0, 0, 0, 4))
    world.near.extend([b"x", b"y"])
    assert shown(sender.give(0.0)) == [GivenWord(ranges(2)), (2, b"x")]
    assert sender.kept == 0
    assert sender.received(Req(5, 0, 0, True, (Block(3, SIZE, 2 * SIZE),)), 0.0) == []


def test_a_request_that_was_overtaken_says_nothing_new() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    sender.received(pull(3, 1), 0.0)
    assert sender.received(pull(2, 2), 0.0) == []
    assert sender.kept == 1


def test_gaps_are_settled_once_nothing_more_goes() -> None:
    """An empty cell takes the place of what a long path had nothing for."""
    world = Tickets()
    quick, slow = CellSender(world.stream), CellSender(world.stream)
    slow.lags(LagWord(SIZE, 0, 0, 0))
    slow.received(pull(0, 1), 0.0)
    world.near.append(b"all")
    quick.received(pull(0, 2), 0.0)
    assert slow.give(5.5) == []
    assert slow.due == 6.0
    world.now = 6.0
    assert shown(slow.give(6.0)) == [GivenWord(ranges(1)), (1, b"")]
    world.stream.purge(3 * SIZE)
    assert world.stream.settled == [5.0], "of the cell that had something"


def test_no_more_is_kept_or_filled_than_the_receiver_may_lack() -> None:
    world = Tickets()
    world.near.extend([b"x"] * 100)
    sender = CellSender(world.stream)
    end = 1 << 50
    sender.received(Req(0, 0, 0, True, (Block(0, 0, end),)), 0.0)
    assert world.stream.top == 40 * SIZE
    with pytest.raises(PeerError):
        world.stream.purge(41 * SIZE)


@pytest.mark.parametrize(("others", "behind"), [(0, SIZE), (8 * SIZE, 17 * SIZE)])
def test_a_slow_paths_next_cell_is_chosen_for_when_it_will_be_there(
    others: int, behind: int
) -> None:
    """The first takes the path two seconds, in which others bring much of what waits."""
    world, asked = Tickets(), list[int]()

    def choose(place: int, behind: int, *, ends: bool) -> bytes:
        asked.append(behind)
        return b"x"

    sender = CellSender(world.stream)
    sender.lags(LagWord(SIZE, SIZE // 2, others, 0))
    sender.received(pull(0, 1, 2), 0.0)
    world.stream.choose = choose
    assert filled(sender.give(1.0)) == 2
    assert asked == [SIZE, pytest.approx(behind)]


def test_a_quick_paths_next_cell_is_chosen_for_now() -> None:
    world, asked = Tickets(), list[int]()

    def choose(place: int, behind: int, *, ends: bool) -> bytes:
        asked.append(behind)
        return b"x"

    sender = CellSender(world.stream)
    sender.lags(LagWord(SIZE, 100 * SIZE, 8 * SIZE, 0))
    sender.received(pull(0, 1, 2), 0.0)
    world.stream.choose = choose
    assert filled(sender.give(1.0)) == 2
    assert asked == [SIZE, SIZE]


@pytest.mark.parametrize(
    ("rate", "others", "may"), [(0, 0, False), (8, 2, False), (9, 2, True), (9, 3, False)]
)
def test_the_ends_of_components_go_over_a_path_that_carries_most(
    rate: int, others: int, *, may: bool
) -> None:
    """With less of a difference, half of a page would wait for a fade of this path."""
    world, asked = Tickets(), list[bool]()

    def choose(place: int, behind: int, *, ends: bool) -> bytes:
        asked.append(ends)
        return b"x"

    sender = CellSender(world.stream)
    sender.lags(LagWord(SIZE, rate * SIZE, others * SIZE, 0))
    sender.received(pull(0, 1), 0.0)
    world.stream.choose = choose
    assert filled(sender.give(1.0)) == 1
    assert asked == [may]


def test_as_much_is_kept_as_the_receiver_has_places_for_and_has_taken_in() -> None:
    """Who only asks has us keep no more."""
    world = Tickets()
    stream = world.stream
    stream.widen(1 << 40)
    assert list(stream.begins(0, 1 << 40))[-1] == 39 * SIZE
    for place in range(1, 40):
        world.near.append(b"x")
        assert stream.fill(place * SIZE, 0)
    stream.purge(40 * SIZE)
    stream.widen(30 * SIZE)
    assert list(stream.begins(0, 1 << 40))[-1] == (40 + 59) * SIZE
    stream.widen(1 << 40)
    assert list(stream.begins(0, 1 << 40))[-1] == (40 + 79) * SIZE
    stream.widen(0)
    assert list(stream.begins(0, 1 << 40))[-1] == (40 + 79) * SIZE


def padded(said: list[Said]) -> list[int]:
    """Bytes of cells in which there is nothing, each as long as what it takes of its path."""
    return [
        len(one.data.rstrip(b"\0"))
        for one in said
        if isinstance(one, DataSegment) and not decode(one.data).pieces
    ]


def test_a_path_of_which_nothing_is_known_is_padded_while_there_is_nothing_else() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    sender.probe = PathProbe()
    assert padded(sender.received(pull(0, *range(1, 11)), 0.0)) == [500] * 4
    assert sender.kept == 6
    assert padded(sender.received(pull(1, 11, 12, 13, 14), 0.1)) == []
    assert sender.due == pytest.approx(0.15)
    world.near.append(b"text")
    assert (5, b"text") in shown(sender.give(0.15)), "and what there is goes first"
    assert padded(sender.received(pull(2, 15), 0.3)) == [500] * 8


def test_a_path_that_is_known_is_padded_no_more() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    sender.probe = PathProbe()
    sender.lags(LagWord(0, 48_000, 0, 0))
    said = sender.received(pull(0, *range(1, 11)), 0.0)
    assert said == [KeptWord((ByteRange(SIZE, 11 * SIZE),))]


def test_what_is_lost_of_padding_is_sent_as_it_was() -> None:
    world = Tickets()
    sender = CellSender(world.stream)
    sender.probe = PathProbe()
    sender.received(pull(0, *range(1, 11)), 0.0)
    assert padded(sender.received(pull(1, 1), 1.0)) == [500]
    assert sender.kept == 6


def both_keep(*cells: int) -> tuple[Tickets, CellSender, CellSender]:
    """A quick and a slow path, with both of which these cells stand."""
    world = Tickets()
    quick, slow = CellSender(world.stream), CellSender(world.stream)
    slow.lags(LagWord(10 * SIZE, 0, 0, 0))
    for sender in (slow, quick):
        sender.received(pull(0, *cells), 0.0)
    return world, quick, slow


def doubled() -> tuple[Tickets, CellSender, CellSender]:
    """The same, and the quick one has been given the first."""
    world, quick, slow = both_keep(1, 2, 3)
    world.near.append(b"text")
    assert (1, b"text") in shown(quick.give(1.0))
    return world, quick, slow


def test_what_a_quicker_path_was_given_goes_over_a_slow_one_only_if_it_does_not_come() -> None:
    """Late here, it was asked for there: a fade would have brought nothing but copies."""
    _, _, slow = doubled()
    assert slow.give(1.0) == []
    assert slow.due == 2.0
    assert shown(slow.give(2.0)) == [GivenWord(ranges(1)), (1, b"text")]
    assert slow.kept == 2


def test_a_copy_that_would_take_long_waits_for_longer() -> None:
    _, _, slow = doubled()
    slow.lags(LagWord(10 * SIZE, 400, 0, 0))
    assert slow.give(1.0) == []
    assert slow.due == 1.0 + 10 * SIZE / 400


def test_of_what_has_come_by_another_path_nobody_waits_for_a_copy() -> None:
    world, _, slow = doubled()
    slow.give(1.0)
    world.stream.purge(2 * SIZE)
    assert shown(slow.give(1.1)) == [GivenWord(ranges(1)), (1, b"")]
    assert slow.due is None


def test_what_has_come_is_looked_for_from_time_to_time() -> None:
    """There may be as many as are kept, and each request says that more has come."""
    world, quick, slow = doubled()
    world.near.append(b"more")
    quick.give(1.0)
    slow.give(1.0)
    world.stream.purge(2 * SIZE)
    assert shown(slow.give(1.1)) == [GivenWord(ranges(1)), (1, b"")]
    world.stream.purge(3 * SIZE)
    assert slow.give(1.101) == []
    assert slow.due == pytest.approx(1.11)
    assert shown(slow.give(1.11)) == [GivenWord(ranges(2)), (2, b"")]


def test_a_quicker_path_brings_at_once_what_a_slow_one_was_given() -> None:
    world, quick, slow = both_keep(1, 2)
    world.far.append(b"late")
    assert (1, b"late") in shown(slow.give(1.0))
    assert (1, b"late") in shown(quick.give(1.0))


def test_what_is_asked_for_again_goes_at_once_though_another_path_was_given_it() -> None:
    _, _, slow = doubled()
    slow.give(1.0)
    assert shown(slow.received(pull(1, 1), 1.2)) == [(1, b"text")]
    assert shown(slow.give(5.0)) == []


def test_what_is_kept_no_more_and_was_taken_for_sent_is_told() -> None:
    """As the turn of what is given waits for its pace, and the path fades."""
    world = Tickets()
    sender = standing(world, 6, rate=10 * SIZE)
    assert filled(sender.give(5.0)) < 6
    left = sender.lags(LagWord(0, SIZE, 0, 1))
    assert sender.kept == 0
    assert left == [KeptWord((ByteRange(4 * SIZE, 7 * SIZE),))]


def test_what_a_path_drops_is_told_to_who_knows_the_word_and_what_it_keeps_anew() -> None:
    """The receiver can't tell words of before from those of what it has asked for since."""
    world = Tickets()
    sender = CellSender(world.stream)
    sender.may_drop = True
    kept = KeptWord((ByteRange(SIZE, 3 * SIZE),))
    assert shown(sender.received(pull(0, 1, 2), 0.0)) == [kept]
    assert shown(sender.received(pull(4, 3), 0.0)) == [KeptWord(ranges(3))]
    assert sender.voids(4) == [DroppedWord(4, (ByteRange(SIZE, 3 * SIZE),))]
    assert sender.voids(4) == sender.lags(LagWord(0, 0, 0, 3)) == []
    assert sender.give(0.1) == [KeptWord(ranges(3))]
    assert sender.give(0.2) == []
    world.near.append(b"x")
    assert shown(sender.give(0.3)) == [GivenWord(ranges(3)), (3, b"x")]


def test_a_path_that_others_have_left_is_given_no_more_than_its_queue_holds() -> None:
    """Faster than it carries, so that a better one shows, and no longer than half a second's
    worth."""
    world = Tickets(cells=400)
    sender = standing(world, 300, rate=50 * SIZE)
    given, now = 0, 0.0
    while now < 5.0:
        given += filled(sender.give(now))
        now += 0.01
    assert given > 2.0 * 50 * 1.25
    assert given <= 5.0 * 50 + 0.5 * 50 + 3
