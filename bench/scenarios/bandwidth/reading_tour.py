"""Draws what a person does with a slow link: pages, pauses, a chat beside them, a download.

Sizes are in seconds of the link: nobody opens over a modem what they would over a cable. The
chances are those of a seed. Knows a running pair; nothing of what is measured meanwhile.
"""

from __future__ import annotations

import asyncio
import math
import random
from dataclasses import dataclass, field
from typing import Final

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage, page
from bench.pairs.pair import Pair
from local_proxy.http.model import Request
from remote_proxy.jobs.services import Services

PAUSE: Final = (1.0, 60.0)
"""Seconds of reading; all lengths are as likely on a scale of logarithms."""
_PAGES: Final = 10
_PICTURES: Final = (0.5, 30.0)
"""Seconds of the link that a page's pictures take."""
_MOST: Final = 6_000_000
"""Bytes of a page's pictures, or of a download."""
_TEXT: Final = (3_000, 60_000)
"""Bytes of HTML."""
_DOWNLOAD: Final = (5.0, 30.0)
"""Seconds of the link that a download takes."""
_CHAT: Final = (5, 30)
"""Messages of a chat."""
_MESSAGE: Final = (40, 400)
"""Bytes of one."""
_DRIP: Final = (0.5, 8.0)
"""Seconds between two of them."""
_WITHOUT_PICTURES, _CHATS, _DOWNLOADS = 0.25, 0.2, 0.08
"""Chances: that a page has no pictures, that a chat or a download begins at a visit."""
_SCRIPT: Final = [("accept", "*/*"), ("sec-fetch-dest", "empty")]


@dataclass(slots=True)
class ReadingTour:
    """What one person may open over one link."""

    pages: list[SyntheticPage]
    files: list[SyntheticPage]
    """Downloads."""
    messages: list[SyntheticPage]
    chance: random.Random
    done: dict[str, int] = field(default_factory=dict)
    """How often each thing was done."""

    @classmethod
    def drawn(cls, *, rate: float, seed: int) -> ReadingTour:
        """For a link of `rate` bytes/second."""
        chance = random.Random(seed)
        pages = [_page(number, rate=rate, chance=chance) for number in range(_PAGES)]
        files = [_file(number, rate=rate, chance=chance) for number in range(2)]
        messages = [
            _plain(f"http://chat.test/{number}", "text/plain", chance.randint(*_MESSAGE))
            for number in range(_CHAT[1])
        ]
        return cls(pages, files, messages, chance)

    def services(self, pictures: Prepared) -> Services:
        """A remote proxy's, with an origin that has all of it."""
        return Services(Shelf([*self.pages, *self.files, *self.messages]), pictures)

    async def go(self, pair: Pair, *, seconds: float) -> None:
        """Read, for so long; ends what is under way then."""
        chats: set[asyncio.Task[None]] = set()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    await self._visit(pair, chats)
        except TimeoutError:
            pass
        finally:
            for task in chats:
                task.cancel()
            await asyncio.gather(*chats, return_exceptions=True)

    async def _visit(self, pair: Pair, chats: set[asyncio.Task[None]]) -> None:
        chance = self.chance
        if chance.random() < _CHATS and all(task.done() for task in chats):
            chats.add(asyncio.create_task(self._chat(pair, chance.randint(*_CHAT))))
        if chance.random() < _DOWNLOADS:
            self._count("downloads")
            await fetch(pair, chance.choice(self.files).url)
        else:
            self._count("pages")
            await pair.load(chance.choice(self.pages).url)
        await asyncio.sleep(_between(PAUSE, chance))

    async def _chat(self, pair: Pair, count: int) -> None:
        for one in self.messages[:count]:
            self._count("messages")
            await fetch(pair, one.url)
            await asyncio.sleep(_between(_DRIP, self.chance))

    def _count(self, what: str) -> None:
        self.done[what] = self.done.get(what, 0) + 1


async def fetch(pair: Pair, url: str) -> int:
    """Ask for something as a page's script does and read it to its end; its bytes."""
    answer = await pair.local.core.handle(Request("GET", url, list(_SCRIPT)))
    if isinstance(answer.body, bytes):
        return len(answer.body)
    return sum([len(piece) async for piece in answer.body])


def _page(number: int, *, rate: float, chance: random.Random) -> SyntheticPage:
    large = 0
    if chance.random() >= _WITHOUT_PICTURES:
        large = min(_MOST, round(rate * _between(_PICTURES, chance)))
    text = round(_between(_TEXT, chance))
    return page(f"http://page-{number}.test/", text=text, large=large, seed=number + 1)


def _file(number: int, *, rate: float, chance: random.Random) -> SyntheticPage:
    size = min(_MOST, round(rate * _between(_DOWNLOAD, chance)))
    return _plain(f"http://files.test/{number}.bin", "application/octet-stream", size)


def _plain(url: str, content_type: str, size: int) -> SyntheticPage:
    return SyntheticPage(url, {url: File(content_type, random.Random(url).randbytes(size))})


def _between(range_: tuple[float, float], chance: random.Random) -> float:
    """A number from a range, each factor as likely."""
    least, most = range_
    return least * math.exp(chance.uniform(0.0, math.log(most / least)))
