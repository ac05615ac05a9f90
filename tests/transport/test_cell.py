"""Cells and records: what is written is what is read, and all else is refused."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.stream.cell import (
    LARGEST_OFFSET,
    CellBuilder,
    CellRecord,
    ComponentPiece,
    ControlPiece,
    EndPiece,
    RecordKind,
    decode,
    decode_record,
    encode_record,
    farewell,
)
from wire.errors import LocalError, PeerError

OFFSETS = st.integers(0, 1 << 40)
PIECES = st.lists(
    st.one_of(
        st.builds(ControlPiece, OFFSETS, st.binary(min_size=1, max_size=80)),
        st.builds(
            ComponentPiece,
            st.integers(1, 0xFFFFFF),
            OFFSETS,
            st.binary(min_size=1, max_size=80),
            st.booleans(),
        ),
    ),
    min_size=1,
    max_size=6,
)


def built(pieces: list[ControlPiece | ComponentPiece], *, number: int, after: int) -> bytes:
    builder = CellBuilder(1_160, number=number, after=after)
    for piece in pieces:
        if isinstance(piece, ControlPiece):
            builder.control(*piece)
        else:
            builder.component(*piece[:3], last=piece.last)
    return builder.cell(after)


@given(PIECES, st.integers(1, 1 << 40), OFFSETS, st.integers(0, 600))
def test_what_is_written_is_what_is_read(
    pieces: list[ControlPiece | ComponentPiece], number: int, after: int, zeros: int
) -> None:
    cell = built(pieces, number=number, after=after)
    assert decode(cell + bytes(zeros)) == (number, after, pieces)


def test_an_empty_cell_says_nothing() -> None:
    assert decode(bytes(1_160)).number == 0
    assert decode(b"").pieces == []


def test_a_cell_takes_no_more_than_its_size() -> None:
    builder = CellBuilder(100, number=1, after=0)
    builder.control(0, bytes(builder.room))
    assert len(builder.cell(0)) <= 100
    with pytest.raises(LocalError):
        builder.component(1, 0, bytes(80), last=False)


def test_the_farewell_ends_the_link() -> None:
    assert decode(farewell(7) + bytes(30)) == (7, 0, [EndPiece()])


@pytest.mark.parametrize(
    "cell",
    [
        bytes([1, 0, 0x41, 0, 1, 9]),  # an unknown flag of control
        bytes([1, 0, 0x82, 1, 0, 1, 9]),  # an unknown flag of data
        bytes([1, 0, 0x3F]),  # a piece of no kind
        bytes([1, 0, 0x80, 0, 0, 1, 9]),  # component 0
        bytes([1, 0, 0x80, 1, 0, 0]),  # no bytes, and not the last
        bytes([1, 0, 0x80, 1, 0, 9, 1]),  # more bytes than there are
        bytes([1, 0, 0x40, 0, 1, 9, 0, 1]),  # something behind the end
        bytes([1]),
        bytes([1, 0, 0x40]) + (LARGEST_OFFSET | 0xC0 << 56).to_bytes(8, "big") + bytes([1, 9]),
    ],
)
def test_what_breaks_a_rule_is_refused(cell: bytes) -> None:
    with pytest.raises(PeerError):
        decode(cell)


def test_mutations_are_read_or_refused() -> None:
    chance = random.Random(3)
    seeds = [
        built([ControlPiece(70_000, b"said" * 9)], number=900, after=70_036),
        built([ComponentPiece(3, 1 << 20, b"data" * 30, True)], number=9, after=0),
        farewell(70_000),
    ]
    read = refused = 0
    for _ in range(20_000):
        mutant = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 3)):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        try:
            decode(bytes(mutant))
        except PeerError:
            refused += 1
        else:
            read += 1
    assert min(read, refused) > 1_000


RECORDS = st.one_of(
    st.builds(
        CellRecord, st.just(RecordKind.MESSAGE), st.binary(min_size=1), st.just(0), st.just(0)
    ),
    st.builds(
        CellRecord, st.just(RecordKind.GONE), st.just(b""), st.integers(1, 0xFFFFFF), st.just(0)
    ),
    st.builds(
        CellRecord,
        st.just(RecordKind.BEHIND),
        st.binary(min_size=1),
        st.integers(1, 0xFFFFFF),
        OFFSETS,
    ),
)


@given(RECORDS, st.binary(), st.data())
def test_a_record_is_read_once_it_is_whole(
    record: CellRecord, more: bytes, data: st.DataObject
) -> None:
    encoded = encode_record(record)
    assert decode_record(encoded + more) == (record, len(encoded))
    assert decode_record(encoded[: data.draw(st.integers(0, len(encoded) - 1))]) is None


@pytest.mark.parametrize(
    "record",
    [
        bytes([3, 0, 1, 1]),  # of no kind
        bytes([0, 0, 0]),  # no message
        bytes([1, 0, 2, 0, 1]),  # no component
        bytes([1, 0, 3, 0, 0, 0]),  # component 0
        bytes([1, 0, 4, 0, 0, 1, 9]),  # bytes behind it
        bytes([2, 0, 4, 0, 0, 1, 9]),  # no message
    ],
)
def test_records_that_break_a_rule_are_refused(record: bytes) -> None:
    with pytest.raises(PeerError):
        decode_record(record)
