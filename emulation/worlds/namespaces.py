"""A network namespace behind a cable: another machine, as far as addresses and the kernel go.

This machine's end of the cable can change its address, so that connections over it break as a
roaming device's do. Needs root and iproute2. Names carry the process id of who made them: what a
killed run has left is found and removed by the next one. Knows processes, interfaces and sockets;
nothing of proxies. Sources: ip-netns(8), veth(4), setns(2).
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from emulation.worlds import netns
from emulation.worlds.netns import NoNamespaces, ip

__all__ = ("Namespace", "NoNamespaces", "namespace", "sweep")

_NETWORK: Final = ipaddress.ip_network("10.203.0.0/16")
"""Each namespace has eight addresses of it, chosen by process id."""
_PREFIX: Final = 29
_FAR: Final = 2
"""The far end's place among the eight."""
_NEAR: Final = (1, 3, 4, 5, 6)
"""This end's, one after the other."""
_NAME: Final = re.compile(r"sluice-(\d+)", re.ASCII)


class Namespace:
    """One, and this machine's end of the cable to it."""

    def __init__(self, process: int) -> None:
        """The one that belongs to `process`, whether it has been made or not."""
        self.name = f"sluice-{process}"
        self._near_end = f"sl{process}"
        hosts = 1 << (_NETWORK.max_prefixlen - _PREFIX)
        count = _NETWORK.num_addresses // hosts
        self._first = _NETWORK.network_address + process % count * hosts
        self._changes = 0

    @property
    def near(self) -> str:
        """This machine's address on the cable."""
        return self._address(_NEAR[self._changes % len(_NEAR)])

    @property
    def far(self) -> str:
        """The namespace's address."""
        return self._address(_FAR)

    def command(self, *words: str) -> tuple[str, ...]:
        """What runs `words` inside; the process is that of `words`."""
        return netns.command(self.name, *words)

    def new_socket(self) -> socket.socket:
        """A TCP socket that belongs inside, though this process uses it. Raises OSError."""
        return netns.inside(self.name, socket.socket)

    def change_address(self) -> str:
        """This end gets another address and loses the one it has: that one. Raises OSError."""
        gone = self.near
        self._changes += 1
        ip("address", "add", f"{self.near}/{_PREFIX}", "dev", self._near_end)
        ip("address", "del", f"{gone}/{_PREFIX}", "dev", self._near_end)
        return gone

    def make(self) -> None:
        """Make it. Raises NoNamespaces."""
        try:
            ip("netns", "add", self.name)
            near = ("link", "add", self._near_end, "type", "veth")
            ip(*near, "peer", "name", "far", "netns", self.name)
            ip("address", "add", f"{self.near}/{_PREFIX}", "dev", self._near_end)
            # Else the kernel takes the later address away with the first.
            Path(f"/proc/sys/net/ipv4/conf/{self._near_end}/promote_secondaries").write_text("1")
            ip("link", "set", self._near_end, "up")
            ip("-n", self.name, "address", "add", f"{self.far}/{_PREFIX}", "dev", "far")
            for device in ("far", "lo"):
                ip("-n", self.name, "link", "set", device, "up")
        except OSError as error:
            raise NoNamespaces(f"no network namespace can be made here: {error}") from error

    def remove(self) -> None:
        """End what runs inside, remove cable and namespace; what is not there is no error."""
        with contextlib.suppress(OSError):
            ip("link", "del", self._near_end)
        netns.end(self.name)

    def _address(self, place: int) -> str:
        return str(self._first + place)


@contextlib.contextmanager
def namespace() -> Iterator[Namespace]:
    """This process's own; one at a time. Raises NoNamespaces."""
    netns.require_root()
    sweep()
    made = Namespace(os.getpid())
    try:
        made.make()
        yield made
    finally:
        made.remove()


def sweep() -> list[str]:
    """Remove namespaces whose makers are gone; their names."""
    swept = netns.left(_NAME)
    for name in swept:
        Namespace(int(name.removeprefix("sluice-"))).remove()
    return swept
