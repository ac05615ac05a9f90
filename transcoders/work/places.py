"""A bounded number of places, shared fairly by owners, each of whom has a line.

The next place goes to the owner who has had the least time in places of those who wait, so that
one with a hundred long jobs holds up another's short one by no more than what is running. Who was
away has no credit for that. Within an owner's line first come is first served, but that who says it
may be overtaken stands where it would stand had it come later by so much: so it goes on, however
much short work comes. Knows nothing of the work. Source: Goyal, Vin, Cheng, "Start-time fair
queuing" (SIGCOMM 1996), in seconds of use instead of bytes.
"""

from __future__ import annotations

import asyncio
import heapq
from dataclasses import dataclass, field
from itertools import count
from typing import Final

KNOWN: Final = 1024
"""Owners who want nothing now, whose use is remembered while others work: more than there are."""


@dataclass(slots=True, eq=False)
class _Owner:
    """Whose line it is."""

    used: float
    """Seconds in places so far, counted from when others were as far (virtual time)."""
    line: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    held: dict[int, float] = field(default_factory=dict)
    """Since when each of its places is held."""
    served: int = 0
    """The serial of what it was given last: who was served longer ago goes first."""

    def rank(self, now: float) -> tuple[float, int]:
        """Who has the least goes first."""
        return self.used + sum(now - since for since in self.held.values()), self.served


class Places:
    """Like asyncio.Semaphore, whose line is first in, first out."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._owners: dict[str, _Owner] = {}
        self._floor = 0.0
        """How far the owner was who was served last: nobody begins behind that."""
        self._serial = count(1)

    @property
    def known(self) -> int:
        """Owners of whom anything is remembered."""
        return len(self._owners)

    def locked(self) -> bool:
        """Whether who comes now has to wait."""
        return self._free == 0

    def waiting(self, whose: str) -> int:
        """How many stand in an owner's line."""
        owner = self._owners.get(whose)
        return sum(not turn.done() for _, _, turn in owner.line) if owner is not None else 0

    async def acquire(self, whose: str = "", *, yields: float = 0.0) -> Place:
        """A place. `yields`: what the owner asks for less than so many seconds later goes first,
        unless it yields, too."""
        loop = asyncio.get_running_loop()
        owner, serial = self._owner(whose), next(self._serial)
        if self._free:
            self._free -= 1
            return self._give(whose, owner, serial, loop.time())
        turn: asyncio.Future[None] = loop.create_future()
        heapq.heappush(owner.line, (loop.time() + yields, serial, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it was given one at the same moment
                Place(self, whose, serial).release()
            raise
        return Place(self, whose, serial)

    def give_back(self, whose: str, serial: int) -> None:
        """The place is free: for the next in line, if there is one."""
        now = asyncio.get_running_loop().time()
        owner = self._owners[whose]
        owner.used += now - owner.held.pop(serial)
        self._free += 1
        self._serve(now)
        if not owner.held and not owner.line:
            self._forget()

    def _owner(self, whose: str) -> _Owner:
        owner = self._owners.get(whose)
        if owner is None:
            self._owners[whose] = owner = _Owner(self._floor)
        elif not owner.line and not owner.held:
            owner.used = max(owner.used, self._floor)
        return owner

    def _give(self, whose: str, owner: _Owner, serial: int, now: float) -> Place:
        owner.held[serial] = now
        owner.served = next(self._serial)
        return Place(self, whose, serial)

    def _serve(self, now: float) -> None:
        """Give what is free to who waits."""
        while self._free and (found := self._next(now)) is not None:
            whose, owner = found
            self._floor = max(self._floor, owner.used)
            _, serial, turn = heapq.heappop(owner.line)
            self._free -= 1
            self._give(whose, owner, serial, now)
            turn.set_result(None)

    def _next(self, now: float) -> tuple[str, _Owner] | None:
        """Whose line is served next."""
        waits = []
        for whose, owner in self._owners.items():
            while owner.line and owner.line[0][2].done():  # it has left
                heapq.heappop(owner.line)
            if owner.line:
                waits.append((owner.rank(now), whose, owner))
        return min(waits)[1:] if waits else None

    def _forget(self) -> None:
        """Owners who want nothing: all of them once nobody wants anything, else those who owe
        nothing, or are too many."""
        idle = [
            (one.used, whose) for whose, one in self._owners.items() if not (one.held or one.line)
        ]
        if len(idle) == len(self._owners):
            self._owners.clear()
            self._floor = 0.0
            return
        spare = len(idle) - KNOWN
        for number, (used, whose) in enumerate(sorted(idle)):
            if used <= self._floor or number < spare:
                del self._owners[whose]


@dataclass(frozen=True, slots=True)
class Place:
    """One that is held."""

    _places: Places
    _whose: str
    _serial: int

    def release(self) -> None:
        """Give it back, once."""
        self._places.give_back(self._whose, self._serial)
