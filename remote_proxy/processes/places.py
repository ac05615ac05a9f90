"""Where each of several remote proxies on one machine listens. Pure.

Each has a port of its own, for TCP and UDP, so that all connections of a device, its second path
and its next network come to the process that has its session. Where they shared one, the kernel
would choose among them anew each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_LAST: Final = 65535


@dataclass(frozen=True, slots=True)
class ListeningPlace:
    """Addresses of one of them, host:port or [v6]:port; port 0: a free one."""

    listen: str
    status: str = ""
    """Of /health and /metrics; empty: nowhere."""

    def ports(self) -> set[int]:
        """All ports that are known."""
        found = (int(one.rpartition(":")[2]) for one in (self.listen, self.status) if one)
        return {port for port in found if port}

    def arguments(self) -> list[str]:
        """By which `sluice remote` is told."""
        return [f"--listen={self.listen}", *([f"--status={self.status}"] if self.status else [])]


def places(listen: str, status: str, count: int) -> list[ListeningPlace]:
    """For `count` processes, the first where the settings say, the others at the ports behind it.

    Raises ValueError where they don't fit, or two would be one.
    """
    found = [ListeningPlace(_behind(listen, n), _behind(status, n)) for n in range(count)]
    ports = [port for place in found for port in place.ports()]
    if len(set(ports)) < len(ports):
        raise ValueError(
            f"{count} processes need {count} ports from that of remote.listen on, and as many from "
            "that of remote.status on: these meet"
        )
    return found


def others(all_of_them: Iterable[ListeningPlace], one: ListeningPlace) -> list[int]:
    """Ports of all but that one, sorted."""
    return sorted({port for place in all_of_them if place is not one for port in place.ports()})


def _behind(address: str, number: int) -> str:
    host, _, text = address.rpartition(":")
    port = int(text or 0)
    if port + number > _LAST:
        raise ValueError(f"port {port + number} is none: {number + 1} processes from {address} on")
    return f"{host}:{port + number if port else 0}" if address else ""
