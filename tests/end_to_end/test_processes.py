"""`sluice remote --processes`: devices at each of them, killed ones started again, none left."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench.pairs.peers import ROOT
from bench.pairs.processes import named_command
from configuration import RemoteSettings
from pairing.command import pair
from pairing.invitation import Invitation, parse
from pairing.store import PairingStore
from tests.end_to_end.client import Browser
from tests.end_to_end.origin import Asked, FakeOrigin
from tests.watched import run, until

DATA = random.Random(2).randbytes(400_000)


@dataclass
class Group:
    """The command, and its processes."""

    parent: int
    addresses: list[str]

    def members(self) -> set[int]:
        found = Path(f"/proc/{self.parent}/task/{self.parent}/children").read_text()
        return {int(word) for word in found.split()}


def alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


@asynccontextmanager
async def remotes(state: Path, count: int) -> AsyncIterator[Group]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(ROOT / "sluice.py"), "remote", f"--processes={count}"),
        *("--listen=127.0.0.1:0", "--allow=127.0.0.0/8", f"--state={state}"),
        f"--config={os.devnull}",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        lines = [(await process.stdout.readline()).decode() for _ in range(count)]
        yield Group(process.pid, [line.split()[-1] for line in lines])
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def slowly(asked: Asked) -> None:
    head = f'HTTP/1.1 200 OK\r\ncontent-length: {len(DATA)}\r\netag: "1"\r\n\r\n'
    await asked.send(head.encode())
    for at in range(0, len(DATA), 10_000):
        await asked.send(DATA[at : at + 10_000])
        await asyncio.sleep(0.05)


def paired(state: Path, first: str) -> Invitation:
    """By `sluice pair --address FIRST`."""
    out: list[str] = []
    settings = RemoteSettings(state=str(state), address=first)
    pair(settings, "", out=out.append, notice=lambda _: None)
    return parse(out[0])


def test_devices_at_each_process_and_what_was_under_way_at_one_goes_on_at_another(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        origin, state = FakeOrigin(), tmp_path / "remote"
        origin.paths["/slow"] = slowly
        origin.serve("/page", b"words")
        async with AsyncExitStack() as ends:
            await ends.enter_async_context(origin.running())
            group = await ends.enter_async_context(remotes(state, 2))
            assert len(set(group.addresses)) == 2
            assert [f"{h}:{p}" for h, p in PairingStore(state).listened()] == group.addresses
            browsers = []
            for name, order in (("a", 1), ("b", -1)):  # each begins at another process
                invitation = paired(state, group.addresses[0])
                assert set(invitation.address.split(",")) == set(group.addresses)
                where = ",".join(group.addresses[::order])
                own = {
                    "SLUICE_LOCAL_STATE": str(tmp_path / name),
                    "SLUICE_LOCAL_PAIR": str(invitation),
                    "SLUICE_LOCAL_REMOTE": where,
                }
                local, _ = await ends.enter_async_context(
                    named_command("local", "--listen=127.0.0.1:0", environment=own)
                )
                browsers.append(Browser(local))
            members = group.members()
            assert len(members) == 2
            answers = [
                await ends.enter_async_context(one.open(f"{origin.base}/slow")) for one in browsers
            ]
            got = [bytearray(await anext(one.stream)) for one in answers]
            os.kill(min(members), signal.SIGKILL)  # one of the two devices is at this one
            for number, answer in enumerate(answers):
                async for chunk in answer.stream:
                    got[number] += chunk
            assert got == [DATA, DATA]
            assert origin.counts()["/slow"] == 3  # once by each device, once more by one of them
            await until(lambda: len(group.members()) == 2)
            assert len(group.members() & members) == 1
            for one in browsers:
                assert (await one.navigate(f"{origin.base}/page")).body.endswith(b"words")

    run(go(), timeout=180)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_is_left_behind_its_parent(tmp_path: Path, sent: signal.Signals) -> None:
    async def go() -> None:
        async with remotes(tmp_path / "remote", 2) as group:
            members = group.members()
            assert len(members) == 2
            os.kill(group.parent, sent)
            await until(lambda: not any(alive(one) for one in members))

    run(go(), timeout=180)
