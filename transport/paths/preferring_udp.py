"""Dials a remote over UDP, and over TCP where that gets no answer.

Some networks let no UDP through, or lose it after a while. Whoever dials waits a moment for an
answer over UDP; without one TCP has its turn, and UDP is left alone for a minute, then ever longer.
So it is where UDP answers at first and is blocked in the middle (`blocked`).
A link that runs over TCP for want of UDP is told when to try that again (`due_in`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final

import structlog

from transport.link.connection import Connection
from transport.link.interface import LinkError, NotTrusted
from transport.spp.edge.udp import connect
from transport.spp.handshake.keys import ClientKeys
from transport.udp.connection import DEVICE, UdpConnection, congestion, udp_connection

ANSWER: Final = 2.5
"""Seconds for an answer: more than a round trip of the slowest links, and two HELLOs lost."""
FIRST_AGAIN: Final = 60.0
"""Seconds until UDP is tried again; twice as long after each time that it fails, unless it passed
for longer than that in between."""
LAST_AGAIN: Final = 3600.0
_log = structlog.get_logger("sluice.link")

Dial = Callable[[], Awaitable[Connection]]


async def dial_udp(
    host: str, port: int, *, keys: ClientKeys, timeout: float = ANSWER
) -> UdpConnection:
    """A connection over UDP to the remote of `keys`. Raises LinkError, NotTrusted."""
    link = await connect(
        host, port, keys=keys, settings=DEVICE, congestion=congestion(), timeout=timeout
    )
    return udp_connection(link, lingers=False)  # its socket is its own


class PreferringUdp:
    """Makes connections; remembers how UDP fared."""

    def __init__(self, udp: Dial, tcp: Dial) -> None:
        """`udp` fails soon where nobody answers."""
        self._udp = udp
        self._tcp = tcp
        self._again = FIRST_AGAIN
        self._not_before = float("-inf")
        self._passed_at: float | None = None
        """When UDP answered who dialled; None: it has failed since, or was not tried yet."""
        self.why_not = ""
        """Why TCP carries what UDP should; empty: it does not."""

    async def dial(self) -> Connection:
        """Whichever answers, UDP first. Raises LinkError, NotTrusted, OSError."""
        if self._now() >= self._not_before:
            try:
                return await self.dial_udp()
            except NotTrusted:
                raise
            except LinkError:
                pass  # said already
        return await self._tcp()

    async def dial_tcp(self) -> Connection:
        """Over TCP at once. Raises LinkError, NotTrusted, OSError."""
        return await self._tcp()

    def blocked(self, seconds: float) -> None:
        """UDP, which had answered, brought nothing for so long, where TCP got through."""
        self._failed(LinkError(f"no answer over UDP any more for {seconds:.1f} s"))

    async def dial_udp(self) -> Connection:
        """Over UDP or not at all. Raises LinkError, NotTrusted."""
        try:
            connection = await self._udp()
        except NotTrusted:
            raise
        except LinkError as error:
            self._failed(error)
            raise
        if self.why_not:
            _log.warning("UDP passes again")
        self._passed_at, self.why_not = self._now(), ""
        return connection

    def due_in(self) -> float:
        """Seconds until UDP, which failed, may be tried again; infinite if it did not."""
        return max(0.0, self._not_before - self._now()) if self.why_not else inf

    def network_changed(self) -> None:
        """Another network may let it pass."""
        self._again, self._not_before = FIRST_AGAIN, float("-inf")

    def _failed(self, error: LinkError) -> None:
        if not self.why_not:
            _log.warning("no UDP to the remote proxy: over TCP instead", reason=str(error))
        self.why_not = str(error)
        passed_at, self._passed_at = self._passed_at, None
        if passed_at is not None and self._now() - passed_at > self._again:
            self._again = FIRST_AGAIN
        self._not_before = self._now() + self._again
        self._again = min(2 * self._again, LAST_AGAIN)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
