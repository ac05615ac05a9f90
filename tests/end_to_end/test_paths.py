"""A device with two interfaces: the pair's own commands, over two emulated paths of the kernel."""

from __future__ import annotations

import asyncio
import hashlib
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import msgspec
import pytest
from msgspec.structs import replace

from bench.origins.site import spawn
from bench.pairs.peers import command
from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend
from emulation.worlds.hosts import Space, ip
from emulation.worlds.inside import connector
from emulation.worlds.tun_world import TunWorld
from emulation.worlds.world import emulate
from local_proxy.status.snapshot import StatusSnapshot
from tests.watched import until

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
SIZE = 1_500_000
BODY = random.Random(5).randbytes(SIZE)
QUICK = replace(profile("384k"), rate_down=250_000.0, rate_up=125_000.0, delay=0.015, queue=60_000)
SLOW = replace(QUICK, rate_down=125_000.0, delay=0.1)


@dataclass
class TwoPaths:
    """The pair is up, and the device has a path over each interface."""

    world: TunWorld
    near: Space
    origin: str
    proxy: str
    client: aiohttp.ClientSession

    async def status(self) -> StatusSnapshot:
        """What the device's status page shows."""
        url = f"{self.proxy}/status.json"
        async with self.client.get(url, headers={"Host": "sluice.local"}) as answer:
            return msgspec.json.decode(await answer.read(), type=StatusSnapshot)

    async def paths(self) -> dict[str, int]:
        """Bytes that came over each."""
        return {path.name: path.carried for path in (await self.status()).link.paths}

    def pull_out(self, path: int) -> None:
        """The interface goes down, and the kernel says so."""
        ip(f"-n {self.near.name} link set path{path} down")

    def put_in(self, path: int) -> None:
        """It comes up again."""
        ip(f"-n {self.near.name} link set path{path} up")
        self.world.lead(path)

    async def download(self) -> None:
        """A file, to the byte."""
        async with self.client.get(f"{self.origin}/file.bin", proxy=self.proxy) as answer:
            digest = hashlib.sha256()
            async for piece in answer.content.iter_any():
                digest.update(piece)
        assert digest.digest() == hashlib.sha256(BODY).digest()


@asynccontextmanager
async def two_paths(folder: Path, **settings: str) -> AsyncIterator[TwoPaths]:
    """`settings` of the device by name, as its environment has them."""
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "file.bin").write_bytes(BODY)
    state = f"--state={folder / 'remote'}"
    try:
        emulated = emulate(QUICK, SLOW, backend="tun")
        world = await emulated.__aenter__()
    except NoBackend as error:
        pytest.skip(str(error))
    try:
        assert isinstance(world, TunWorld)
        near, far = world.hosts["near"], world.far.address
        local = ["--listen=127.0.0.1:0", "--policy=original"]
        if not (folder / "local").exists():  # else it knows the remote
            pairing = (
                sys.executable,
                "sluice.py",
                "pair",
                "device",
                f"--address={far}:8119",
                state,
            )
            said = await asyncio.to_thread(
                subprocess.run, pairing, cwd=ROOT, check=True, capture_output=True, text=True
            )
            local.append(f"--pair={said.stdout.strip()}")
        remote = ("--listen=0.0.0.0:8119", state, f"--allow={far}")
        async with (
            spawn(folder / "site", host=world.far) as (host, port),
            command("remote", *remote, host=world.far),
            aiohttp.ClientSession(connector=connector(world.near)) as client,
        ):
            pair = TwoPaths(world, near, f"http://{host}:{port}", "", client)
            for path in (0, 1):
                world.lead(path)
            settings = {"paths": "path0,path1", **settings}
            environment = {f"SLUICE_LOCAL_{name.upper()}": one for name, one in settings.items()}
            own = f"--state={folder / 'local'}"
            async with command(
                "local", *local, own, host=world.near, environment=environment
            ) as proxy:
                pair.proxy = f"http://{proxy[0]}:{proxy[1]}"
                yield pair
    finally:
        await emulated.__aexit__(None, None, None)


