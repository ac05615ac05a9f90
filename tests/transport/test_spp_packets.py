"""SPP's frames: each has one form, and nothing but it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.spp.core import varint
from transport.spp.core.packets import (
    LARGEST_PAYLOAD,
    MOST_RANGES,
    MOST_STAMPS,
    Ack,
    Challenge,
    Close,
    Floor,
    Frame,
    Padding,
    PathResponse,
    PayloadFrame,
    PayloadPart,
    PingFrame,
    WindowFrame,
    decode,
    encode,
    encode_data,
)
from wire.errors import LocalError, PeerError

INTEGERS = st.integers(0, varint.LARGEST)
PAYLOADS = st.binary(min_size=1, max_size=1500)


@st.composite
def acks(draw: st.DrawFn) -> Ack:
    ends = sorted(draw(st.sets(st.integers(0, 1 << 40), min_size=2, max_size=2 * MOST_RANGES)))
    pairs = list(zip(ends[::2], ends[1::2], strict=False))
    merged: list[tuple[int, int]] = []
    for low, high in pairs:
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    ranges = tuple(reversed(merged))
    stamped = draw(st.sets(st.integers(0, ranges[0][1]), max_size=MOST_STAMPS))
    stamps = tuple((number, draw(st.integers(0, 1 << 50))) for number in sorted(stamped)[::-1])
    return Ack(draw(st.integers(0, 1 << 30)), ranges, stamps)


@st.composite
def parts(draw: st.DrawFn) -> PayloadPart:
    piece = draw(PAYLOADS)
    offset = draw(st.integers(0, LARGEST_PAYLOAD - len(piece)))
    total = draw(st.integers(offset + len(piece), LARGEST_PAYLOAD))
    return PayloadPart(draw(INTEGERS), offset, total, piece)


TOKENS = st.binary(min_size=8, max_size=8)
FRAMES: st.SearchStrategy[Frame] = st.one_of(
    st.just(PingFrame()),
    acks(),
    st.builds(PayloadFrame, INTEGERS, PAYLOADS),
    parts(),
    st.builds(WindowFrame, INTEGERS),
    st.builds(Floor, INTEGERS),
    st.builds(Challenge, TOKENS),
    st.builds(PathResponse, TOKENS),
    st.builds(Close, INTEGERS, st.text(max_size=40)),
)


@given(st.lists(FRAMES, min_size=1, max_size=6), st.integers(0, 50))
def test_what_is_written_is_what_is_read(frames: list[Frame], padding: int) -> None:
    written = b"".join(map(encode, frames)) + bytes(padding)
    assert list(decode(written)) == frames + [Padding(padding)] * bool(padding)


@given(INTEGERS, PAYLOADS)
def test_a_payload_may_reach_to_the_end(sequence: int, payload: bytes) -> None:
    data = encode_data(sequence, payload, last=True)
    assert list(decode(b"\x01" + data)) == [PingFrame(), PayloadFrame(sequence, payload)]


@given(FRAMES, st.data())
def test_a_frame_that_was_cut_is_refused_or_another_one(frame: Frame, data: st.DataObject) -> None:
    whole = encode(frame)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(PeerError):
        list(decode(cut))


@given(st.binary(max_size=300))
def test_noise_is_frames_or_the_peers_fault(noise: bytes) -> None:
    try:
        frames = list(decode(noise))
    except PeerError:
        return
    assert b"".join(map(encode, frames)) == noise or noise.find(b"\x04") >= 0


@given(INTEGERS)
def test_an_integer_has_its_shortest_form_alone(value: int) -> None:
    written = varint.encode(value)
    assert varint.decode(written, 0) == (value, len(written))
    assert varint.size(value) == len(written)


@pytest.mark.parametrize("wasteful", ["4001", "80000001", "c000000000000001", "80003fff"])
def test_a_longer_form_is_refused(wasteful: str) -> None:
    with pytest.raises(PeerError):
        varint.decode(bytes.fromhex(wasteful), 0)


@pytest.mark.parametrize("value", [-1, varint.LARGEST + 1])
def test_what_no_integer_can_say_is_our_fault(value: int) -> None:
    with pytest.raises(LocalError):
        varint.encode(value)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\x0b",
        b"\xff",
        b"\x00\x01",  # padding before a ping
        b"\x03\x05\x00",  # an empty payload
        b"\x04\x05",
        b"\x05\x01\x02\x02\x01x",  # a part behind its payload's end
        b"\x02\x05\x00\x00\x00",  # an acknowledgement of nothing
        b"\x02\x05\x00\x21\x00" + bytes(80),  # of too many ranges
        b"\x02\x05\x00\x01\x00\x06",  # of numbers below 0
        b"\x02\x05\x00\x01\x02\x00\x00\x05\x00\x05",  # the same number twice
    ],
)
def test_what_no_peer_says_is_refused(bad: bytes) -> None:
    with pytest.raises(PeerError):
        list(decode(bad))
