"""Tests of the kernel's view of a TCP connection: the fields where linux/tcp.h has them."""

from __future__ import annotations

import socket
import struct

import pytest

from transport.tcp.tcp_info import parse, read

SIZE = 232
"""Bytes of `struct tcp_info` that are read."""


def raw(**fields: int) -> bytes:
    """A `struct tcp_info` with these, at their offsets in linux/tcp.h."""
    places = {
        "unacked": ("=I", 24),
        "rtt": ("=I", 68),
        "cwnd": ("=I", 80),
        "retrans": ("=I", 100),
        "notsent": ("=I", 144),
        "min_rtt": ("=I", 148),
        "segs_out": ("=I", 136),
        "data_segs_out": ("=I", 156),
        "delivery_rate": ("=Q", 160),
    }
    data = bytearray(SIZE)
    for name, value in fields.items():
        layout, offset = places[name]
        struct.pack_into(layout, data, offset, value)
    return bytes(data)


def test_each_field_is_read_from_its_place_in_seconds_and_bytes() -> None:
    found = parse(
        raw(
            rtt=40_000, min_rtt=20_000, unacked=3, cwnd=10, notsent=5000, retrans=7,
            data_segs_out=123, delivery_rate=1_000_000,
        )
    )  # fmt: skip
    assert (found.rtt, found.min_rtt) == (pytest.approx(0.04), pytest.approx(0.02))
    assert (found.unacked_segments, found.window_segments) == (3, 10)
    assert (found.unsent, found.retransmitted_segments) == (5000, 7)
    assert (found.segments, found.delivery_rate) == (123, 1_000_000.0)
    assert parse(raw(segs_out=99)).segments == 0  # those without data do not count


def test_a_longer_one_of_a_later_kernel_says_the_same_and_a_shorter_one_is_none() -> None:
    data = raw(rtt=1000, delivery_rate=5)
    assert parse(data + bytes(40)) == parse(data)
    with pytest.raises(struct.error):
        parse(data[:100])


def test_a_connection_of_the_kernel_s_has_a_view_and_other_sockets_have_none() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
    ):
        far, _ = listener.accept()
        with far:
            near.sendall(bytes(5000))
            got = 0
            while got < 5000:
                got += len(far.recv(5000))
            info = read(near)
            assert info is not None
            assert info.segments >= 1
            assert info.window_segments >= 1
            assert 0 <= info.min_rtt < 60
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        assert read(datagrams) is None
    assert read(near) is None  # closed
