"""A page in which no driver runs, in virtual time: all photos show before any is half there."""

from __future__ import annotations

import asyncio

import pytest

from bench.links.memory import LinkModel
from bench.pair import memory_pair
from bench.synthetic import Shelf, page, prepared
from bench.virtual_time import run
from local_proxy.http import Request
from local_proxy.session import LocalSession
from remote_proxy.delivery import Services

PAGE = page("http://one.test/", text=40_000, large=500_000)
MODEL = LinkModel(rate_up=16_000, rate_down=48_000, delay=0.05)
PICTURE = [("accept", "image/avif,image/webp,image/*,*/*;q=0.8"), ("referer", PAGE.url)]
TENTH = 0.1


async def _shown(growing: bool, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When each photo's response had a tenth of its bytes; seconds from the navigation on."""
    loop = asyncio.get_running_loop()
    if not growing:
        monkeypatch.setattr(LocalSession, "grow", lambda session, document: None)
    made = MADE
    async with memory_pair(MODEL, Services(Shelf([PAGE]), made), []) as pair:
        began = loop.time()
        document = await pair.load(PAGE.url)
        print("loaded", loop.time() - began)

        async def photo(url: str, size: int) -> float:
            answer = await pair.local.core.handle(Request("GET", url, PICTURE))
            assert answer.status == 200
            assert not isinstance(answer.body, bytes)
            had, at = 0, 0.0
            async for piece in answer.body:
                had += len(piece)
                if had >= TENTH * size and not at:
                    at = loop.time() - began
            return at

        photos = {u: f for u, f in PAGE.files.items() if f.content_type == "image/jpeg"}
        times = await asyncio.gather(*(photo(u, len(f.data)) for u, f in photos.items()))
        await pair.complete(document)
        print(times, loop.time() - began)
        return sorted(times)


MADE = prepared([PAGE])


def test_x(monkeypatch: pytest.MonkeyPatch) -> None:
    print(run(_shown(True, monkeypatch)))
    print(run(_shown(False, monkeypatch)))
