"""The addresses of a remote proxy, of which whichever answers will do.

Several remotes can be one to their devices (docs/fleet.md), and one can have several addresses. The
one that answered last comes first; while it is silent, or as soon as it refuses, the next has its
turn too. Source: RFC 8305, for addresses of a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol, Self, TypeVar

import structlog

from transport.link.interface import LinkError, NotTrusted

STAGGER: Final = 3.0
"""Seconds of silence until the next one is tried beside it: a handshake is 5 KB and two round
trips, a second over 56 kbit/s at rest."""
SPREAD: Final = 12.0
"""Seconds within which all have been tried, however many there are."""
_log = structlog.get_logger("sluice.local")


class Closable(Protocol):
    """A connection, as far as it matters here."""

    def close(self) -> None: ...


Way = TypeVar("Way", bound=Closable)


class Endpoints:
    """Hosts and ports, at least one."""

    def __init__(self, addresses: Sequence[tuple[str, int]]) -> None:
        self._addresses = list(addresses)

    @classmethod
    def of(cls, text: str) -> Self:
        """Read a setting: host:port or [v6]:port, several separated by commas."""
        parts = (one.strip().rpartition(":") for one in text.split(","))
        return cls([(host.strip("[]"), int(port)) for host, _, port in parts])

    @property
    def first(self) -> tuple[str, int]:
        """Where it answered last, or is tried first."""
        return self._addresses[0]

    @property
    def elsewhere(self) -> list[tuple[str, int]]:
        """Addresses on other hosts than the first one's, one of each."""
        hosts: dict[str, tuple[str, int]] = {}
        for host, port in self._addresses:
            hosts.setdefault(host, (host, port))
        del hosts[self.first[0]]
        return list(hosts.values())

    def beginning_with(self, address: tuple[str, int]) -> Endpoints:
        """The same ones, of which that comes first."""
        return Endpoints([address, *(one for one in self._addresses if one != address)])

    def turned_away(self) -> None:
        """The first one has answered, and would have none of us: the others come before it."""
        self._addresses.append(self._addresses.pop(0))

    async def dial(
        self, connect: Callable[[str, int], Awaitable[Way]], *, stagger: float = STAGGER
    ) -> Way:
        """A connection to whichever answers first. Raises LinkError, NotTrusted, OSError.

        `stagger`: seconds that each is given before the next is tried too.

        NotTrusted only where none of them fails for another reason: that may be over soon.
        """
        waiting = list(self._addresses)
        if len(waiting) == 1:
            return await connect(*waiting[0])
        under_way: dict[asyncio.Future[Way], tuple[str, int]] = {}
        errors: list[Exception] = []
        try:
            while waiting or under_way:
                if waiting:
                    address = waiting.pop(0)
                    under_way[asyncio.ensure_future(connect(*address))] = address
                done, _ = await asyncio.wait(
                    under_way,
                    timeout=min(stagger, SPREAD / len(self._addresses)) if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in done:
                    address, error = under_way.pop(task), task.exception()
                    if error is None:
                        self._answered(address)
                        return task.result()
                    if not isinstance(error, LinkError | OSError):
                        raise error
                    errors.append(error)
        finally:
            for task in under_way:
                task.add_done_callback(_close)
                task.cancel()
        trusted = [error for error in errors if not isinstance(error, NotTrusted)]
        raise (trusted or errors)[0]

    def _answered(self, address: tuple[str, int]) -> None:
        if address != self.first:
            _log.warning("the remote proxy answers at another address", address=address)
            self._addresses.remove(address)
            self._addresses.insert(0, address)


def _close(task: asyncio.Future[Way]) -> None:
    """It came second."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()
