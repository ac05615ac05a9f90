"""The device's address changes in mid-download: another network namespace, a real kernel's word.

The remote proxy and the origin live in a namespace of their own; the device's end of the cable
between them loses its address and gets another.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from configuration import LocalSettings
from local_proxy.main import LocalProxy
from policies.loader import load
from tests.end_to_end.pair import Client, run

ROOT = Path(__file__).resolve().parents[2]
SPACE = f"sluice{os.getpid()}"
NEAR_END = f"sl{os.getpid()}"
"""The device's end of the cable."""
NEAR, NEAR_LATER, FAR = "10.203.77.1", "10.203.77.3", "10.203.77.2"
SIZE = 6_000_000
"""Bytes: more than the credit that a reader has not used."""


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def cable() -> Iterator[str]:
    """A namespace and a cable to it."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2 to make a network namespace")
    try:
        ip("netns", "add", SPACE)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespace can be made here: {error.stderr.decode()}")
    try:
        ip("link", "add", NEAR_END, "type", "veth", "peer", "name", "far", "netns", SPACE)
        ip("address", "add", f"{NEAR}/24", "dev", NEAR_END)
        # Else the kernel takes the later address away with the first.
        try:
            Path(f"/proc/sys/net/ipv4/conf/{NEAR_END}/promote_secondaries").write_text("1")
        except OSError as error:
            pytest.skip(f"the kernel's settings can't be changed here: {error}")
        ip("link", "set", NEAR_END, "up")
        ip("-n", SPACE, "address", "add", f"{FAR}/24", "dev", "far")
        for device in ("far", "lo"):
            ip("-n", SPACE, "link", "set", device, "up")
        yield SPACE
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):  # it was not made
            ip("link", "del", NEAR_END)
        ip("netns", "del", SPACE)


@contextlib.asynccontextmanager
async def inside(*arguments: str) -> AsyncIterator[str]:
    """A Python program in the namespace; gives where it says that it listens."""
    process = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", SPACE, sys.executable, *arguments),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        assert line.startswith("listening on "), line
        yield line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        await process.communicate()


def test_a_download_goes_on_from_another_address(cable: str, tmp_path: Path) -> None:
    body = random.Random(5).randbytes(SIZE)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "file.bin").write_bytes(body)
    state = tmp_path / "remote"
    invitation = subprocess.run(
        [
            sys.executable,
            "sluice.py",
            "pair",
            "device",
            f"--address={FAR}:8119",
            f"--state={state}",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()

    async def go() -> None:
        loop = asyncio.get_running_loop()
        remote = ("sluice.py", "remote", f"--listen={FAR}:8119", f"--state={state}")
        async with (
            inside("-m", "bench.origin", str(tmp_path / "site")) as origin,
            inside(*remote, "--allow=127.0.0.0/8", f"--config={os.devnull}"),
        ):
            settings = LocalSettings(
                listen="127.0.0.1:0", pair=invitation, state=str(tmp_path / "local"), patience=20
            )
            local = LocalProxy(settings, [load("default")])
            address = await local.listen()
            running = asyncio.create_task(local.run())
            try:
                client = Client(address)
                digest = hashlib.sha256()
                async with client.open(f"http://{origin}/file.bin") as answer:
                    digest.update(await anext(answer.stream))
                    ip("address", "add", f"{NEAR_LATER}/24", "dev", NEAR_END)
                    changed = loop.time()
                    ip("address", "del", f"{NEAR}/24", "dev", NEAR_END)
                    async for chunk in answer.stream:
                        digest.update(chunk)
                assert digest.digest() == hashlib.sha256(body).digest()
                # Nobody waited for a timer: those of a silent link are longer.
                assert loop.time() - changed < 6.0
                assert local.uplink.session is not None
                assert local.uplink.session.link.statistics().connected
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    run(go())
