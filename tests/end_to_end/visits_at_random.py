"""Visits in a random order through both proxies, in virtual time; every body is the origin's.

Pages change, cookies, browsers and sites differ, either end forgets, shelves overflow, the line is
cut in the middle of an answer. What is told of each visit: whether its text was coded against
another one, which its own owner must have had before.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from bench.origins.synthetic import Prepared
from bench.pairs.mending import MendingPair, mending_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from remote_proxy.jobs.device_texts import DeviceTexts
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import ForwardedRequest, Origin, OriginResponse
from wire.fields import header

LINK: Final = LinkModel(rate_up=20_000, rate_down=40_000, delay=0.03)
HOSTS: Final = ("http://a.example", "http://b.example")
PATHS: Final = ("/", "/news", "/news/two")
COOKIES: Final = ("", "who=ann", "who=bob", "_ga=GA1.7")
CLIENTS: Final = ("Firefox", "Chrome")
STEPS: Final = 10
ROOM: Final = 6_000
"""Bytes of the device's shelf: a few pages."""
LIMIT: Final = 120.0
"""Seconds of virtual time for one visit."""


class ChangingSite(Origin):
    """Its pages are lists of numbered lines, of which some are new after each change. A page says
    who asks for it."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance
        self._lines: dict[str, list[str]] = {}
        self.served: dict[str, bytes] = {}
        """What an address was answered last."""

    def change(self, url: str) -> None:
        """Some of the page's lines are new, and it may be shorter or longer."""
        lines = self._lines.setdefault(url, [self._line() for _ in range(60)])
        for _ in range(self._chance.randrange(20)):
            lines[self._chance.randrange(len(lines))] = self._line()
        if self._chance.random() < 0.3:
            del lines[: self._chance.randrange(len(lines) - 1)]
        if self._chance.random() < 0.3:
            lines += [self._line() for _ in range(self._chance.randrange(150))]

    def _line(self) -> str:
        return f"<li>{self._chance.randrange(1 << 40):x} tide {self._chance.randrange(50)}</li>"

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        request = forwarded.request
        if request.url not in self._lines:
            self.change(request.url)
        body = "\n".join(self._lines[request.url]) + header(request.headers, "cookie")
        data = self.served[request.url] = body.encode()
        headers = [("content-type", "text/html"), ("cache-control", "no-cache")]
        return OriginResponse(200, "OK", headers, _chunks(data), len(data), lambda: None)


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(data), 1000):
        await asyncio.sleep(0.002)
        yield data[at : at + 1000]


@dataclass
class Told:
    """Counts over the visits of a sequence."""

    visits: int = 0
    against: int = 0
    """Coded against another text."""
    lost: int = 0
    """Asked for once more, because that was gone."""
    cuts: int = 0
    wrong: list[str] = field(default_factory=list)
    """Bodies that are not the origin's; texts of others that were used."""


class RandomVisits:
    """One sequence, by its seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._site = ChangingSite(self._chance)
        self._had: dict[bytes, set[tuple[str, str, str]]] = {}
        """Who has had a text of that digest: browser, origin, credentials."""
        self._visited: list[tuple[str, str, str]] = []
        """Address, browser and cookie: most visits are no first ones."""
        self.told = Told()

    async def go(self) -> Told:
        services = Services(self._site, Prepared({}), texts=DeviceTexts(8 * ROOM))
        async with mending_pair(LINK, services, []) as pair:
            pair.local.texts.shelf.max_bytes = ROOM
            for _ in range(STEPS):
                await self._step(pair, services)
        self.told.lost = pair.local.dictionaries.lost
        return self.told

    async def _step(self, pair: MendingPair, services: Services) -> None:
        chance = self._chance
        if not self._visited or chance.random() < 0.5:
            url = chance.choice(HOSTS) + chance.choice(PATHS)
            self._visited.append((url, chance.choice(CLIENTS), chance.choice(COOKIES)))
        url, client, cookie = chance.choice(self._visited)
        what = chance.random()
        if what < 0.25:
            self._site.change(url)
        elif what < 0.3:
            services.texts.of("bench").forget(lambda text: chance.random() < 0.7)
        elif what < 0.35:
            pair.local.texts.shelf.forget(lambda text: chance.random() < 0.7)
        loop = asyncio.get_running_loop()
        if chance.random() < 0.15:  # when it has been asked for, and the answer is on its way
            self.told.cuts += 1
            loop.call_later(chance.uniform(0.0, 0.4), lambda: pair.line.cut(away=0.5))
        if chance.random() < 0.1:
            shelf = pair.local.texts.shelf
            loop.call_later(chance.uniform(0.0, 0.1), lambda: shelf.forget(lambda text: True))
        async with asyncio.timeout(LIMIT):
            await self._visit(pair, url, client, cookie)

    async def _visit(self, pair: MendingPair, url: str, client: str, cookie: str) -> None:
        headers = [
            *(("accept", "text/html"), ("user-agent", client), ("cache-control", "no-transform")),
            *(("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate")),
            ("upgrade-insecure-requests", "1"),
        ]
        request = Request("GET", url, [*headers, ("cookie", cookie)] if cookie else headers)
        response = await pair.local.core.handle(request)
        body = b""
        if isinstance(response.body, bytes):
            body = response.body
        elif response.body is not None:
            body = b"".join([chunk async for chunk in response.body])
        self.told.visits += 1
        expected = self._site.served[url]
        if response.status != 200 or hashlib.sha256(body).digest() != _digest(expected):
            self.told.wrong.append(f"{url} for {client} with {cookie!r}: {response.status}")
        self._judge(pair, url, client, cookie)

    def _judge(self, pair: MendingPair, url: str, client: str, cookie: str) -> None:
        """Whether what it was coded against was this browser's, of this origin, so asked for."""
        component = next(
            found
            for document in range(2 * STEPS + 1, 0, -2)
            if (found := pair.local.components.find(document, url)) is not None
        )
        who = (client, url[: url.index("/", 8)], "" if cookie.startswith("_ga") else cookie)
        if component.dictionary:
            self.told.against += 1
            if who not in self._had.get(component.dictionary, set()):
                self.told.wrong.append(f"{url}: coded against what {who} never had")
        self._had.setdefault(_digest(self._site.served[url]), set()).add(who)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def told(seed: int) -> Told:
    """What comes of the sequence of that seed."""
    return run(RandomVisits(seed).go())
