"""A name server of the tests' own, and `sluice remote` as a process that asks it.

The remote proxy runs in a mount namespace of its own, whose /etc/resolv.conf names our server.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = "127.0.0.10"
"""Where the server is, at port 53."""
SITE = "127.0.0.9"
"""Stands for the public internet: the one address that is open."""
A, AAAA = 1, 28
"""Types of records (RFC 1035, 3.2.2; RFC 3596)."""

Answer = Callable[[str, int], str | None]
"""The address for a name and a type; empty: the name has none of this type; None: no answer at
all comes."""


class NameServer(asyncio.DatagramProtocol):
    """Answers as it is told, and remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.asked: list[str] = []
        """Names whose IPv4 address was asked for."""
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while size := data[at]:
            labels.append(data[at + 1 : at + 1 + size].decode())
            at += 1 + size
        question, (kind,) = data[12 : at + 5], struct.unpack("!H", data[at + 1 : at + 3])
        name = ".".join(labels).lower()
        address = self._answer(name, kind)
        if kind == A:
            self.asked.append(name)
        if address is None:
            return
        answers = b""
        if address:
            family = socket.AF_INET if kind == A else socket.AF_INET6
            packed = socket.inet_pton(family, address)
            answers = b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
        head = data[:2] + struct.pack("!HHHHH", 0x8180, 1, 1 if answers else 0, 0, 0)
        self._transport.sendto(head + question + answers, addr)


@asynccontextmanager
async def name_server(answer: Answer) -> AsyncIterator[NameServer]:
    """One at NAMES."""
    loop = asyncio.get_running_loop()
    try:
        transport, server = await loop.create_datagram_endpoint(
            lambda: NameServer(answer), local_addr=(NAMES, 53)
        )
    except OSError as error:
        pytest.skip(f"no name server can be had here: {error}")
    try:
        yield server
    finally:
        transport.close()


@asynccontextmanager
async def remote_that_asks(
    folder: Path, *, options: str = "", hosts: str = "", allow: Sequence[str] = (SITE,)
) -> AsyncIterator[int]:
    """`sluice remote` that asks our server: its port. `options`: more lines of its resolv.conf,
    `hosts`: its whole /etc/hosts; empty: the machine's."""
    resolv = folder / "resolv.conf"
    resolv.write_text(f"nameserver {NAMES}\n{options}\n")
    mounts = [f"mount --bind {resolv} /etc/resolv.conf"]
    if hosts:
        (folder / "hosts").write_text(hosts)
        mounts.append(f"mount --bind {folder / 'hosts'} /etc/hosts")
    allowed = " ".join(f"--allow {shlex.quote(one)}" for one in allow)
    command = (
        f"{' && '.join(mounts)} && exec {sys.executable} {ROOT / 'sluice.py'} "
        f"remote --security none --listen 127.0.0.1:0 {allowed} --config {os.devnull}"
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


def needs_namespaces() -> None:
    """Skip the test where there are none."""
    mount = ["unshare", "-m", "sh", "-c", "mount --bind /etc/resolv.conf /etc/resolv.conf"]
    if shutil.which("unshare") is None:
        pytest.skip("there is no unshare")
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mount namespaces take root")
