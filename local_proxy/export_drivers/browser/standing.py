"""Remembers which pictures of a page stand in an <img> that a script has made (made.js), and learns
how long one waits for word of it.

A driver says so as its browser asks, 1 to 3 ms behind the request; on a slow or a busy device it
takes longer, one word in ten of those on a machine with twice its work a quarter of a second to
.7 s. Pictures that stand in no <img> wait in vain, and each teaches to wait less.

Must not know: what such a picture is given, what else its page has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Final

MAX_STANDING: Final = 4096
"""Pictures that a page remembers."""

_LOOKS: Final = 5
"""Times at least that what has come meanwhile is read before a picture has waited enough."""

_FIRST: Final = 0.5
"""Seconds, while nothing is known: a browser that has just begun is the slowest,"""
_LEAST: Final = 0.02
_MOST: Final = 1.0
"""and the bounds."""
_TIMES: Final = 3.0
"""Times what a word took."""
_LESS: Final = 0.7
"""Of what was waited in vain."""


class WordPatience:
    """What one device has learnt."""

    def __init__(self) -> None:
        self.seconds = _FIRST
        """For which a picture waits."""

    def came(self, after: float) -> None:
        """Word came so many seconds after the request, in time or not."""
        self.seconds = min(_MOST, max(self.seconds, _TIMES * after))

    def vain(self) -> None:
        """None came."""
        self.seconds = max(_LEAST, self.seconds * _LESS)


class StandingPictures:
    """What one page has of them."""

    def __init__(self, word: WordPatience) -> None:
        """`word`: how long they wait, as all pages' do."""
        self.word = word
        self._standing: set[str] = set()
        self._asked: dict[str, float] = {}
        """Pictures of which that was not said before they were asked for, and when they were."""
        self._told = asyncio.Event()
        """Set when there are more of these."""

    def say(self, urls: Iterable[str], *, now: float) -> None:
        """The driver sees an <img> of each of these, which a script has made or changed."""
        room = MAX_STANDING - len(self._standing)
        for url in islice(urls, room):
            self._standing.add(url)
            if (asked := self._asked.pop(url, None)) is not None:
                self.word.came(now - asked)
        told, self._told = self._told, asyncio.Event()
        told.set()

    async def has(self, url: str) -> bool:
        """Whether an <img> shows this one; that it does may be said a little later."""
        if url in self._standing:
            return True
        loop, looks = asyncio.get_running_loop(), 0
        began = loop.time()
        if len(self._asked) < MAX_STANDING:
            self._asked[url] = began
        until = began + self.word.seconds
        while looks < _LOOKS or loop.time() < until:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), self.word.seconds / _LOOKS)
            if url in self._standing:
                return True
            looks += 1
        self.word.vain()
        return False
