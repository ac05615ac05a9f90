"""A network namespace behind a cable: another machine, as far as addresses and the kernel go.

This machine's end of the cable can change its address, so that connections over it break as a
roaming device's do. Needs root and iproute2. Names carry the process id of who made them: what a
killed run has left is found and removed by the next one. Knows processes, interfaces and sockets;
nothing of proxies. Sources: ip-netns(8), veth(4), setns(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

_NETWORK: Final = ipaddress.ip_network("10.203.0.0/16")
"""Each namespace has eight addresses of it, chosen by process id."""
_PREFIX: Final = 29
_FAR: Final = 2
"""The far end's place among the eight."""
_NEAR: Final = (1, 3, 4, 5, 6)
"""This end's, one after the other."""
_SPACES: Final = Path("/run/netns")
_NAME: Final = re.compile(r"sluice-(\d+)", re.ASCII)
_CLONE_NEWNET: Final = 0x40000000
"""sched.h"""


class NoNamespaces(Exception):
    """None can be made here; the message says why."""


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
        return ("ip", "netns", "exec", self.name, *words)

    def new_socket(self) -> socket.socket:
        """A TCP socket that belongs inside, though this process uses it. Raises OSError."""
        # A thread can't be trusted to be outside again afterwards: this one ends.
        with ThreadPoolExecutor(1) as visitor:
            return visitor.submit(self._socket_inside).result()

    def change_address(self) -> str:
        """This end gets another address and loses the one it has: that one. Raises OSError."""
        gone = self.near
        self._changes += 1
        _ip("address", "add", f"{self.near}/{_PREFIX}", "dev", self._near_end)
        _ip("address", "del", f"{gone}/{_PREFIX}", "dev", self._near_end)
        return gone

    def make(self) -> None:
        """Make it. Raises NoNamespaces."""
        try:
            _ip("netns", "add", self.name)
            near = ("link", "add", self._near_end, "type", "veth")
            _ip(*near, "peer", "name", "far", "netns", self.name)
            _ip("address", "add", f"{self.near}/{_PREFIX}", "dev", self._near_end)
            # Else the kernel takes the later address away with the first.
            Path(f"/proc/sys/net/ipv4/conf/{self._near_end}/promote_secondaries").write_text("1")
            _ip("link", "set", self._near_end, "up")
            _ip("-n", self.name, "address", "add", f"{self.far}/{_PREFIX}", "dev", "far")
            for device in ("far", "lo"):
                _ip("-n", self.name, "link", "set", device, "up")
        except OSError as error:
            raise NoNamespaces(f"no network namespace can be made here: {error}") from error

    def remove(self) -> None:
        """End what runs inside, remove cable and namespace; what is not there is no error."""
        with contextlib.suppress(OSError):
            for process in _ip("netns", "pids", self.name).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        for words in (("link", "del", self._near_end), ("netns", "del", self.name)):
            with contextlib.suppress(OSError):
                _ip(*words)

    def _address(self, place: int) -> str:
        return str(self._first + place)

    def _socket_inside(self) -> socket.socket:
        with (_SPACES / self.name).open() as space:
            library = ctypes.CDLL(None, use_errno=True)
            if library.setns(space.fileno(), _CLONE_NEWNET):
                code = ctypes.get_errno()
                raise OSError(code, f"{self.name} can't be entered: {os.strerror(code)}")
        return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


@contextlib.contextmanager
def namespace() -> Iterator[Namespace]:
    """This process's own; one at a time. Raises NoNamespaces."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise NoNamespaces("a network namespace needs root and iproute2")
    sweep()
    made = Namespace(os.getpid())
    try:
        made.make()
        yield made
    finally:
        made.remove()


def sweep() -> list[str]:
    """Remove namespaces whose makers are gone; their names."""
    names = [path.name for path in _SPACES.iterdir()] if _SPACES.is_dir() else []
    swept = []
    for name in sorted(names):
        matched = _NAME.fullmatch(name)
        if matched is not None and not Path("/proc", matched[1]).exists():
            Namespace(int(matched[1])).remove()
            swept.append(name)
    return swept


def _ip(*words: str) -> str:
    """What `ip` says. Raises OSError with its complaint."""
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout
