"""Which films and sounds of a page wait for a tap, and which have had one. Pure.

Who pays by the megabyte has none before. Their addresses may lead to others, which nobody tapped.
Sounds that a page's scripts play have no place to be tapped: they come where its reader has just
done something there. Must not know: elements, how an answer is written.
"""

from __future__ import annotations

from typing import Final

MAX_FILMS: Final = 256
"""Remembered of a page; those that were asked for first go."""
TOUCHED: Final = 2.0
"""Seconds from whatever a reader does in the page, in which sounds come."""
FOLLOWS: Final = 5.0
"""Seconds from a tap in which all of them come: a tapped one's address may lead to another."""


class WaitingFilms:
    """Knows the films of one page by their addresses."""

    def __init__(self) -> None:
        self._tapped: dict[str, bool] = {}
        """By address; the oldest first."""
        self._tapped_at = -FOLLOWS
        self._touched_at = -TOUCHED

    def comes(self, url: str, *, sound: bool = False, now: float) -> bool:
        """Whether this one is to come; if not, it waits from now on. `sound`: it is no film, for
        all that its browser says. `now`: seconds."""
        url = url.partition("#")[0]
        if self._tapped.get(url) or now - self._tapped_at < FOLLOWS:
            return True
        comes = self._tapped[url] = sound and now - self._touched_at < TOUCHED
        if len(self._tapped) > MAX_FILMS:
            del self._tapped[next(iter(self._tapped))]
        return comes

    def tap(self, url: str, *, now: float) -> bool:
        """The reader has tapped it, or something else ("") in the page; whether it was one that
        waited."""
        self._touched_at = now
        if url not in self._tapped:
            return False
        self._tapped[url], self._tapped_at = True, now
        return True
