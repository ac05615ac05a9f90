"""Hosts of an emulated network: this machine, or namespaces that only emulated paths join.

Such a namespace has no cable to this machine; a socket that belongs inside can be had all the same,
and is how a bench reaches servers there without a byte on the paths. Names carry the process id of
who made them, so that the next run can remove what a killed one has left. Knows namespaces and
sockets; nothing of rates. Sources: ip-netns(8), setns(2).
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Protocol, TypeVar

from emulation.worlds import netns
from emulation.worlds.netns import NoNamespaces

Result = TypeVar("Result")

CONGESTION: Final = "cubic"
"""What most servers have; a namespace would have this machine's. A socket may choose another."""
_NAME: Final = re.compile(r"sluice-(\d+)-\d+-\w+", re.ASCII)
_SERIAL: Final = count()
"""Of this process's worlds."""
_SETTINGS: Final = {
    # Neighbour discovery would put packets on a path that nobody has sent.
    "ipv6/conf/all/disable_ipv6": "1",
    "ipv6/conf/default/disable_ipv6": "1",
    # A run learns nothing from the one before.
    "ipv4/tcp_no_metrics_save": "1",
    # Two paths between two hosts: a packet may come by the other one.
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/default/rp_filter": "0",
}


class EmulatedHost(Protocol):
    """Where a process can run and a server can listen."""

    @property
    def address(self) -> str:
        """Where servers there listen and are reached: the first path's."""

    @property
    def addresses(self) -> Sequence[str]:
        """One for each path that ends there, in the order of the paths."""

    def command(self, *words: str) -> tuple[str, ...]:
        """What runs `words` there; the process is that of `words`."""

    def new_socket(self, kind: int = socket.SOCK_STREAM) -> socket.socket:
        """An IPv4 socket that belongs there, though this process uses it. Raises OSError."""


class Machine:
    """This one, on its loopback."""

    address: Final = "127.0.0.1"
    addresses: Final = ("127.0.0.1",)

    def command(self, *words: str) -> tuple[str, ...]:
        return words

    def new_socket(self, kind: int = socket.SOCK_STREAM) -> socket.socket:
        return socket.socket(socket.AF_INET, kind)


HERE: Final = Machine()


@dataclass(frozen=True, slots=True)
class Space:
    """A namespace as a host."""

    name: str
    addresses: Sequence[str]

    @property
    def address(self) -> str:
        return self.addresses[0]

    def command(self, *words: str) -> tuple[str, ...]:
        return netns.command(self.name, *words)

    def new_socket(self, kind: int = socket.SOCK_STREAM) -> socket.socket:
        return self.inside(lambda: socket.socket(socket.AF_INET, kind))

    def inside(self, do: Callable[[], Result]) -> Result:
        """What `do` gives when the namespace is its thread's own. Raises OSError."""
        return netns.inside(self.name, do)

    def make(self) -> None:
        """Make it, with loopback. Raises NoNamespaces."""
        try:
            ip(f"netns add {self.name}", f"-n {self.name} link set lo up")
            self.inside(_settle)
        except OSError as error:
            raise NoNamespaces(f"no network namespace can be made here: {error}") from error

    def remove(self) -> None:
        """End what runs inside, remove it; what is not there is no error."""
        netns.end(self.name)


def new_names(labels: Sequence[str]) -> list[str]:
    """Names of namespaces of one more world of this process."""
    serial = next(_SERIAL)
    return [f"sluice-{os.getpid()}-{serial}-{label}" for label in labels]


def sweep() -> list[str]:
    """Remove worlds' namespaces whose makers are gone; their names."""
    swept = netns.left(_NAME)
    for name in swept:
        netns.end(name)
    return swept


def ip(*lines: str) -> None:
    """Have iproute2 do these, one after the other. Raises OSError with its complaint."""
    for line in lines:
        netns.ip(*line.split())


def _settle() -> None:
    """Set what differs from this machine, where the kernel has it."""
    for name, value in _SETTINGS.items():
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys/net", name).write_text(value)
