"""Strangers get little from a listening end, and soon an end; a device still gets in."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from emulation.memory.secured import SecuredEnds, paired
from tests.transport.tls_ends import (
    Quiet,
    Server,
    answer_to,
    client_context,
    device,
    names_the_software,
    serving,
    tls_answer_to,
)
from tests.watched import run, until
from transport.stream import one_connection
from transport.tcp.handshakes import MOST, Handshakes, network_of


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"\x40\x00\x08\x94\x01\x91\x01\xa1x\xa1y",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"\x16\x03\x01\x40\x00" + bytes(16384),
        bytes(100_000),
    ],
)
def test_plain_bytes_get_no_answer_that_names_the_software(data: bytes) -> None:
    async def go() -> None:
        async with serving() as (server, _):
            answer = await answer_to(server.address, data)
            assert not names_the_software(answer)
            assert len(answer) <= 7  # an alert at most
            assert server.links == []

    run(go())


@pytest.mark.parametrize("kind", ["none", "unknown", "old"])
def test_tls_strangers_are_refused_and_learn_nothing(kind: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with serving() as (server, _):
            context = client_context(
                None if kind == "none" else device(),
                tmp_path,
                newest=ssl.TLSVersion.TLSv1_2 if kind == "old" else None,
            )
            reason, seen = await tls_answer_to(server.address, context)
            expected = {
                "none": "TLSV13_ALERT_CERTIFICATE_REQUIRED",
                "unknown": "TLSV1_ALERT_UNKNOWN_CA",
                "old": "TLSV1_ALERT_PROTOCOL_VERSION",
            }
            assert reason == expected[kind]
            assert not names_the_software(seen)
            assert server.links == []

    run(go())


async def _recorded_handshake(server: Server, ends: SecuredEnds) -> bytes:
    """What a good client sent, whole session."""
    loop = asyncio.get_running_loop()
    said = bytearray()
    a, b = socket.socketpair()
    with a, b, socket.socket() as up:
        for one in (a, b, up):
            one.setblocking(False)
        await loop.sock_connect(up, server.address)

        async def pump(source: socket.socket, sink: socket.socket, note: bool) -> None:
            while data := await loop.sock_recv(source, 65536):
                if note:
                    said.extend(data)
                await loop.sock_sendall(sink, data)

        pumps = [
            asyncio.ensure_future(pump(b, up, True)),
            asyncio.ensure_future(pump(up, b, False)),
        ]
        records = await ends.client.secure(a)
        await loop.sock_sendall(a, records.protect(b"\x40\x00\x01x"))
        await until(lambda: server.ends and server.ends[0].frames)
        for running in pumps:
            running.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
    return bytes(said)


def test_a_recorded_handshake_that_is_replayed_gets_nowhere() -> None:
    async def go() -> None:
        async with serving() as (server, ends):
            said = await _recorded_handshake(server, ends)
            assert len(server.links) == 1
            answer = await answer_to(server.address, said)
            assert answer  # the first flight is answered as anybody's is
            assert len(server.links) == 1

    run(go())


def test_silent_and_half_strangers_end_in_time() -> None:
    async def go() -> None:
        loop, ends = asyncio.get_running_loop(), paired()
        admitted: list[Any] = []
        doors = Handshakes(ends.server, lambda *more: admitted.append(more), timeout=1.0)
        pairs = [socket.socketpair() for _ in range(3)]
        half = first_flight()[:100]
        with capture_logs():
            for number, (ours, theirs) in enumerate(pairs):
                theirs.setblocking(False)
                if number:
                    await loop.sock_sendall(theirs, half)
                doors.begin(ours, "192.0.2.1")
            assert len(doors) == 3
            for _, theirs in pairs:
                assert await loop.sock_recv(theirs, 100) == b""  # and not a word
                theirs.close()
            await until(lambda: len(doors) == 0)
        assert admitted == []
        assert all(ours.fileno() == -1 for ours, _ in pairs)

    run(go())


def first_flight() -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version, context.check_hostname = ssl.TLSVersion.TLSv1_3, False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize("strangers", [60, 3 * MOST])
def test_a_crowd_of_strangers_does_not_keep_a_device_out(strangers: int) -> None:
    async def go() -> None:
        async with serving() as (server, ends), contextlib.AsyncExitStack() as stack:
            loop = asyncio.get_running_loop()
            for number in range(strangers):
                stranger = stack.enter_context(socket.socket())
                stranger.setblocking(False)
                await loop.sock_connect(stranger, server.address)
                await loop.sock_sendall(stranger, (b"", b"GET /", first_flight())[number % 3])
            near, quiet = (
                await one_connection.connect(*server.address, security=ends.client),
                Quiet(),
            )
            near.start(quiet, quiet)
            await until(lambda: quiet.frames)
            assert len(server.links) == 1
            near.close()

    run(go(), timeout=5.0)


def test_a_crowd_from_one_place_gives_its_oldest_up_for_others() -> None:
    async def go() -> None:
        ends = paired()
        doors = Handshakes(ends.server, lambda *_: None)
        crowd = [socket.socketpair() for _ in range(MOST - 1)]
        doors.begin((early := socket.socketpair())[0], "192.0.2.99")
        for number, (ours, _) in enumerate(crowd):
            doors.begin(ours, f"2001:db8::{number:x}")
        assert len(doors) == MOST
        doors.begin((late := socket.socketpair())[0], "192.0.2.98")
        await until(lambda: crowd[0][0].fileno() == -1)
        assert len(doors) == MOST
        assert all(ours.fileno() >= 0 for ours, _ in (early, late, *crowd[1:]))
        doors.close()
        await until(lambda: len(doors) == 0)
        for ours, theirs in (early, late, *crowd):
            assert ours.fileno() == -1
            theirs.close()

    run(go())


def test_a_hundred_strangers_are_one_line_in_the_log() -> None:
    async def go() -> None:
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
            cache_logger_on_first_use=False,
        )
        async with serving() as (server, _):
            with capture_logs() as lines:
                for _ in range(100):
                    await answer_to(server.address, b"noise\r\n")
            (line,) = [line for line in lines if line["event"] == "a stranger was refused"]
            assert line["log_level"] == "info"
            assert line["address"] == "127.0.0.1"

    run(go())


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("strange", "strange"),
    ],
)
def test_networks(address: str, network: str) -> None:
    assert network_of(address) == network


def test_a_listener_that_closes_ends_what_is_not_a_link_yet() -> None:
    async def go() -> None:
        async with serving() as (server, _):
            with socket.create_connection(server.address) as stranger:
                stranger.setblocking(False)
                assert server.listener is not None
                await until(lambda: len(asyncio.all_tasks()) == 2)
                server.listener.close()
                assert await asyncio.get_running_loop().sock_recv(stranger, 1) == b""

    run(go())
