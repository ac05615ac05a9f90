"""Measures what a link backend does against its profile. Blocks: for a thread of its own.

Packets are sent beyond the rate into a deep queue, so that a sender that stumbles leaves no gap;
one by one for the delay; all at once for the queue. Knows worlds and datagrams; not what is good
enough.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Final

import msgspec

from emulation.lines.profiles import Profile
from emulation.worlds.cables import World
from emulation.worlds.datagrams import Datagram, Datagrams

_SINGLE: Final = 100
"""Bytes of IP of the datagrams that delays are measured by."""
_SETTLE: Final = 0.2
"""Seconds until a first datagram has been through, and stamps are the kernel's own."""
_HEADROOM: Final = 1.3
"""Times the rate at which a link is kept busy."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How far measurements lie apart, seconds."""

    median: float
    percentile_99: float


def link(rate_bits: float, *, delay: float = 0.02, mtu: int = 1500, queue: int = 0) -> Profile:
    """A plain link. `rate_bits` in bits/second; its queue holds a second unless said otherwise."""
    rate = rate_bits / 8
    return Profile(
        name=f"{rate_bits / 1e6:g} Mbit/s",
        about="a plain link",
        rate_down=rate,
        rate_up=rate,
        delay=delay,
        queue=queue or max(int(rate), 4 * mtu),
        mtu=mtu,
    )


def altered(profile: Profile, **changes: float) -> Profile:
    """The same but for these."""
    return msgspec.structs.replace(profile, **changes)


def added_delay(world: World, *, count: int) -> Spread:
    """How much later single datagrams are than the profile says, towards the near side."""
    profile = world.cables[0].profile
    pause = 0.005 + _SINGLE / profile.rate_down
    with _towards_near(world, 0) as datagrams:
        for _ in range(count):
            datagrams.send(_SINGLE)
            time.sleep(pause)
        arrived = datagrams.arrived(within=profile.delay + _SETTLE)
    own = profile.delay + _SINGLE / profile.rate_down
    added = sorted(one.arrived - one.sent - own for one in arrived)
    return Spread(statistics.median(added), added[int(len(added) * 0.99)])


def rate(world: World, *, seconds: float, path: int = 0) -> float:
    """Bytes/second of IP that a busy link carries to the near side."""
    arrived = busy(world, seconds=seconds, path=path)
    # A sender that stumbles before there is a backlog leaves a gap that is not the link's.
    arrived = arrived[len(arrived) // 4 :]
    return sum(one.size for one in arrived[1:]) / (arrived[-1].arrived - arrived[0].arrived)


def rates(world: World, *, seconds: float) -> list[float]:
    """The same of all paths at once."""
    found = [0.0] * len(world.cables)

    def measure(path: int) -> None:
        found[path] = rate(world, seconds=seconds, path=path)

    threads = [Thread(target=measure, args=(path,)) for path in range(len(found))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def busy(world: World, *, seconds: float, path: int = 0) -> Sequence[Datagram]:
    """What arrives of a link kept busy for so long."""
    profile = world.cables[path].profile
    count = int(seconds * profile.rate_down * _HEADROOM / profile.mtu)
    left = seconds * (_HEADROOM - 1) + profile.delay + _SETTLE
    with _towards_near(world, path) as datagrams:
        datagrams.paced(profile.mtu, count, rate=profile.rate_down * _HEADROOM)
        return datagrams.arrived(within=left)


def accepted(world: World) -> int:
    """Bytes that the queue towards the near side takes of a burst of twice what it should hold."""
    profile = world.cables[0].profile
    with _towards_near(world, 0) as datagrams:
        datagrams.burst(profile.mtu, 2 * profile.queue // profile.mtu)
        time_left = profile.queue / profile.rate_down + profile.delay + _SETTLE
        arrived = datagrams.arrived(within=time_left)
    return sum(one.size for one in arrived)


@dataclass(frozen=True, slots=True)
class Fates:
    """Shares of packets, and what chance allows them to be off by."""

    lost: float
    overtaken: float
    allowed: float


def fates(world: World, *, count: int) -> Fates:
    """What becomes of so many packets towards the near side, sent at half of its rate."""
    profile = world.cables[0].profile
    with _towards_near(world, 0) as datagrams:
        datagrams.paced(profile.mtu, count, rate=profile.rate_down / 2)
        arrived = datagrams.arrived(within=profile.delay + profile.reorder_delay + _SETTLE)
    latest, overtaken = 0, 0
    for one in arrived:
        overtaken += one.number < latest
        latest = max(latest, one.number)
    share = max(profile.loss, profile.reorder)
    # Three standard deviations of a binomial; losses in runs spread by their length.
    allowed = 3 * (share * (1 - share) * (2 * profile.loss_run - 1) / count) ** 0.5
    return Fates(1 - len(arrived) / count, overtaken / len(arrived), allowed)


def followed(world: World, *, seconds: float) -> float:
    """Bytes towards the near side over those that the profile's trace lets pass meanwhile."""
    world.rewind()
    began = time.time_ns() / 1e9
    arrived = busy(world, seconds=seconds)
    profile = world.cables[0].profile
    schedule = profile.schedule(down=True, epoch=began + profile.delay)
    possible = schedule.carried(arrived[0].arrived, arrived[-1].arrived)
    return sum(one.size for one in arrived[1:]) / possible


def _towards_near(world: World, path: int) -> Datagrams:
    """Warm: one datagram has been through."""
    cable = world.cables[path]
    near, far = world.hosts[cable.near], world.hosts[cable.far]
    datagrams = Datagrams(far, near, to=near.addresses[path])
    datagrams.warm_up(within=cable.profile.delay + _SETTLE)
    return datagrams