async def joined(pair: TwoPaths, names: set[str]) -> None:
    async with asyncio.timeout(60):
        while set(await pair.paths()) != names:  # noqa: ASYNC110 - another process is waited for
            await asyncio.sleep(0.1)


def test_both_interfaces_bring_a_download_and_the_status_page_says_how_much(
    tmp_path: Path,
) -> None:
    async def go() -> None:
        async with two_paths(tmp_path) as pair:
            await joined(pair, {"path0", "path1"})
            await pair.download()
            carried = await pair.paths()
            assert sum(carried.values()) >= SIZE
            assert min(carried.values()) > 0.2 * SIZE, "a third of the rate is the slow one's"
            for path in (0, 1):
                assert pair.world.statistics(path).bytes_down >= carried[f"path{path}"]
            status = await pair.status()
            assert status.link.transport == "paths"
            assert [path.name for path in status.link.paths if path.quickest] == ["path0"]
            assert status.paths is not None
            assert set(status.paths.labels.values()) == {"path0", "path1"}

    asyncio.run(go())


@pytest.mark.parametrize("victim", [0, 1])
def test_an_interface_that_goes_and_comes_again_costs_a_download_nothing(
    tmp_path: Path, victim: int
) -> None:
    async def go() -> None:
        async with two_paths(tmp_path) as pair:
            await joined(pair, {"path0", "path1"})
            loading = asyncio.ensure_future(pair.download())
            before = sum((await pair.paths()).values())
            async with asyncio.timeout(60):
                while sum((await pair.paths()).values()) < before + SIZE // 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            pair.pull_out(victim)
            await joined(pair, {f"path{1 - victim}"})
            pair.put_in(victim)
            await joined(pair, {"path0", "path1"})
            await loading

    asyncio.run(go())


def test_a_path_that_swallows_all_is_found_out_and_the_download_goes_on(tmp_path: Path) -> None:
    async def go() -> None:
        async with two_paths(tmp_path) as pair:
            await joined(pair, {"path0", "path1"})
            loading = asyncio.ensure_future(pair.download())
            await until(lambda: pair.world.statistics(0).bytes_down > SIZE // 5)
            pair.world.set_rate(up=0.0, down=0.0, path=0)
            await loading
            (path,) = (one for one in (await pair.status()).link.paths if one.name == "path0")
            assert not path.answers
            assert not path.quickest

    asyncio.run(go())


def test_a_spare_interface_rests_until_the_other_is_gone(tmp_path: Path) -> None:
    async def go() -> None:
        async with two_paths(tmp_path, roles="path1=spare") as pair:
            await joined(pair, {"path0", "path1"})
            await pair.download()
            assert (await pair.paths())["path1"] < 50_000, "while it was the only one"
            assert [one.spare for one in (await pair.status()).link.paths if one.name == "path1"]
            loading = asyncio.ensure_future(pair.download())
            before = pair.world.statistics(0).bytes_down
            await until(lambda: pair.world.statistics(0).bytes_down > before + SIZE // 5)
            pair.pull_out(0)
            await loading
            assert (await pair.paths())["path1"] > SIZE // 2

    asyncio.run(go())


def test_a_metered_interface_keeps_to_its_budget_from_run_to_run(tmp_path: Path) -> None:
    size = 400_000

    async def one_run() -> tuple[int, int]:
        """Bytes that the status page has of it, and those that the interface has seen."""
        async with two_paths(tmp_path, roles="path1=metered", budgets="path1=400 kB") as pair:
            await pair.download()
            await pair.download()
            (budget,) = (await pair.status()).link.budgets
            assert (budget.name, budget.size) == ("path1", size)
            seen = pair.world.statistics(1)
            return budget.spent, seen.bytes_up + seen.bytes_down

    first, seen = asyncio.run(one_run())
    # On the first day of a month it may carry a tenth of it; on the last, all.
    assert size / 20 < first <= size
    assert first == pytest.approx(seen, rel=0.05, abs=2_000)
    second, seen = asyncio.run(one_run())
    assert first <= second <= size
    assert second - first == pytest.approx(seen, rel=0.05, abs=2_000)
