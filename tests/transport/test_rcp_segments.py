"""RCP's segments: each has one form, nothing but it is read, and requests cost little."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.rcp.segments import (
    LARGEST_OFFSET,
    LARGEST_SEGMENT,
    LEAST_SEGMENT,
    MOST_BLOCKS,
    MOST_SENT,
    Block,
    DataSegment,
    Fin,
    HandshakeAck,
    Limit,
    Req,
    Role,
    Segment,
    Syn,
    SynAck,
    decode,
    encode,
    length,
)
from transport.rcp.settings import RcpSettings
from wire.errors import LocalError, PeerError

OFFSETS = st.integers(0, 1 << 50)
SIZES = st.integers(LEAST_SEGMENT, LARGEST_SEGMENT)


@st.composite
def requests(draw: st.DrawFn) -> Req:
    clock, deq = draw(OFFSETS), draw(OFFSETS)
    blocks = []
    for _ in range(draw(st.integers(0, MOST_BLOCKS))):
        end = deq + draw(st.integers(1, 1 << 40))
        blocks.append(Block(draw(st.integers(0, clock)), draw(st.integers(0, end - 1)), end))
    upto = deq + draw(OFFSETS)
    return Req(clock, deq, upto, draw(st.booleans()), tuple(blocks), draw(st.integers(0, 1 << 40)))


SEGMENTS: st.SearchStrategy[Segment] = st.one_of(
    st.builds(Syn, st.sampled_from(Role), SIZES),
    st.builds(SynAck, SIZES),
    st.just(HandshakeAck()),
    requests(),
    st.builds(
        DataSegment,
        OFFSETS, OFFSETS, st.binary(min_size=1), st.booleans(), st.booleans(),
        cell=st.just(False), sent=st.just(0), spared=st.just(0),
    ),
    st.builds(Limit, OFFSETS, OFFSETS, st.booleans(), st.just(False)),
    st.builds(Limit, OFFSETS, OFFSETS, st.just(False), st.booleans()),
    st.builds(Fin, OFFSETS),
)  # fmt: skip


@st.composite
def cells(draw: st.DrawFn) -> DataSegment:
    data = draw(st.binary(min_size=1).filter(lambda data: data[-1] > 0))
    begin = draw(st.integers(0, 1 << 40)) * len(data)
    sent = draw(st.integers(0, MOST_SENT - 1))
    return DataSegment(draw(OFFSETS), begin, data, cell=True, sent=sent)


@given(cells())
def test_a_cell_that_is_written_is_read(cell: DataSegment) -> None:
    written = encode(cell)
    read = decode(written)
    assert isinstance(read, DataSegment)
    assert read.padded(len(cell.data)) == cell
    assert length(cell) == len(written)


@given(cells(), st.data())
def test_a_cell_that_is_cut_short_is_none_or_has_less_data(
    cell: DataSegment, data: st.DataObject
) -> None:
    written = encode(cell)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    if len(cut) <= len(written) - len(cell.data) or not cut[-1]:
        if len(cut) != len(written) - len(cell.data) + 1:  # a single zero is a cell of nothing
            with pytest.raises(PeerError):
                decode(cut)
        return
    read = decode(cut)
    assert isinstance(read, DataSegment)
    assert read.data == cell.data[: len(cut) - len(written)]
    assert (read.echo, read.begin) == (cell.echo, cell.begin // len(cell.data))
    assert read.sent == cell.sent


def test_no_cell_lies_beyond_the_longest_stream() -> None:
    cell = decode(encode(DataSegment(3, LARGEST_OFFSET - 8, b"8 bytes!", cell=True)))
    assert isinstance(cell, DataSegment)
    assert cell.padded(8).end == LARGEST_OFFSET
    with pytest.raises(PeerError):
        cell.padded(9)


def test_a_cell_begins_at_a_multiple_of_its_size() -> None:
    with pytest.raises(LocalError):
        encode(DataSegment(3, 1_161, b"cell".ljust(1_160, b"\0"), cell=True))


@given(SEGMENTS)
def test_what_is_written_is_what_is_read(segment: Segment) -> None:
    written = encode(segment)
    assert decode(written) == segment
    assert length(segment) == len(written)


@given(SEGMENTS, st.data())
def test_a_segment_that_is_cut_short_is_none_unless_it_is_data(
    segment: Segment, data: st.DataObject
) -> None:
    written = encode(segment)
    cut = written[: data.draw(st.integers(0, len(written) - 1))]
    if isinstance(segment, DataSegment) and len(cut) > len(written) - len(segment.data):
        read = decode(cut)
        assert isinstance(read, DataSegment)
        assert read.data == segment.data[: len(cut) - len(written)]
        assert read[:2] + read[3:] == segment[:2] + segment[3:]
    else:
        with pytest.raises(PeerError):
            decode(cut)


@given(SEGMENTS.filter(lambda one: not isinstance(one, DataSegment)), st.binary(min_size=1))
def test_nothing_may_follow_a_segment(segment: Segment, more: bytes) -> None:
    with pytest.raises(PeerError):
        decode(encode(segment) + more)


def test_zeros_at_a_cells_end_do_not_cross() -> None:
    data = b"cell".ljust(1_160, b"\0")
    cell = DataSegment(3, 1_160, data, cell=True)
    assert len(encode(cell)) < 9
    came = decode(encode(cell))
    assert isinstance(came, DataSegment)
    assert came.padded(1_160) == DataSegment(3, 1_160, data, cell=True, spared=1_156)


def test_mutations_are_refused_or_have_one_form() -> None:
    chance = random.Random(7)
    seeds = [
        encode(Req(70_000, 5_000_000, 5_020_000, False, (Block(69_998, 5_001_000, 5_002_200),))),
        encode(DataSegment(12_345, 1 << 20, b"data" * 9, True)),
        encode(DataSegment(12_345, 36 << 20, b"data" * 9, cell=True, sent=9_000)),
        encode(Limit(3, 900, True)),
        encode(Limit(3, 900, more=True)),
        encode(Syn(Role.SENDER, 1200)),
    ]
    read = refused = 0
    for _ in range(20_000):
        mutant = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 3)):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        try:
            segment = decode(bytes(mutant))
            if isinstance(segment, DataSegment) and segment.cell:
                segment = segment.padded(len(segment.data))
        except PeerError:
            refused += 1
        else:
            read += 1
            assert encode(segment) == bytes(mutant)
    assert min(read, refused) > 1_000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes([0x05]),  # DATA without anything
        bytes([0x05, 0, 0]),  # DATA without data
        bytes([0x45, 0, 0, 1]),  # an unknown flag of DATA
        bytes([0x25, 0, 0, 0, 1, 0]),  # zeros at a cell's end
        bytes([0x25, 0, 0, 0]),  # a cell without data
        bytes([0x25, 0, 0, 0x80, 0, 0x40, 0, 1]),  # a cell of a 2^14th millisecond
        bytes([0x08, 0, 0x44, 0xB0]),  # an unknown flag of SYN
        bytes([0x00, 2, 0x44, 0xB0]),  # a third role
        bytes([0x00, 0, 0x3F]),  # segments of 63 bytes
        bytes([0x93, 0, 0, 0]) + bytes([0, 1, 1] * 9),  # nine blocks
        bytes([0x13, 0, 0, 0, 1, 1, 1]),  # a block older than the first request
        bytes([0x13, 1, 0, 0, 1, 0, 1]),  # a block that has arrived
        bytes([0x13, 1, 0, 0, 1, 1, 2]),  # a block from before the stream's begin
        bytes([0x13, 1, 0, 0, 1, 1, 0]),  # an empty block
        bytes([0x04, 1, 0, 0, 0]),  # a rate of nothing
        bytes([0x06, 0]) + (LARGEST_OFFSET + 1 | 0xC0 << 56).to_bytes(8, "big"),
    ],
)
def test_what_breaks_a_rule_is_refused(data: bytes) -> None:
    with pytest.raises(PeerError):
        decode(data)


@pytest.mark.parametrize(
    "segment",
    [
        DataSegment(0, 0, b""),
        DataSegment(0, 0, bytes(LARGEST_SEGMENT + 1)),
        DataSegment(0, LARGEST_OFFSET, b"x"),
        Req(0, 5, 4),
        Req(9, 0, 10, True, (Block(1, 0, 1),) * (MOST_BLOCKS + 1)),
        Req(9, 10, 10, True, (Block(1, 5, 10),)),
        Req(9, 10, 10, True, (Block(10, 5, 12),)),
        Limit(0, LARGEST_OFFSET + 1),
        Limit(0, 900, fin=True, more=True),
        Fin(-1),
        Syn(Role.SENDER, 10),
        SynAck(LARGEST_SEGMENT + 1),
    ],
)
def test_what_the_wire_cannot_say_is_not_written(segment: Segment) -> None:
    with pytest.raises(LocalError):
        encode(segment)


def test_a_request_for_two_segments_costs_four_per_cent_of_them() -> None:
    """As whole packets, sealed, late in a long stream; with three blocks in the recent past too."""
    settings = RcpSettings()
    deq = 900_000_000
    upto = deq + 20 * settings.size
    clock = 400_000
    blocks = tuple(
        Block(clock - age, deq + at * settings.size, deq + (at + 1) * settings.size)
        for age, at in ((9, 1), (7, 4), (2, 9))
    )
    data = 2 * length(DataSegment(clock, upto, bytes(settings.size))) + 2 * settings.headers
    plain = length(Req(clock, deq, upto)) + settings.headers
    full = length(Req(clock, deq, upto, False, blocks)) + settings.headers
    assert plain <= 0.03 * data
    assert full <= 0.04 * data
