"""Segments of one size: whatever is said, whole and in order, and all of them look alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.link.records import Plain
from transport.tcp.segmented import SEGMENT, SHORT, Segmented
from wire.errors import PeerError


class Sealing(Plain):
    """Adds to each chunk what TLS does."""

    overhead = 22

    def protect(self, chunk: bytes) -> bytes:
        return bytes(self.overhead) + chunk


@given(st.lists(st.binary(min_size=1, max_size=5000), max_size=12), st.integers(1, 3000))
def test_a_stream_arrives_however_it_is_cut(chunks: list[bytes], step: int) -> None:
    near, far = Segmented(Plain()), Segmented(Plain())
    sent = b"".join(map(near.protect, chunks))
    said = [far.unprotect(sent[at : at + step]) for at in range(0, len(sent), step)]
    assert b"".join(plain for plain, _ in said) == b"".join(chunks)
    assert not any(reply for _, reply in said)


@given(st.integers(SHORT + 1, 10_000))
def test_only_their_number_tells_of_the_size(size: int) -> None:
    sealed = Segmented(Sealing())
    sent = sealed.protect(bytes(size))
    count = -(-size // (SEGMENT - 24))
    assert len(sent) == count * SEGMENT
    assert sealed.padding == len(sent) - size - 24 * count


def test_a_report_goes_without_padding() -> None:
    sealed = Segmented(Sealing())
    assert len(sealed.protect(bytes(9))) == 9 + 2 + 22
    assert sealed.padding == 0


def test_what_came_behind_the_switch_is_heard() -> None:
    early = Segmented(Plain()).protect(b"a preamble")
    far = Segmented(Plain(), early[:700])
    assert far.unprotect(b"") == (b"a preamble", b"")
    assert far.unprotect(early[700:])[0] == b""


@pytest.mark.parametrize("head", [b"\x00\x00", b"\x05\xa7", b"\x80\x00", b"\x80\x11", b"\xff\xff"])
def test_lengths_that_no_segment_has(head: bytes) -> None:
    with pytest.raises(PeerError, match="a segment of"):
        Segmented(Plain()).unprotect(head)


@pytest.mark.parametrize("rate", [5_000.0, 48_000.0, 625_000.0, 2.5e6])
def test_a_quantum_and_what_goes_with_it_fill_segments(rate: float) -> None:
    records = Segmented(Sealing())
    quantum = records.chunks.quantum(rate)
    for beside in (3, 4, 8, 9 + 4, 9 + 8):  # the header of a frame, and a report
        before = records.padding
        sent = records.protect(bytes(quantum + beside))
        assert records.padding - before < 40 * len(sent) // SEGMENT
