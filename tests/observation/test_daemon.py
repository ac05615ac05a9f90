"""Tests of the daemon: as a part of this process, and as the program that people start."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from monitor.observer.datagrams import InfoBetween, encode_update
from monitor.observer.observer import BandwidthObserver, Registration
from monitor.observer.service import ObserverService
from monitor.samples import ProgressSample, SensorKind
from observation.client import ObserverClient, ObserverSilent
from observation.daemon import run, serving
from observation.reporter import UdpReporter
from observation.transport_sensor import TransportMonitor
from observation.wrappers import app_rcv, app_snd
from tests.cli.commands import home, sluice
from tests.observation.observed import carry, daemon, named, tcp
from tests.watched import run as watched
from tests.watched import until

SND = SensorKind.APP_SND


def test_datagrams_in_a_burst_are_all_taken_and_hostile_ones_dropped() -> None:
    async def main() -> None:
        service = ObserverService(BandwidthObserver())
        async with serving("127.0.0.1", 0, service) as there:
            host, _, port = there.address.rpartition(":")
            reporter = UdpReporter(host, int(port))
            reporter.register(named(5), SND)
            for at in range(128):
                reporter.update(SND, [ProgressSample(5, at * 1000)], at=at / 100)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile:
                for data in (b"", b"noise", bytes(60_000)):
                    hostile.sendto(data, (host, int(port)))
            await until(lambda: service.statistics().datagrams == 128 + 4)
            assert service.statistics().faults == 3
            assert service.observer.statistics().samples == 128
            reporter.close()

    watched(main())


def test_a_mistake_of_ours_costs_one_datagram(capsys: pytest.CaptureFixture[str]) -> None:
    class Fails(ObserverService):
        """Has a mistake."""

        def handle(self, data: bytes, address: object, *, now: float) -> bytes | None:
            if data == b"bad":
                raise ZeroDivisionError
            return super().handle(data, address, now=now)

    async def main() -> None:
        service = Fails(BandwidthObserver())
        async with serving("127.0.0.1", 0, service) as there:
            host, _, port = there.address.rpartition(":")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile:
                for data in (b"bad", b"noise"):
                    hostile.sendto(data, (host, int(port)))
            await until(lambda: service.statistics().faults == 1)

    watched(main())
    assert "could not be handled" in capsys.readouterr().out


def test_an_address_of_ipv6_is_written_as_one() -> None:
    async def main() -> None:
        async with serving("::1", 0) as there:
            assert there.address.startswith("[::1]:")
            host, port = "::1", int(there.address.rpartition(":")[2])

            def ask() -> object:
                with ObserverClient(host, port) as client:
                    return client.getinfo(1)

            assert await asyncio.to_thread(ask) == ()

    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    watched(main())


def test_a_port_that_is_taken_is_an_error_and_no_socket_is_left() -> None:
    async def main() -> None:
        async with serving("127.0.0.1", 0) as there:
            port = int(there.address.rpartition(":")[2])
            with pytest.raises(OSError, match="in use"):
                await run("127.0.0.1", port)

    watched(main())


def test_it_runs_until_cancelled_and_warns_where_others_can_reach_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def main() -> None:
        task = asyncio.create_task(run("0.0.0.0", 0))
        said = ""

        def ready() -> bool:
            nonlocal said
            said += capsys.readouterr().out
            return "listening on" in said

        await until(ready)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert "every host that reaches this one" in said
        assert "listening on 0.0.0.0:" in said

    watched(main())


@pytest.mark.parametrize("flags", [(), ("--throughput",)], ids=["delivered", "throughput"])
def test_all_three_sensors_on_real_connections_end_to_end(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    """The program, asked by a client, knows what two connections have carried."""
    with daemon(tmp_path, *flags) as there:
        reporter, receiving = (UdpReporter(there.host, there.port) for _ in range(2))

        async def main() -> int:
            monitor = TransportMonitor(reporter, interval=0.02)
            with tcp() as (near, far), tcp() as (other, taker):
                sender = app_snd(near, named(1), reporter, interval=0.02)
                receiver = app_rcv(far, named(1), receiving, interval=0.02)
                monitor.watch(near, named(1))
                monitor.watch(other, named(2))
                carried = 0
                for _ in range(40):
                    carry(sender, receiver, 50_000)  # type: ignore[arg-type]
                    carry(other, taker, 50_000)
                    carried += 50_000
                    await asyncio.sleep(0.01)
                with ObserverClient(there.host, there.port) as client:
                    found = {one.sensor: one for one in client.getinfo(1)}
                    assert set(found) == set(SensorKind)
                    rates = [one.rate for one in found.values()]
                    assert max(rates) < 3 * min(rates)
                    assert found[SensorKind.TRANSPORT].age < 5
                    between = client.getinfo_between("near.test", "far.test")
                    assert between.connections == 2
                    assert between.rate > found[SensorKind.TRANSPORT].rate
                    assert client.getinfo(3) == ()
                monitor.close()
                sender.close()
                receiver.close()
            for one in (reporter, receiving):
                one.close()
            return carried

        assert watched(main()) == 2_000_000
        with ObserverClient(there.host, there.port) as client:
            assert client.getinfo_between("near.test", "far.test").connections == 0
        assert there.errors == ""


def test_the_program_keeps_connections_apart_and_survives_hostile_datagrams(
    tmp_path: Path,
) -> None:
    with daemon(tmp_path) as there, ObserverClient(there.host, there.port) as client:
        assert client.register(5, SND, "a", "b") is Registration.DONE
        with ObserverClient(there.host, there.port) as other:
            assert other.register(5, SND, "a", "b") is Registration.TAKEN
            assert other.unregister(5, SND) is Registration.TAKEN
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hostile:
            lie = encode_update(SND, [ProgressSample(5, 10**15)], at=1.0)
            for data in (b"", lie, lie, lie[:-1], bytes(2000), b"\x01\x03\x01\x00" + b"\xff" * 24):
                hostile.sendto(data, (there.host, there.port))
        assert client.getinfo(5) == ()
        assert isinstance(client.getinfo_between("a", "b"), InfoBetween)
        assert client.unregister(5, SND) is Registration.DONE
        assert there.errors == ""


def test_the_program_says_what_it_saw_ends_when_told_and_its_port_is_free(
    tmp_path: Path,
) -> None:
    with daemon(tmp_path, "--verbose") as there:
        taken = sluice("observe", f"--listen={there.address}", home=home(tmp_path))
        assert (taken.code, taken.errors) == (1, "sluice: Address already in use\n")
        there.process.send_signal(signal.SIGINT)
        assert there.process.wait(timeout=30) == 0
        assert "observed" in there.errors
    with (
        ObserverClient(there.host, there.port, patience=0.1) as client,
        pytest.raises(ObserverSilent),
    ):
        client.getinfo(1)


@pytest.mark.parametrize("listen", ["8120", "nowhere:", "127.0.0.1:99999", ":::", ""])
def test_an_address_that_is_none_is_refused(tmp_path: Path, listen: str) -> None:
    said = sluice("observe", f"--listen={listen}", home=home(tmp_path))
    assert said.refused("--listen")


def test_a_host_that_is_not_to_be_had_has_failed(tmp_path: Path) -> None:
    said = sluice("observe", "--listen=no-such-host.invalid:8120", home=home(tmp_path))
    assert said.code == 1
    assert "Traceback" not in said.errors
    assert said.errors.startswith("sluice: ")
