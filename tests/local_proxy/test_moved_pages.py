"""A document goes on with the page that its own has led to, or is closed."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.virtual_time import run
from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component, OriginHead
from local_proxy.promises.keeper import PromiseKeeper
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.moved_pages import WAIT, MovedPages
from wire.fields import Headers
from wire.skeleton import Kind, Use

URL = "https://www.a.test/"
PAGE: Headers = [
    ("user-agent", "B"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
]
LEADS = Response(301, [("location", URL)])


class World:
    """Document 1 has led to a page that is promised to it."""

    def __init__(self, *, use: Use = Use.DOCUMENT, sent: Headers = PAGE) -> None:
        self.closed: list[int] = []
        self.events = DocumentEvents()
        self.events.on_close(self.closed.append)
        nothing = lambda one: None  # noqa: E731
        self.promises = PromiseKeeper(
            nothing, awaited=nothing, release=nothing, unwanted=nothing, later=lambda after, what: 0
        )
        self.page = Component(2, 1, URL, Kind.TEXT, use, promised=True)
        self.page.head = OriginHead(200, [("content-type", "text/html")], None)
        self.promises.promised([self.page], sent, now=0.0)
        self.moved = MovedPages(self.promises, self.events)

    def leads_on(self, response: Response = LEADS) -> None:
        self.moved.leads_on(1, Request("GET", "https://a.test/", PAGE), response)

    async def asks(self, url: str = URL, fields: Headers = PAGE, *, may: bool = True) -> bool:
        """Whether what was promised answers this."""
        found = await self.moved.find(Request("GET", url, fields), may=may)
        assert self.page.moved is (found is not None)
        assert found is None or found.component is self.page
        return found is not None


def test_the_page_that_it_leads_to_takes_its_place() -> None:
    async def main() -> None:
        world = World()
        world.leads_on()
        assert await world.asks()
        assert await world.moved.find(Request("GET", URL, PAGE), may=True) is None
        await asyncio.sleep(WAIT + 1)
        assert world.closed == []

    run(main())


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", URL + "other", PAGE),
        Request("GET", URL, [("user-agent", "C"), *PAGE[1:]]),
        Request("GET", URL, [("user-agent", "B"), ("sec-fetch-dest", "empty")]),
        Request("GET", URL, [("user-agent", "B"), ("sec-fetch-dest", "iframe")]),
    ],
)
def test_others_requests_are_none_of_its_and_it_is_closed_in_time(request_: Request) -> None:
    async def main() -> None:
        world = World()
        world.leads_on()
        assert await world.moved.find(request_, may=True) is None
        assert world.closed == []
        await asyncio.sleep(WAIT + 0.1)
        assert world.closed == [1]
        assert not await world.asks()

    run(main())


@pytest.mark.parametrize("may", [True, False])
def test_a_request_with_other_cookies_closes_it(may: bool) -> None:
    async def main() -> None:
        world = World()
        world.leads_on()
        fields = [*PAGE, ("cookie", "a=1")] if may else PAGE
        assert not await world.asks(fields=fields, may=may)
        assert world.closed == [1]

    run(main())


def test_what_leads_nowhere_waits_for_nobody() -> None:
    async def main() -> None:
        for response in (Response(200, []), Response(304, [])):
            world = World()
            world.leads_on(response)
            assert not await world.asks()
            await asyncio.sleep(WAIT + 0.1)
            assert world.closed == []

    run(main())


@pytest.mark.parametrize(
    "world",
    [World(use=Use.ELEMENT), World(sent=[("user-agent", "B"), ("sec-fetch-dest", "iframe")])],
)
def test_no_part_and_no_frame_of_it_takes_its_place(world: World) -> None:
    async def main() -> None:
        world.leads_on()
        assert not await world.asks()

    run(main())
