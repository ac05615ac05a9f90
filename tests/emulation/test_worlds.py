"""Tests of one network behind each backend: its profile holds, and nothing is left of it."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from emulation.accuracy import accuracy
from emulation.accuracy.accuracy import altered, link
from emulation.lines.profiles import Profile, profile
from emulation.memory import virtual_time
from emulation.memory.memory_world import MemoryWorld
from emulation.worlds.cables import Cable, NoBackend, World, WorldStatistics, total
from emulation.worlds.datagrams import Datagrams
from emulation.worlds.hosts import Space, sweep
from emulation.worlds.world import BACKENDS, emulate, joined
from tests.emulation.transfers import quiet, transfer
from tests.watched import run

pytestmark = pytest.mark.alone

ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import asyncio, subprocess, sys
from emulation.worlds.world import emulate
from emulation.lines.profiles import profile
async def main():
    async with emulate(profile("5M"), backend="tun") as world:
        subprocess.Popen(world.far.command("sleep", "600"), stdout=subprocess.DEVNULL)
        print(world.near.name, world.far.name, flush=True)
        sys.stdin.read()
asyncio.run(main())
"""
CLIENT = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=20) as end:
    print(len(end.makefile("rb").read()))
"""


def spaces() -> str:
    return subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("backend", ["tun", "relay"])
def test_a_transfer_is_no_faster_than_the_link_and_is_counted(
    backend: str, request: pytest.FixtureRequest
) -> None:
    if backend == "tun":
        request.getfixturevalue("tun")

    async def go() -> None:
        async with emulate(link(4e6, queue=65_536), backend=backend) as world:
            assert world.backend == backend
            took = await transfer(world, 200_000)
            counted = world.statistics()
        assert took >= 0.4
        headers = 1.02 if backend == "tun" else 1.0
        assert 200_000 * headers <= counted.bytes_down < 300_000
        assert counted.connections == 1
        assert counted.lateness[0] < 0.02

    run(go())


def test_a_program_runs_where_it_is_told_and_nobody_else_gets_there(tun: None) -> None:
    async def go() -> str:
        loop = asyncio.get_running_loop()
        async with emulate(profile("fast"), backend="tun") as world:
            with world.far.new_socket() as listener:
                listener.bind((world.far.address, 0))
                listener.listen()
                listener.setblocking(False)
                host, port = listener.getsockname()
                with socket.socket() as here, pytest.raises(OSError, match="assign requested"):
                    here.bind((host, 0))
                words = world.near.command(sys.executable, "-c", CLIENT, host, str(port))
                program = await asyncio.create_subprocess_exec(
                    *words, stdout=asyncio.subprocess.PIPE
                )
                far, (seen, _) = await loop.sock_accept(listener)
                with far:
                    await loop.sock_sendall(far, bytes(70_000))
                said, _ = await program.communicate()
                assert seen == world.near.address
                return said.decode()

    assert run(go()) == "70000\n"


def test_packets_are_no_larger_than_the_link_takes(tun: None) -> None:
    def largest(world: World) -> int:
        with Datagrams(world.far, world.near, to=world.near.address) as datagrams:
            datagrams.send(576)
            datagrams.send(577)  # in two fragments, which the kernel joins
            assert [one.size for one in datagrams.arrived(within=0.3)] == [576, 577]
        return world.statistics().bytes_down

    async def go() -> int:
        async with emulate(link(1e6, mtu=576), backend="tun") as world:
            return await asyncio.to_thread(largest, world)

    assert run(go()) == 576 + 577 + 20  # the second fragment's header


def test_two_paths_between_two_hosts_have_their_own_rates_and_counts(tun: None) -> None:
    async def go() -> tuple[list[float], WorldStatistics, WorldStatistics, WorldStatistics]:
        async with emulate(link(8e6), link(2e6), backend="tun") as world:
            assert len(set(world.near.addresses) | set(world.far.addresses)) == 4
            took = [await transfer(world, 50_000, address=to) for to in world.far.addresses]
            await quiet(world)
            return took, world.statistics(0), world.statistics(1), world.statistics()

    took, first, second, both = run(go())
    assert took[0] < took[1]
    assert took[1] >= 0.19
    assert first.connections == second.connections == 1
    assert min(first.bytes_down, second.bytes_down) > 50_000
    assert both == total((first, second))


def test_three_hosts_reach_each_other_where_there_is_a_cable(tun: None) -> None:
    async def go() -> None:
        one = link(8e6)
        cables = [Cable("phone", "station", one), Cable("station", "server", one)]
        async with joined(cables, backend="tun") as world:
            phone, station, server = (world.hosts[name] for name in ("phone", "station", "server"))
            assert len(station.addresses) == 2
            with Datagrams(station, server, to=server.address) as there:
                there.send(100)
                assert len(await asyncio.to_thread(there.arrived, within=0.2)) == 1
            with (
                Datagrams(phone, server, to=server.address) as nowhere,
                pytest.raises(OSError, match="unreachable"),
            ):
                nowhere.send(100)

    run(go())


def test_a_seed_loses_the_same_packets(tun: None) -> None:
    lossy = altered(link(20e6, delay=0.001), loss=0.2)

    def numbers(world: World) -> list[int]:
        with Datagrams(world.far, world.near, to=world.near.address) as datagrams:
            datagrams.burst(200, 200)
            return sorted(one.number for one in datagrams.arrived(within=0.2))

    async def go(seed: int) -> tuple[list[int], WorldStatistics]:
        async with emulate(lossy, backend="tun", seed=seed) as world:
            return await asyncio.to_thread(numbers, world), world.statistics()

    (first, counted), (again, _), (other, _) = run(go(1)), run(go(1)), run(go(2))
    assert first == again != other
    assert len(first) + counted.lost_down == 200
    assert 20 <= counted.lost_down <= 60


def test_a_full_queue_drops(tun: None) -> None:
    async def go() -> tuple[int, WorldStatistics]:
        async with emulate(link(4e5, delay=0.001, queue=15_000), backend="tun") as world:
            return await asyncio.to_thread(accuracy.accepted, world), world.statistics()

    took, counted = run(go())
    assert 15_000 - 1500 <= took <= 15_000 + 3000
    assert counted.dropped_down == 20 - took // 1500
    assert counted.peak_queued_down <= 15_000


@pytest.mark.parametrize("backend", ["tun", "relay"])
def test_a_trace_is_followed_from_where_it_is_rewound(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if backend == "tun":
        request.getfixturevalue("tun")
    path = tmp_path / "late.trace"
    path.write_text("# duration_s 60\n0 0\n0.4 1000000\n")
    traced = altered(profile(f"trace:{path}"), delay=0.001)

    async def go() -> list[float]:
        async with emulate(traced, backend=backend) as world:
            took = [await transfer(world, 20_000)]
            took.append(await transfer(world, 20_000))
            began = asyncio.get_running_loop().time()
            world.rewind()
            await transfer(world, 20_000)
            took.append(asyncio.get_running_loop().time() - began)
            world.rewind()
            world.set_rate(up=1e6, down=1e6)
            took.append(await transfer(world, 20_000))
            return took

    _, second, rewound, changed = run(go())
    assert rewound > 0.39
    assert max(second, changed) < rewound


def test_what_a_killed_run_has_left_is_swept(tun: None) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as killed:
        assert killed.stdout is not None
        names = killed.stdout.readline().split()
        assert len(names) == 2
        assert not set(names) & set(sweep())  # their maker lives
        assert set(names) <= set(spaces().split())
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    sweep()  # if no other bench on this machine has been faster
    assert not set(names) & set(spaces().split())


def test_a_world_that_fails_leaves_nothing(tun: None) -> None:
    async def go() -> None:
        async with emulate(profile("5M"), backend="tun") as world:
            assert isinstance(world.near, Space)
            names.append(world.near.name)
            raise KeyError("mine")

    names: list[str] = []
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(go())
    assert names[0] not in spaces()


def test_without_iproute2_automatic_is_the_relay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    async def go(backend: str) -> str:
        async with emulate(profile("5M"), backend=backend) as world:
            return world.backend

    assert asyncio.run(go("auto")) == "relay"
    with pytest.raises(NoBackend, match="root and iproute2"):
        asyncio.run(go("tun"))


@pytest.mark.parametrize("backend", ["tun", "relay"])
def test_all_that_is_reached_shares_the_link(backend: str, request: pytest.FixtureRequest) -> None:
    if backend == "tun":
        request.getfixturevalue("tun")

    async def go() -> tuple[float, int]:
        async with emulate(link(8e6), backend=backend) as world:
            world.set_rate(down=250_000)
            took = await asyncio.gather(*(transfer(world, 40_000) for _ in range(3)))
            return max(took), world.statistics().connections

    took, connections = run(go())
    assert took >= 0.48
    assert connections == 3


@pytest.mark.parametrize("backend", ["relay", "memory"])
def test_what_has_one_path_says_so(backend: str) -> None:
    async def go() -> None:
        async with emulate(profile("5M"), profile("5M"), backend=backend):
            raise AssertionError("made two")

    with pytest.raises(NoBackend, match="one path"):
        asyncio.run(go())


def test_an_unknown_backend_names_the_others() -> None:
    async def go(*profiles: Profile) -> None:
        async with emulate(*profiles, backend="pigeon"):
            pass

    with pytest.raises(ValueError, match="no backend 'pigeon'; there are auto, tun"):
        asyncio.run(go(profile("5M")))
    with pytest.raises(ValueError, match="a path at least"):
        asyncio.run(go())
    assert set(BACKENDS) == {"tun", "relay", "netem", "memory"}


def test_in_memory_packets_are_lost_and_late_and_all_bytes_come_in_order() -> None:
    async def go() -> tuple[bytes, WorldStatistics, float]:
        loop, got = asyncio.get_running_loop(), bytearray()
        bad = altered(profile("lossy"), jitter=0.05)
        async with emulate(bad, backend="memory", seed=3) as world:
            assert isinstance(world, MemoryWorld)
            with pytest.raises(NoBackend, match="nothing listens"):
                await world.reach(("127.0.0.1", 1))
            _, far = world.links()
            far.outgoing.deliver = got.extend
            far.inject(SENT[:60_000])
            await asyncio.sleep(5.0)
            far.inject(SENT[60_000:])
            while len(got) < len(SENT):  # noqa: ASYNC110 - in virtual time
                await asyncio.sleep(0.01)
            return bytes(got), world.statistics(), loop.time()

    got, counted, took = virtual_time.run(go())
    assert got == SENT
    assert counted.lost_down > 0
    assert 5.2 < took < 8.0


SENT = bytes(range(256)) * 470
