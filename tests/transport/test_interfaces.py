"""The kernel tells of addresses: parsed, and heard for real where namespaces can be made."""

import asyncio
import os
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transport.paths.interfaces import Change, InterfaceWatch, changes

pytestmark = pytest.mark.alone


def message(kind: int, body: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value


def test_a_removed_address_is_named() -> None:
    four = struct.pack("=BBBBI", 2, 24, 0, 0, 3) + attribute(1, bytes([10, 0, 0, 9]))
    six = struct.pack("=BBBBI", 10, 64, 0, 0, 3) + attribute(
        1, socket.inet_pton(socket.AF_INET6, "fe80::1")
    )
    data = message(21, four) + message(20, four) + message(21, six) + message(28, b"")
    assert list(changes(data)) == [Change("10.0.0.9"), Change(""), Change("fe80::1")]


def test_of_a_point_to_point_address_the_own_end_counts() -> None:
    body = struct.pack("=BBBBI", 2, 32, 0, 0, 3)
    body += attribute(1, bytes([10, 0, 0, 1])) + attribute(2, bytes([10, 0, 0, 2]))
    assert list(changes(message(21, body))) == [Change("10.0.0.2")]


@given(st.binary(max_size=200))
def test_nonsense_is_no_change_and_no_error(data: bytes) -> None:
    assert all(isinstance(change, Change) for change in changes(data))


@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to add an address to loopback")
def test_the_kernel_tells() -> None:
    async def main() -> None:
        heard: asyncio.Queue[Change] = asyncio.Queue()
        watch = InterfaceWatch(heard.put_nowait)
        address = "127.66.0.9"
        try:
            for verb in ("add", "del"):
                command = ("ip", "address", verb, f"{address}/32", "dev", "lo")
                process = await asyncio.create_subprocess_exec(*command)
                assert await process.wait() == 0
            async with asyncio.timeout(60):
                while (await heard.get()).gone != address:
                    pass
        finally:
            watch.close()

    asyncio.run(main())
