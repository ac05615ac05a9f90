"""Hosts of an emulated network: this machine, or namespaces that only emulated paths join.

Such a namespace has no cable to this machine; a socket that belongs inside can be had all the same,
and is how a bench reaches servers there without a byte on the paths. Names carry the process id of
who made them, so that the next run can remove what a killed one has left. Knows namespaces and
sockets; nothing of rates. Sources: ip-netns(8), setns(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Protocol, TypeVar

from bench.links.namespaces import NoNamespaces

Result = TypeVar("Result")

CONGESTION: Final = "cubic"
"""What most servers have; a namespace would have this machine's. A socket may choose another."""
_SPACES: Final = Path("/run/netns")
_NAME: Final = re.compile(r"sluice-(\d+)-\d+-\w+", re.ASCII)
_CLONE_NEWNET: Final = 0x40000000
"""sched.h"""
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


class Host(Protocol):
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
        return ("ip", "netns", "exec", self.name, *words)

    def new_socket(self, kind: int = socket.SOCK_STREAM) -> socket.socket:
        return self.inside(lambda: socket.socket(socket.AF_INET, kind))

    def inside(self, do: Callable[[], Result]) -> Result:
        """What `do` gives when the namespace is its thread's own. Raises OSError."""

        def visit() -> Result:
            enter(self.name)
            return do()

        # A thread can't be trusted to be outside again afterwards: this one ends.
        with ThreadPoolExecutor(1) as visitor:
            return visitor.submit(visit).result()

    def make(self) -> None:
        """Make it, with loopback. Raises NoNamespaces."""
        try:
            ip(f"netns add {self.name}", f"-n {self.name} link set lo up")
            self.inside(_settle)
        except OSError as error:
            raise NoNamespaces(f"no network namespace can be made here: {error}") from error

    def remove(self) -> None:
        """End what runs inside, remove it; what is not there is no error."""
        with contextlib.suppress(OSError):
            for process in _ip("netns", "pids", self.name).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        with contextlib.suppress(OSError):
            _ip("netns", "del", self.name)


def enter(name: str) -> None:
    """The calling thread belongs to that namespace from now on. Raises OSError."""
    with (_SPACES / name).open() as space:
        library = ctypes.CDLL(None, use_errno=True)
        if library.setns(space.fileno(), _CLONE_NEWNET):
            code = ctypes.get_errno()
            raise OSError(code, f"{name} can't be entered: {os.strerror(code)}")


def new_names(labels: Sequence[str]) -> list[str]:
    """Of namespaces of one more world of this process."""
    serial = next(_SERIAL)
    return [f"sluice-{os.getpid()}-{serial}-{label}" for label in labels]


def require_root() -> None:
    """Raises NoNamespaces when none can be made."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise NoNamespaces("a network namespace needs root and iproute2")


def sweep() -> list[str]:
    """Remove worlds' namespaces whose makers are gone; their names."""
    names = [path.name for path in _SPACES.iterdir()] if _SPACES.is_dir() else []
    swept = []
    for name in sorted(names):
        matched = _NAME.fullmatch(name)
        if matched is not None and not Path("/proc", matched[1]).exists():
            Space(name, ()).remove()
            swept.append(name)
    return swept


def ip(*lines: str) -> None:
    """Have iproute2 do these, one after the other. Raises OSError with its complaint."""
    for line in lines:
        _ip(*line.split())


def _ip(*words: str) -> str:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def _settle() -> None:
    """Set what differs from this machine, where the kernel has it."""
    for name, value in _SETTINGS.items():
        with contextlib.suppress(FileNotFoundError):
            Path("/proc/sys/net", name).write_text(value)
