"""Who may stay at the proxy's port when it is full: who has said what they want, before all others.

A new connection takes the place of one whose request has not come whole, the longest waiting of
the address that has most of these (so that a crowd puts nobody out but its own), or else of one
that is idle between two requests, which clients must expect (RFC 9112, 9.3.1). Whoever is being
served stays. Must not know: HTTP, sockets but to close them.
"""

from __future__ import annotations

import asyncio
from collections import Counter

from local_proxy.http.client_socket import ClientSocket
from transport.tcp.handshakes import network_of


class Room:
    """The connections of one front."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._places: dict[asyncio.Task[None], ConnectionPlace] = {}
        self._owing: dict[ConnectionPlace, None] = {}
        """Those whose next request has not come whole, the longest waiting first."""
        self._idle: dict[ConnectionPlace, None] = {}
        """Those that may be silent, the longest silent first."""

    def __repr__(self) -> str:
        return f"<Room {len(self)} of {self._most}, {len(self._owing)} owe a request>"

    def __len__(self) -> int:
        return len(self._places)

    def enter(self, client: ClientSocket, task: asyncio.Task[None]) -> None:
        """A connection that `task` serves; it owes a request."""
        place = ConnectionPlace(self, client)
        self._places[task] = place
        place.owes()
        task.add_done_callback(self._leave)

    def make(self) -> bool:
        """See to it that one more has room; whether there is any."""
        if len(self._places) < self._most:
            return True
        place = self._longest_owing() or next(iter(self._idle), None)
        if place is None:
            return False
        task = next(task for task, one in self._places.items() if one is place)
        self._leave(task)  # it counts no more, though it ends a moment later
        place.client.give_up()
        return True

    def mine(self) -> ConnectionPlace | None:
        """The place of the connection whose task this is; None: it is a stream inside one."""
        task = asyncio.current_task()
        return self._places.get(task) if task is not None else None

    def _longest_owing(self) -> ConnectionPlace | None:
        crowds = Counter(place.network for place in self._owing)
        most = max(crowds.values(), default=0)
        return next((place for place in self._owing if crowds[place.network] == most), None)

    def _leave(self, task: asyncio.Task[None]) -> None:
        place = self._places.pop(task, None)
        if place is not None:
            place.is_served()


class ConnectionPlace:
    """One connection's place in the room."""

    def __init__(self, room: Room, client: ClientSocket) -> None:
        self._room = room
        self.client = client
        self.network = network_of(client.peer)

    def owes(self) -> None:
        """A request is due, and has not come whole."""
        self._room._idle.pop(self, None)
        self._room._owing.setdefault(self)

    def idles(self) -> None:
        """It has been served, and may say nothing for a while."""
        self._room._owing.pop(self, None)
        self._room._idle.setdefault(self)

    def is_served(self) -> None:
        """Its request is here."""
        self._room._owing.pop(self, None)
        self._room._idle.pop(self, None)
