"""A namespace whose only way out is a link to the one we are in; such links can be nested.

Each link has a block of addresses, of which it takes the first four; the rest is for links that
are made behind it, so that whoever is behind several reaches what is before all of them. Nothing is
translated: this machine's servers are reached at the link's far address, and what is beyond it only
where this machine passes packets on. Needs root. Source of the idea: mahimahi's shells (Netravali
et al., USENIX ATC 2015).
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from emulation.lines.profiles import Profile
from emulation.worlds import netns
from emulation.worlds.hosts import CONGESTION, Space, ip, new_names, sweep
from emulation.worlds.netns import NoNamespaces, require_root
from emulation.worlds.tun import DEVICE
from emulation.worlds.tun_relay import HOME, Command, PathSettings, RelayAnswer
from emulation.worlds.tun_world import TunRelayProcess

ALL: Final = "10.205.0.0/16"
"""Of those that are behind no other."""
_EACH: Final = 4
"""Bits by which a link's block is smaller than that in which it is."""
_SMALLEST: Final = 28
"""Bits of the smallest block: a link's own addresses are four."""
_ADDRESS: Final = re.compile(r"inet ([0-9.]+)")


@dataclass(frozen=True, slots=True)
class Behind:
    """Who is behind a link."""

    host: Space
    far: str
    """Where this machine is, as seen from there."""
    block: str
    """Addresses of links that are made there, as `behind` takes them."""
    carrier: TunRelayProcess

    def statistics(self) -> RelayAnswer:
        """What crossed, one path. Raises OSError."""
        return self.carrier.ask(Command())


@contextlib.contextmanager
def behind(profile: Profile, *, within: str = ALL, seed: int = 1) -> Iterator[Behind]:
    """Make it; all is gone when the block is left. Raises NoNamespaces, OSError.

    `within`: the block of the link behind which we are.
    """
    require_root()
    if not Path(DEVICE).exists():
        raise NoNamespaces(f"there is no {DEVICE} here")
    sweep()
    block = free_block(within, _ADDRESS.findall(netns.ip("-o", "-4", "address", "show")))
    far, near = (str(block[place]) for place in (2, 1))
    (name,) = new_names(["behind"])
    host, device = Space(name, [near]), f"link{block[0].packed.hex()}"
    with contextlib.ExitStack() as stack:
        stack.callback(host.remove)
        host.make()
        host.inside(lambda: Path("/proc/sys/net/ipv4/ip_forward").write_text("1"))
        path = PathSettings(name, HOME, device, profile, seed)
        carrier = TunRelayProcess([path])
        stack.callback(carrier.stop)
        ip(
            f"address add {far}/30 dev {device}",
            f"link set {device} up",
            f"route add {block} via {near} dev {device}",
            f"-n {name} address add {near}/30 dev {device}",
            f"-n {name} link set {device} up",
            f"-n {name} route add default via {far} dev {device} src {near} congctl {CONGESTION}",
        )
        yield Behind(host, far, str(block), carrier)


def free_block(within: str, taken: list[str]) -> ipaddress.IPv4Network:
    """The first block of these in which none of the addresses is. Raises NoNamespaces."""
    whole = ipaddress.IPv4Network(within)
    addresses = [ipaddress.IPv4Address(one) for one in taken]
    if whole.prefixlen + _EACH <= _SMALLEST:
        for block in whole.subnets(prefixlen_diff=_EACH):
            if not any(one in block for one in addresses):
                return block
    raise NoNamespaces(f"no addresses are left for one more link in {within}: too many, or nested")
