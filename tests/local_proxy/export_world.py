"""An export driver without a browser: a clock that the test moves, components that it fills."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import NamedTuple

from local_proxy.export_drivers.browser.driver import BrowserExport
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, OriginHead
from tests.local_proxy.site import Quiet
from wire.skeleton import Kind, Level, Use

URL = "http://a.test/p.jpg"
IMAGE = [("accept", "image/avif,image/*,*/*;q=0.8")]
JPEG = "image/jpeg"
PREFIXES = (
    Level("low", 0, 3, JPEG, b"!"),
    Level("medium", 0, 5, JPEG, b"!"),
    Level("original", 0, 9, JPEG),
)
VERSIONS = (Level("low", 0, 3, JPEG), Level("original", 3, 9, "image/png"))
DATA = b"abcdefghi"


def run(work: Coroutine[None, None, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


async def text_of(response: Response | None) -> bytes:
    assert response is not None
    if isinstance(response.body, bytes):
        return response.body
    return b"".join([chunk async for chunk in response.body])


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


class Driver(NamedTuple):
    """What a page's driver is given."""

    key: str
    name: str


def driver_in(script: bytes) -> Driver | None:
    """What the driver's text says; None: it is no driver."""
    key, name = (re.search(rb'%s = "([^"]+)"' % word, script) for word in (b"KEY", b"NAME"))
    return Driver(key[1].decode(), name[1].decode()) if key and name else None


@dataclass
class World:
    """An export driver with a clock that the test moves, and one open page."""

    now: float = 0.0
    tracker: Quiet = field(default_factory=Quiet)
    fetched: list[Request] = field(default_factory=list)
    multipart: bool | None = False
    swap: bool = True

    def __post_init__(self) -> None:
        self.export = BrowserExport(
            now=lambda: self.now,
            tracker=self.tracker,
            fetch=self.fetch,
            secret=b"s",
            multipart=self.multipart,
            swap=self.swap,
        )

    async def fetch(self, request: Request) -> Response:
        self.fetched.append(request)
        return Response(200, [], b"again")

    async def get(self, url: str) -> Response | None:
        return await self.export.own(Request("GET", url, []))

    def ticket(self, document: int = 1, url: str = "http://a.test/") -> str:
        """Open a page and read the driver's address off its tag."""
        self.export.open_document(document, url)
        page = Response(200, [("content-type", "text/html")], b"<html><head>")
        body = self.export.document_response(document, page).body
        assert isinstance(body, bytes)
        found = re.search(rb'src="([^"]+)"', body)
        assert found is not None
        return "/".join(url.split("/", 3)[:3]) + found[1].decode()

    async def page(self, document: int = 1, url: str = "http://a.test/") -> Driver:
        """Open a page whose driver runs; what it was given."""
        driver = driver_in(await text_of(await self.get(self.ticket(document, url))))
        assert driver is not None
        return driver

    async def say(
        self, what: str, key: str, body: bytes = b"", *, origin: str = "http://a.test"
    ) -> Response:
        """What a driver with this key sends to `events` or `beacon`."""
        said = stream(key.encode() + b"\n", body)
        answer = await self.export.own(
            Request("POST", f"{origin}/.well-known/sluice/{what}", [("origin", origin)], body=said)
        )
        assert answer is not None
        return answer

    async def channel(self, key: str) -> AsyncIterator[bytes]:
        """An event channel, behind its first line."""
        answer = await self.say("events", key)
        assert not isinstance(answer.body, bytes)
        assert await anext(answer.body) == b"retry: 400\n\n"
        return answer.body

    async def level(self, driver: Driver, level: str, *fields: tuple[str, str]) -> Response:
        """What the driver gets that asks for a level of the picture."""
        address = f"{URL}?sluice-level={driver.name}.7.{level}"
        answer = await self.export.own(Request("GET", address, [*IMAGE, *fields]))
        assert answer is not None
        return answer


def component(*levels: Level, received: int = 0, use: Use = Use.ELEMENT) -> Component:
    fields = [
        *(
            ("content-type", levels[-1].content_type if levels else JPEG),
            ("etag", '"x"'),
            ("cache-control", "max-age=9"),
        ),
        *(("x-content-type-options", "nosniff"), ("access-control-allow-origin", "*")),
    ]
    one = Component(7, 1, URL, Kind.IMAGE, use, head=OriginHead(200, fields, 9), levels=levels)
    one.identical = True
    advance(one, received)
    return one


def advance(one: Component, size: int) -> None:
    one.data += DATA[one.received : size]
    one.complete = size == len(DATA)
    one.notify()


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def events(channel: AsyncIterator[bytes]) -> list[dict[str, object]]:
    """What the next piece of an event stream says."""
    lines = (await anext(channel)).decode().split("\n\n")
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]
