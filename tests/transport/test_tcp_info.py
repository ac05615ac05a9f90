"""Tests of the kernel's view of a TCP connection: the fields where linux/tcp.h has them."""

from __future__ import annotations

import socket
import struct
from time import monotonic

import pytest

from monitor.models import model
from monitor.sensors.connection import ConnectionSensor
from monitor.tcp_view import RECOVERY
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
        "state": ("=B", 1),
        "backoff": ("=B", 4),
        "rto": ("=I", 8),
        "mss": ("=I", 16),
        "rttvar": ("=I", 72),
        "ssthresh": ("=I", 76),
        "bytes_acked": ("=Q", 120),
        "bytes_received": ("=Q", 128),
        "bytes_sent": ("=Q", 200),
        "segs_out": ("=I", 136),
        "segs_in": ("=I", 140),
        "data_segs_in": ("=I", 152),
        "data_segs_out": ("=I", 156),
        "delivery_rate": ("=Q", 160),
        "sndbuf_limited": ("=Q", 184),
        "snd_wnd": ("=I", 228),
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


def test_what_throughput_models_need_is_read_from_its_place() -> None:
    found = parse(
        raw(
            state=3, backoff=2, rto=300_000, mss=1448, rttvar=5000, ssthresh=20,
            bytes_acked=2**33, segs_in=70, data_segs_in=5, sndbuf_limited=1_500_000, snd_wnd=31_000,
        )
    )  # fmt: skip
    assert (found.congestion_state, found.backoff) == (RECOVERY, 2)
    assert found.retransmission_timeout == pytest.approx(0.3)
    assert found.rtt_deviation == pytest.approx(0.005)
    assert (found.segment_size, found.slow_start_threshold) == (1448, 20)
    assert found.bytes_acked == 2**33
    assert (found.segments_in, found.data_segments_in) == (70, 5)
    assert (found.buffer_limited, found.peer_window) == (pytest.approx(1.5), 31_000)


def test_all_packets_count_with_their_headers_and_what_was_sent_again() -> None:
    data = raw(bytes_acked=900, bytes_sent=1000, bytes_received=5000, segs_out=7, segs_in=9)
    assert parse(data).crossed == 1000 + 5000 + 16 * 52
    assert parse(data, headers=72).crossed == 1000 + 5000 + 16 * 72
    assert parse(data[:200]).crossed == 900 + 5000 + 16 * 52, "an older kernel's"


def test_what_an_older_kernel_lacks_is_none() -> None:
    data = raw(snd_wnd=31_000, sndbuf_limited=1_500_000, delivery_rate=7)
    linux_4_9, linux_5_0 = parse(data[:168]), parse(data[:228])
    assert (linux_4_9.buffer_limited, linux_4_9.peer_window) == (None, None)
    assert (linux_5_0.buffer_limited, linux_5_0.peer_window) == (pytest.approx(1.5), None)
    assert linux_4_9.delivery_rate == linux_5_0.delivery_rate == 7
    with pytest.raises(struct.error):
        parse(data[:167])


def test_the_kernel_s_tcp_on_loopback_has_facts_that_a_model_takes() -> None:
    sensor = ConnectionSensor()
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as near,
    ):
        far, _ = listener.accept()
        with far:
            sensor.add(monotonic(), read(near))  # before anything is sent: the slow start counts
            for _ in range(20):
                near.sendall(bytes(100_000))
                got = 0
                while got < 100_000:
                    got += len(far.recv(65_536))
                sensor.add(monotonic(), read(near))
        facts = sensor.facts()
    assert facts is not None
    assert 20 * 100_000 - 65_536 <= facts.bytes_acked <= 20 * 100_000 + 1
    assert facts.segments * facts.segment_size >= facts.bytes_acked / 2
    assert facts.loss_events == facts.timeouts == 0
    assert facts.window is not None
    estimate = model.estimate(facts)
    assert estimate is not None
    assert estimate.source == "cardwell"
    assert 0 < estimate.rate <= 1.01 * facts.window * facts.segment_size / facts.rtt


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
            assert 5000 + 3 * 52 <= info.crossed <= 5000 + 20 * 52
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        assert read(datagrams) is None
    assert read(near) is None  # closed
