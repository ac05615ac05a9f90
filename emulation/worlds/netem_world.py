"""The kernel's own emulator between namespaces, where the kernel has it: `tc netem`.

    near ---veth--- router ---veth--- far

The router's two interfaces shape: on the sender's own egress, TCP small queues would keep the queue
out of sight. netem counts its queue in packets, those in flight among them, so that one of small
packets holds fewer bytes. Of what wanders it draws each packet's delay by itself and keeps their
order, so that packets close to each other wait for the latest: the mean is nearer to the most than
elsewhere. It knows neither traces nor packets that are held back; profiles with those are refused.

The router's interfaces have Ethernet's headers, which are no part of a link: they are taken off
what netem counts. Nobody asks for an address of theirs, which would cross the link.

Needs root, iproute2 and sch_netem. Source: tc-netem(8).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

from emulation.lines.profiles import Profile
from emulation.relay.relay_settings import Address
from emulation.worlds.cables import Cable, NoBackend, WorldStatistics, total
from emulation.worlds.hosts import CONGESTION, Space, ip, new_names, sweep
from emulation.worlds.netns import NoNamespaces, require_root

ETHERNET: Final = 14
"""Bytes of a header between the router and a host."""
_ROUTER: Final = "router"
_DOWN: Final = "down"
"""The router's interface towards the near host, with the path's number behind."""
_UP: Final = "up"
_NEAR_PLACE: Final = 1
"""The near host's place in a path's addresses; the router is next to each."""
_FAR_PLACE: Final = 5


class NetemWorld:
    """Hosts behind `tc netem`; implements emulation.worlds.cables.World."""

    backend: Final = "netem"

    def __init__(self, hosts: Mapping[str, Space], cables: Sequence[Cable], router: str) -> None:
        self.hosts = hosts
        self.cables = cables
        self.near = hosts[cables[0].near]
        self.far = hosts[cables[0].far]
        self._router = router

    async def reach(self, address: Address) -> Address:
        return address

    def set_rate(
        self, *, up: float | None = None, down: float | None = None, path: int = 0
    ) -> None:
        profile = self.cables[path].profile
        for rate, name in ((up, _UP), (down, _DOWN)):
            if rate is not None:
                is_down = name == _DOWN
                words = netem(profile, down=is_down, rate=rate)
                _tc(self._router, f"qdisc change dev {name}{path} root {words}")

    def rewind(self) -> None:
        """Nothing changes over time here."""

    def statistics(self, path: int | None = None) -> WorldStatistics:
        paths = range(len(self.cables)) if path is None else (path,)
        return total(self._of(number) for number in paths)

    def _of(self, path: int) -> WorldStatistics:
        up, down = (
            json.loads(_tc(self._router, f"-s -j qdisc show dev {name}{path} root"))[0]
            for name in (_UP, _DOWN)
        )
        return WorldStatistics(
            bytes_up=up["bytes"] - ETHERNET * up["packets"],
            bytes_down=down["bytes"] - ETHERNET * down["packets"],
            dropped_up=up["drops"],
            dropped_down=down["drops"],
            queued_up=up["backlog"] - ETHERNET * up["qlen"],
            queued_down=down["backlog"] - ETHERNET * down["qlen"],
        )


def netem(profile: Profile, *, down: bool, rate: float | None = None) -> str:
    """A profile as tc's words. `rate` in bytes/second goes before its own. Raises NoBackend."""
    if profile.changes or profile.reorder:
        raise NoBackend(f"{profile.name}: netem has no traces, outages or packets held back")
    own, queue = (
        (profile.rate_down, profile.queue)
        if down
        else (profile.rate_up, profile.queue_up or profile.queue)
    )
    rate = own if rate is None else rate
    limit = -(-round(queue + rate * (profile.delay + profile.jitter)) // profile.mtu)
    words = f"netem limit {limit} delay {_us(profile.delay + profile.jitter / 2)}"
    if profile.jitter:  # evenly up to so much to either side
        words += f" {_us(profile.jitter / 2)}"
    if profile.loss and profile.loss_run > 1:
        worsens = profile.loss / (1 - profile.loss) / profile.loss_run
        words += f" loss gemodel {100 * worsens:.4f}% {100 / profile.loss_run:.4f}%"
    elif profile.loss:
        words += f" loss {100 * profile.loss:.4f}%"
    if profile.duplicate:
        words += f" duplicate {100 * profile.duplicate:.4f}%"
    return f"{words} rate {round(8 * rate)}bit -{ETHERNET}"


def probe() -> str:
    """Why there is no netem here, as tried in a scratch namespace; empty: there is."""
    try:
        require_root()
        if shutil.which("tc") is None:
            return "netem needs iproute2's tc"
        scratch = Space(new_names(("probe",))[0], ())
        with contextlib.ExitStack() as stack:
            stack.callback(scratch.remove)
            scratch.make()
            _tc(scratch.name, "qdisc add dev lo root netem delay 1ms")
    except NoNamespaces as error:
        return str(error)
    except OSError as error:
        return f"the kernel has no netem: {error}"
    return ""


@contextlib.asynccontextmanager
async def opened(cables: Sequence[Cable], *, seed: int) -> AsyncIterator[NetemWorld]:
    """The backend; netem's chances have no seed. Raises NoBackend."""
    if missing := await asyncio.to_thread(probe):
        raise NoBackend(missing)
    network = _network(cables)
    world = await asyncio.to_thread(network.__enter__)
    try:
        yield world
    finally:
        await asyncio.to_thread(network.__exit__, None, None, None)


@contextlib.contextmanager
def _network(cables: Sequence[Cable]) -> Iterator[NetemWorld]:
    sweep()
    labels = list(dict.fromkeys(end for one in cables for end in (one.near, one.far)))
    *names, router = new_names([*labels, _ROUTER])
    hosts = {
        label: Space(name, _addresses(label, cables))
        for label, name in zip(labels, names, strict=True)
    }
    with contextlib.ExitStack() as stack:
        for space in (*hosts.values(), Space(router, ())):
            stack.callback(space.remove)
            space.make()
        ip(f"netns exec {router} sysctl -qw net.ipv4.ip_forward=1")
        for number, one in enumerate(cables):
            for end, place, way in ((one.near, _NEAR_PLACE, _DOWN), (one.far, _FAR_PLACE, _UP)):
                device, words = f"{way}{number}", netem(one.profile, down=way == _DOWN)
                mtu = one.profile.mtu
                _plug_in(hosts[end].name, router, device, path=number, place=place, mtu=mtu)
                _tc(router, f"qdisc add dev {device} root {words}")
        yield NetemWorld(hosts, cables, router)


def _plug_in(host: str, router: str, device: str, *, path: int, place: int, mtu: int) -> None:
    """A cable between a host and the router, and the way to the other end. Raises OSError."""
    other = _NEAR_PLACE + _FAR_PLACE - place
    gateway = _address(path, place + 1)
    at_router, at_host = (f"02:00:00:00:{path:02x}:{place + one:02x}" for one in (1, 0))
    ip(
        f"-n {router} link add {device} address {at_router} type veth "
        f"peer name path{path} address {at_host} netns {host}",
        f"-n {router} address add {gateway}/30 dev {device}",
        f"-n {host} address add {_address(path, place)}/30 dev path{path}",
        f"-n {host} link set path{path} mtu {mtu} gso_max_segs 1 up",
        f"-n {router} link set {device} mtu {mtu} gso_max_segs 1 up",
        f"-n {host} neighbour add {gateway} lladdr {at_router} dev path{path} nud permanent",
        f"-n {router} neighbour add {_address(path, place)} lladdr {at_host} dev {device} "
        "nud permanent",
        f"-n {host} route add {_address(path, other)}/32 via {gateway} congctl {CONGESTION}",
    )


def _addresses(label: str, cables: Sequence[Cable]) -> list[str]:
    return [
        _address(number, _NEAR_PLACE if one.near == label else _FAR_PLACE)
        for number, one in enumerate(cables)
        if label in (one.near, one.far)
    ]


def _address(path: int, place: int) -> str:
    return f"10.204.{path}.{place}"


def _us(seconds: float) -> str:
    return f"{round(seconds * 1e6)}us"


def _tc(space: str, words: str) -> str:
    """What tc says in a namespace. Raises OSError with its complaint."""
    command: list[Any] = ["tc", "-n", space, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"tc {words}: {done.stderr.strip()}")
    return done.stdout
