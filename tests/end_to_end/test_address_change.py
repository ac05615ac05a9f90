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
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Literal

import pytest

from configuration import LocalSettings
from emulation.worlds.namespaces import Namespace, NoNamespaces, namespace
from local_proxy.main import LocalProxy
from policies.host.loader import load
from tests.end_to_end.pair import Client, run

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
SIZE = 6_000_000
"""Bytes: more than the credit that a reader has not used."""


@pytest.fixture
def space() -> Iterator[Namespace]:
    with contextlib.ExitStack() as stack:
        try:
            made = stack.enter_context(namespace())
        except NoNamespaces as error:
            pytest.skip(str(error))
        yield made


@contextlib.asynccontextmanager
async def inside(space: Namespace, *arguments: str) -> AsyncIterator[str]:
    """A Python program in the namespace; gives where it says that it listens."""
    process = await asyncio.create_subprocess_exec(
        *space.command(sys.executable, *arguments),
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


@pytest.mark.parametrize("transport", ["tcp", "atp-udp"])
def test_a_download_goes_on_from_another_address(
    space: Namespace, tmp_path: Path, transport: Literal["tcp", "atp-udp"]
) -> None:
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
            f"--address={space.far}:8119",
            f"--state={state}",
        ],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()

    async def go() -> None:
        loop = asyncio.get_running_loop()
        remote = ("sluice.py", "remote", f"--listen={space.far}:8119", f"--state={state}")
        async with (
            inside(space, "-m", "bench.origins.site", str(tmp_path / "site")) as origin,
            inside(space, *remote, "--allow=127.0.0.0/8", f"--config={os.devnull}"),
        ):
            settings = LocalSettings(
                listen="127.0.0.1:0",
                pair=invitation,
                state=str(tmp_path / "local"),
                patience=20,
                transport=transport,
            )
            local = LocalProxy(settings, [load("default")])
            address = await local.listen()
            running = asyncio.create_task(local.run())
            try:
                client = Client(address)
                digest = hashlib.sha256()
                async with client.open(f"http://{origin}/file.bin") as answer:
                    digest.update(await anext(answer.stream))
                    changed = loop.time()
                    space.change_address()
                    async for chunk in answer.stream:
                        digest.update(chunk)
                assert digest.digest() == hashlib.sha256(body).digest()
                # Nobody waited for a timer: those of a silent link are longer.
                assert loop.time() - changed < 6.0
                assert local.uplink.session is not None
                statistics = local.uplink.session.link.statistics()
                assert statistics.connected
                assert statistics.transport == transport.removeprefix("atp-")
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    run(go())
