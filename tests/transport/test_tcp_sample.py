"""Tests of reading TCP's facts: the same as the kernel's other reader says, or none."""

from __future__ import annotations

import socket

import pytest

from tests.observation.observed import carry, tcp
from transport.tcp import tcp_info
from transport.tcp.tcp_sample import reader


class Scripted:
    """A socket whose kernel answers with these bytes."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        return self.raw[:size]


def numbered(size: int) -> bytes:
    """Bytes whose four at offset n say n."""
    return b"".join(offset.to_bytes(4, "little") for offset in range(0, size, 4))


def test_each_field_is_read_from_its_place() -> None:
    found = reader(7, Scripted(numbered(280)))()
    assert found is not None
    low = 4294967296
    assert found == (
        7, 0, 4, 0, 8, 16, 24, 32, 68, 72, 76, 80, 100, 120 + 124 * low, 140, 148, 156,
        160 + 164 * low, 228,
    )  # fmt: skip
    flags = bytearray(numbered(232))
    flags[1], flags[7] = 3, 5
    found = reader(7, Scripted(bytes(flags)))()
    assert found is not None
    assert (found.state, found.limited) == (3, 5)


def test_an_older_kernel_does_not_say_the_peer_s_window_and_a_very_old_one_nothing() -> None:
    found = reader(7, Scripted(numbered(192)))()
    assert found is not None
    assert (found.peer_window, found.segments) == (0, 156)
    assert reader(7, Scripted(numbered(104)))() is None


def test_it_agrees_with_the_other_reader_about_a_real_connection() -> None:
    with tcp() as (near, far):
        carry(near, far, 500_000)
        read = reader(1, near)
        found, other = read(), tcp_info.read(near)
        assert found is not None and other is not None
        assert found.acked >= 400_000
        assert (found.rtt, found.min_rtt) == (pytest.approx(other.rtt), other.min_rtt)
        assert (found.window, found.retransmitted) == (
            other.window_segments, other.retransmitted_segments
        )  # fmt: skip
    assert read() is None  # closed


def test_other_sockets_have_no_facts() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        assert reader(1, datagrams)() is None
