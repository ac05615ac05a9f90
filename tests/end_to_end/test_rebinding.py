"""DNS rebinding for real: a name server of the attacker's, the system's resolver, a remote process.

The remote proxy runs in a mount namespace of its own, whose /etc/resolv.conf names our server.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from tests.end_to_end.pair import FakeOrigin, run
from tests.end_to_end.test_device_limits import local_proxy

ROOT = Path(__file__).resolve().parents[2]
NAMES = "127.0.0.10"
SITE = "127.0.0.9"
"""Stands for the public internet: the one address that is open."""


class NameServer(asyncio.DatagramProtocol):
    """Answers the first question for a name with the site's address, all others with loopback's."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while size := data[at]:
            labels.append(data[at + 1 : at + 1 + size].decode())
            at += 1 + size
        question = data[12 : at + 5]
        answers = b""
        if data[at + 1 : at + 3] == b"\0\1":  # A; of AAAA there are none
            name = ".".join(labels).lower()
            address = "127.0.0.1" if name in self.asked else SITE
            self.asked.append(name)
            answers = b"\xc0\x0c\0\1\0\1" + struct.pack("!IH", 0, 4) + socket.inet_aton(address)
        head = data[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if answers else 0, 0, 0)
        self._transport.sendto(head + question + answers, addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    loop = asyncio.get_running_loop()
    try:
        transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=(NAMES, 53))
    except OSError as error:
        pytest.skip(f"no name server can be had here: {error}")
    try:
        yield server
    finally:
        transport.close()


@asynccontextmanager
async def remote_that_asks(resolv: Path) -> AsyncIterator[int]:
    """`sluice remote` with that resolv.conf: its port."""
    command = (
        f"mount --bind {resolv} /etc/resolv.conf && exec {sys.executable} {ROOT / 'sluice.py'} "
        f"remote --security none --listen 127.0.0.1:0 --allow {SITE} --config {os.devnull}"
    )
    process = await asyncio.create_subprocess_exec(
        *("unshare", "-m", "sh", "-c", command), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        yield int(line.rpartition(":")[2])
    finally:
        process.terminate()
        await process.communicate()


def _has_namespaces() -> bool:
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(
            ["unshare", "-m", "sh", "-c", "mount --bind /etc/resolv.conf /etc/resolv.conf"],
            check=False,
            capture_output=True,
        ).returncode
    )


def test_a_name_whose_second_answer_is_loopback(tmp_path: Path) -> None:
    resolv = tmp_path / "resolv.conf"
    resolv.write_text(f"nameserver {NAMES}\noptions timeout:2 attempts:1\n")

    async def go() -> None:
        async with (
            FakeOrigin().running(SITE) as site,
            FakeOrigin().running("127.0.0.1", site.address[1]) as inner,
            name_server() as names,
            remote_that_asks(resolv) as port,
            local_proxy(port, "test") as browser,
        ):
            site.serve("/", b"outside", "text/plain")
            inner.serve("/", b"inside", "text/plain")
            url = f"http://turn.example:{site.address[1]}/"
            assert (await browser.get(url)).body == b"outside"
            again = await browser.get(url, method="POST", body=b"x")
            assert again.status == 403
            assert b"turn.example" in again.body and b"allow" in again.body
            status, _, writer = await browser.connect(f"twist.example:{site.address[1]}")
            assert status == 200
            writer.close()
            status, _, writer = await browser.connect(f"twist.example:{site.address[1]}")
            assert status == 403
            writer.close()
            assert names.asked.count("turn.example") == 2
            assert names.asked.count("twist.example") == 2
            assert inner.asked == [] and inner.connections == 0

    if not _has_namespaces():
        pytest.skip("mount namespaces take root")
    run(go())
