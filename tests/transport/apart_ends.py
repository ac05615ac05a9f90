"""Two sides of a link whose frames may go in any order: what says them, and what checks them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

from transport.link.interface import LinkError
from wire.frames import Control, Data


class ApartSource:
    """Says which components there are and sends them; implements ApartOutbox."""

    quantum = 1024
    apart = True

    def __init__(self, *, seed: int = 1) -> None:
        self.bodies: dict[int, bytes] = {}
        self._chance = random.Random(seed)
        self._said: list[Data | Control] = []
        self._waiting: dict[int, list[tuple[int, bytes]]] = {}
        self._dropped: list[int] = []
        self.messages: list[bytes] = []
        """All that was said."""

    def say(self, message: bytes, *, behind: tuple[int, int] | None = None) -> None:
        """A message that waits its turn; `behind`: to be read once that much of a component is."""
        self.messages.append(message)
        self._said.append(Control(message, behind))

    def open(self, component: int, body: bytes) -> None:
        """All of a component is there."""
        self.say(b"open %d" % component)
        self.bodies[component] = body
        self._waiting[component] = [(0, body)]

    def drop(self, component: int) -> None:
        """No more of it will go."""
        del self._waiting[component], self.bodies[component]
        self._dropped.append(component)

    @property
    def waiting(self) -> int:
        """Bytes that have not gone."""
        return sum(len(one) for pieces in self._waiting.values() for _, one in pieces)

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        return None

    def part(self) -> list[tuple[int, int]] | None:
        return []

    def next_said(self, *, now: float) -> list[Data | Control]:
        said, self._said = self._said, []
        return said

    def next_near(self, *, now: float, most: int) -> list[Data | Control]:
        return [*self.next_said(now=now), *self._take(0, most)]

    def next_far(
        self, *, now: float, most: int, behind: int, ends: bool = False
    ) -> list[Data | Control]:
        return self._take(behind, most)

    def dropped(self) -> list[int]:
        dropped, self._dropped = self._dropped, []
        return dropped

    def _take(self, skip: int, most: int) -> list[Data | Control]:
        for component, pieces in self._waiting.items():
            for place, (offset, piece) in enumerate(pieces):
                if skip >= len(piece):
                    skip -= len(piece)
                    continue
                end = min(len(piece), skip + min(most, self._chance.randint(1, self.quantum)))
                rest = ((offset, piece[:skip]), (offset + end, piece[end:]))
                pieces[place : place + 1] = [one for one in rest if one[1]]
                if not pieces:
                    del self._waiting[component]
                last = offset + end == len(self.bodies[component])
                return [Data(component, piece[skip:end], last, offset + skip)]
        return []


class ApartSink:
    """Takes frames, and fails where their order is none of a link; implements Inbox."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.bodies: dict[int, bytes] = {}
        self.done: set[int] = set()
        self.closed: list[LinkError | None] = []
        self._more = asyncio.Event()

    async def until(self, so_far: Callable[[], bool]) -> None:
        """Until that holds of what has come."""
        while not so_far():
            self._more.clear()
            await self._more.wait()

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        self._more.set()
        for frame in frames:
            if isinstance(frame, Control):
                self.messages.append(frame.payload)
                if frame.payload.startswith(b"open "):
                    component = int(frame.payload[5:])
                    self.bodies[component] = b""
                    self.done.discard(component)
                continue
            assert frame.component in self.bodies, "data before what introduces them"
            assert frame.component not in self.done, "data behind the last ones"
            self.bodies[frame.component] += frame.payload
            if frame.last:
                self.done.add(frame.component)

    def link_closed(self, error: LinkError | None) -> None:
        self.closed.append(error)
