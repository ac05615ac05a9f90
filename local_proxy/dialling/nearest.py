"""Goes on at the nearest of several remotes that are one: server migration (R2CP, section 4.4.2).

A ship's remote is the one of the port that it left. Every round trip goes there, however near
another one is by now. So when the link rests, after the first page, where the network has changed,
and every half hour while it is used, the others are dialled, one on each host. Whoever is much
nearer carries the link from then on: pages that are open are asked for there, pictures go on from
the level that they have, texts are coded against those of earlier visits where the remotes share a
store (docs/fleet.md).

Only at rest: an upload or a tunnel that is under way could not go on elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import structlog

from local_proxy.dialling.dialer import Trial
from transport.link.activity import Activity
from transport.link.interface import Link, LinkError

EVERY: Final = 1800.0
"""Seconds between two looks, while the link is used: a handshake is 5 KB."""
AGAIN: Final = 60.0
"""The same after one in vain, because somebody needed the link: a page that asks its server every
second would have it filled with handshakes else."""
REST: Final = 5.0
"""Seconds since something moved on the link, after which it may rest."""
NEARER: Final = 0.7
"""Of the present round trip, that another's must be below,"""
GAIN: Final = 0.02
"""and the seconds that it must be shorter by: each move costs a page its connection."""
ECHOES: Final = 3
"""Round trips of the present remote that are measured; the shortest counts."""
_log = structlog.get_logger("sluice.local")


class Trials(Protocol):
    """Makes links to others; `local_proxy.dialling.dialer.Dialer` is one."""

    @property
    def elsewhere(self) -> Sequence[tuple[str, int]]: ...
    async def trial(self, address: tuple[str, int]) -> Trial: ...
    def take(self, trial: Trial) -> None: ...


class Movable(Protocol):
    """Has the session; `local_proxy.link.uplink.Uplink` is one."""

    activity: Activity

    @property
    def at_rest(self) -> bool: ...
    async def round_trip(self) -> float | None: ...
    def move(self, link: Link) -> None: ...


class NearestRemote:
    """Looks for a nearer remote now and then."""

    def __init__(self, dialer: Trials, uplink: Movable) -> None:
        self._dialer, self._uplink = dialer, uplink
        self._due_at = float("-inf")

    def network_changed(self) -> None:
        """By another network another one may be nearer."""
        self._due_at = float("-inf")

    async def run(self) -> None:
        """Until cancelled. Where nothing moves nothing is done."""
        loop, watch = asyncio.get_running_loop(), self._uplink.activity.watch()
        while True:
            await watch.news(pause=REST)
            if loop.time() >= self._due_at and self._uplink.at_rest:
                self._due_at = loop.time() + EVERY  # a network that changes meanwhile is news
                if not await self._look():
                    self._due_at = min(self._due_at, loop.time() + AGAIN)

    async def _look(self) -> bool:
        """Try the others, and move where one is nearer; False: it must be done again, for somebody
        needed the link meanwhile."""
        echoes = [await self._uplink.round_trip() for _ in range(ECHOES)]
        present = min((one for one in echoes if one is not None), default=None)
        if present is None:
            return False
        best: Trial | None = None
        try:
            for address in self._dialer.elsewhere:
                try:
                    trial = await self._dialer.trial(address)
                except LinkError as error:
                    _log.info("another remote proxy does not answer", reason=str(error))
                    continue
                best, other = (trial, best) if _nearer(trial, best, present) else (best, trial)
                if other is not None:
                    other.close()
            if best is None:
                return True
            if not self._uplink.at_rest:
                return False
            _log.warning(
                "the link moves to a nearer remote proxy",
                remote=best.address,
                milliseconds=round(best.round_trip * 1000),
                instead_of=round(present * 1000),
            )
            self._dialer.take(best)
            self._uplink.move(best.link)
            best = None
            return True
        finally:
            if best is not None:
                best.close()


def _nearer(trial: Trial, best: Trial | None, present: float) -> bool:
    """Whether that one is much nearer than the present remote, and than the best of the others."""
    trip = trial.round_trip
    if trip > min(NEARER * present, present - GAIN):
        return False
    return best is None or trip < best.round_trip
