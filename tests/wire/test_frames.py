"""Frames survive any cut, cost what the module says, and hostile bytes end in PeerError."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.errors import LocalError, PeerError
from wire.frames import (
    MAX_COMPONENT,
    MAX_HEADER,
    MAX_PAYLOAD,
    CellFrame,
    Control,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    Report,
)

payloads = st.binary(max_size=600)
frames = st.one_of(
    st.builds(Data, st.integers(0, MAX_COMPONENT), payloads, st.booleans(), paced=st.booleans()),
    st.builds(Data, st.integers(0, 3), st.sampled_from([b"", b"x" * 256]), st.booleans()),
    st.builds(Control, payloads),
    st.builds(CellFrame, st.binary(min_size=1, max_size=600)),
    st.builds(Report, st.integers(0, 2**32 - 1), st.integers(0, 2**24 - 1)),
)
streams = st.lists(st.one_of(frames, st.sampled_from([1, 256, 1024])), max_size=30)


def encode(stream: list[Frame | int]) -> tuple[bytes, list[Frame]]:
    writer, sent = FrameWriter(), []
    data = b""
    for item in stream:
        if isinstance(item, int):
            data += writer.quantum(item)
        else:
            data += writer.encode(item)
            sent.append(item)
    return data, sent


@given(streams)
def test_whole(stream: list[Frame | int]) -> None:
    data, sent = encode(stream)
    reader = FrameReader()
    assert reader.feed(data) == sent
    assert reader.buffered == 0


@given(streams)
def test_byte_by_byte(stream: list[Frame | int]) -> None:
    data, sent = encode(stream)
    reader = FrameReader()
    got = [frame for byte in data for frame in reader.feed(bytes([byte]))]
    assert got == sent


@given(streams, st.binary(max_size=40), st.data())
def test_mutated_bytes_yield_frames_or_peer_error(
    stream: list[Frame | int], noise: bytes, draw: st.DataObject
) -> None:
    data = bytearray(encode(stream)[0])
    at = draw.draw(st.integers(0, len(data)))
    data[at : at + draw.draw(st.integers(0, 20))] = noise
    reader = FrameReader()
    try:
        for frame in reader.feed(bytes(data)):
            assert isinstance(frame, Data | Control | Report | CellFrame)
    except PeerError:
        return
    assert reader.buffered <= MAX_HEADER + MAX_PAYLOAD


@pytest.mark.parametrize(("quantum", "limit"), [(256, 0.02), (1024, 0.006)])
def test_overhead_of_interleaved_full_quanta(quantum: int, limit: float) -> None:
    writer = FrameWriter()
    total = len(writer.quantum(quantum))
    payload = bytes(quantum)
    for n in range(1000):
        total += len(writer.encode(Data(n % 7 + 100_000, payload)))
    assert total / (1000 * quantum) - 1 <= limit


def test_header_sizes() -> None:
    writer = FrameWriter()
    writer.quantum(4)
    assert len(writer.encode(Data(9, b"1234"))) == 4 + 4
    assert len(writer.encode(Data(9, b"1234"))) == 1 + 4
    assert len(writer.encode(Data(9, b"1234", paced=True))) == 1 + 4
    assert len(writer.encode(Data(9, b"123"))) == 3 + 3
    assert len(writer.encode(Data(8, b"123"))) == MAX_HEADER + 3
    assert len(writer.encode(Report(1, 1))) == 8


@pytest.mark.parametrize(
    "data",
    [
        b"\x20\x00\x01a",  # continues a component, none before
        b"\x10\x00\x00\x01",  # full quantum before any was announced
        b"\xc0\x00\x00",  # quantum of 0
        b"\x01\x00\x00\x01\x00\x01a",  # unknown data flag
        b"\x41\x00\x00",  # unknown control flag
        b"\x81" + bytes(7),
        b"\xff\x00\x01",
    ],
)
def test_broken_frames(data: bytes) -> None:
    with pytest.raises(PeerError):
        FrameReader().feed(data)


@pytest.mark.parametrize(
    "frame",
    [Data(MAX_COMPONENT + 1, b""), Data(-1, b""), Data(1, bytes(65536)), Control(bytes(65536))],
)
def test_what_does_not_fit_is_refused(frame: Frame) -> None:
    with pytest.raises(LocalError):
        FrameWriter().encode(frame)


@pytest.mark.parametrize("size", [0, -1, 65536])
def test_quantum_out_of_range(size: int) -> None:
    with pytest.raises(LocalError):
        FrameWriter().quantum(size)


def test_report_wraps() -> None:
    frame = FrameReader().feed(FrameWriter().encode(Report(2**32 + 5, 2**24 + 7)))
    assert frame == [Report(5, 7)]
