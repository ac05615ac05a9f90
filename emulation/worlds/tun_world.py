"""Hosts as namespaces, paths between them as TUN devices with a relay in between: the kernel's own
TCP and UDP over an emulated network. Needs root.

Addresses: path number n has 10.204.n.1 at its near end and 10.204.n.2 at its far end. Packets take
the path whose addresses they bear; there are no others, and no way out.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from emulation.relay.relay_settings import Address
from emulation.worlds.cables import Cable, NoBackend, WorldStatistics, total
from emulation.worlds.hosts import CONGESTION, Space, ip, new_names, sweep
from emulation.worlds.netns import NoNamespaces, require_root
from emulation.worlds.tun import DEVICE
from emulation.worlds.tun_relay import Command, PathSettings, RelayAnswer

ROOT: Final = Path(__file__).resolve().parents[2]
_APART: Final = 1_000_000
"""Between the seeds of two paths."""
_METRIC: Final = 100
"""Of the route by the first path; those by later ones count for more, so the first is taken."""
_STOP_AFTER: Final = 5.0
"""Seconds the relay is given to end."""


class TunRelayProcess:
    """The relay's process, told in JSON lines."""

    def __init__(self, paths: Sequence[PathSettings]) -> None:
        """Raises NoNamespaces when it can't have its devices."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "emulation.worlds.tun_relay"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        try:
            said = self._ask(msgspec.json.encode(list(paths)).decode())
            if said != "ready":
                raise NoNamespaces(f"no TUN device can be had here: {said}")
        except BaseException:
            self.stop()
            raise

    def ask(self, command: Command) -> RelayAnswer:
        """Carry it out; how things stand then. Raises OSError when the relay is gone."""
        said = self._ask(msgspec.json.encode(command).decode())
        return msgspec.json.decode(said, type=RelayAnswer)

    def stop(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_AFTER)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        if not said:
            raise OSError("the relay's process ended; its standard error says why")
        return said.strip()


class TunWorld:
    """Hosts behind TUN devices; implements emulation.worlds.cables.World."""

    backend: Final = "tun"

    def __init__(
        self, hosts: Mapping[str, Space], cables: Sequence[Cable], carrier: TunRelayProcess
    ) -> None:
        self.hosts = hosts
        self.cables = cables
        self.near = hosts[cables[0].near]
        self.far = hosts[cables[0].far]
        self._carrier = carrier

    async def reach(self, address: Address) -> Address:
        return address

    def set_rate(
        self, *, up: float | None = None, down: float | None = None, path: int = 0
    ) -> None:
        self._carrier.ask(Command(path, up, down))

    def lead(self, path: int) -> None:
        """Have near reach far's first address by that path, too. Raises OSError."""
        own = self.near.addresses[path]
        route = f"{self.far.address}/32 dev path{path} metric {_METRIC + path} src {own}"
        ip(f"-n {self.near.name} route replace {route}")

    def rewind(self) -> None:
        self._carrier.ask(Command(rewind=True))

    def statistics(self, path: int | None = None) -> WorldStatistics:
        answer = self._carrier.ask(Command())
        paths = range(len(self.cables)) if path is None else (path,)
        return total(_statistics(answer, number) for number in paths)


@contextlib.asynccontextmanager
async def opened(cables: Sequence[Cable], *, seed: int) -> AsyncIterator[TunWorld]:
    """The backend. Raises NoBackend."""
    network = _network(cables, seed=seed)
    try:
        hosts, carrier = await asyncio.to_thread(network.__enter__)
    except (NoNamespaces, OSError) as error:
        raise NoBackend(str(error)) from error
    try:
        yield TunWorld(hosts, cables, carrier)
    finally:
        await asyncio.to_thread(network.__exit__, None, None, None)


def _statistics(answer: RelayAnswer, path: int) -> WorldStatistics:
    up, down = answer.up[path], answer.down[path]
    return WorldStatistics(
        bytes_up=up.carried,
        bytes_down=down.carried,
        connections=up.connections + down.connections,
        dropped_up=up.dropped_packets,
        dropped_down=down.dropped_packets,
        lost_up=up.lost_packets,
        lost_down=down.lost_packets,
        queued_up=up.backlog,
        queued_down=down.backlog,
        peak_queued_up=up.peak_backlog,
        peak_queued_down=down.peak_backlog,
        lateness=answer.lateness,
    )


@contextlib.contextmanager
def _network(
    cables: Sequence[Cable], *, seed: int
) -> Iterator[tuple[dict[str, Space], TunRelayProcess]]:
    """Hosts by label and the relay; takes a tenth of a second. Raises NoNamespaces, OSError."""
    require_root()
    if not Path(DEVICE).exists():
        raise NoNamespaces(f"there is no {DEVICE} here")
    sweep()
    labels = list(dict.fromkeys(end for one in cables for end in (one.near, one.far)))
    names = dict(zip(labels, new_names(labels), strict=True))
    hosts = {label: Space(names[label], _addresses(label, cables)) for label in labels}
    with contextlib.ExitStack() as stack:
        for host in hosts.values():
            stack.callback(host.remove)
            host.make()
        paths = [
            PathSettings(
                near=names[one.near],
                far=names[one.far],
                device=f"path{number}",
                profile=one.profile,
                seed=seed + _APART * number,  # paths have chances of their own
            )
            for number, one in enumerate(cables)
        ]
        carrier = TunRelayProcess(paths)
        stack.callback(carrier.stop)
        for number, one in enumerate(cables):
            _plug_in(names[one.near], number, 1)
            _plug_in(names[one.far], number, 2)
        yield hosts, carrier


def _plug_in(name: str, path: int, place: int) -> None:
    """Bring a path's end up. Raises OSError."""
    device, own = f"path{path}", _address(path, place)
    route = f"{_address(path, 0)}/30 dev {device} proto kernel scope link src {own}"
    ip(
        f"-n {name} address add {own}/30 dev {device}",
        f"-n {name} link set {device} up",
        f"-n {name} route change {route} congctl {CONGESTION}",
    )


def _addresses(label: str, cables: Sequence[Cable]) -> list[str]:
    """A host's, in the order of its cables."""
    return [
        _address(number, 1 if one.near == label else 2)
        for number, one in enumerate(cables)
        if label in (one.near, one.far)
    ]


def _address(path: int, place: int) -> str:
    return f"10.204.{path}.{place}"
