"""A page of many pictures over a broadband link, in virtual time.

A browser asks for six pictures at a time, and for no more before one of them is there: so what it
waits for comes first, and what goes whole does not wait for others to become finer.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bench.origins.synthetic import Prepared, Shelf, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from remote_proxy.session import RemoteSession
from transcoders.make.low import Low
from transcoders.picture import PictureOptions
from wire.skeleton import Use

URL = "http://one.test/"
LINK = LinkModel(rate_up=625_000, rate_down=2_000_000, delay=0.02)
PAGE = page(URL, text=20_000, large=2_300_000)
PICTURES = [url for url in PAGE.files if url.endswith(".jpg")]
ADAPTED = 40_000
"""Bytes of a picture from which on such a link takes .02 s for it."""
MADE = prepared([PAGE])


class Early(Prepared):
    """Low levels are there at once."""

    async def low(
        self, data: bytes, content_type: str, options: PictureOptions, **_: Any
    ) -> Low | None:
        made = await MADE.finish(data, content_type, options, None)
        if made is None:
            return None
        level = made.levels[0]
        return Low(made.data[: level.end], level, made.width, made.height)


async def ask(pair: Pair, url: str) -> float:
    """Asks for a picture as a browser does and reads it; when its last byte was there."""
    fields = [("accept", "image/avif,image/webp,*/*;q=0.8"), ("sec-fetch-dest", "image")]
    response = await pair.local.core.handle(Request("GET", url, [*fields, ("referer", URL)]))
    assert response.status == 200
    if not isinstance(response.body, bytes):
        async for _ in response.body:
            pass
    return asyncio.get_running_loop().time()


def whole(pair: Pair, document: int) -> dict[str, float]:
    """When each picture was all there, by its address."""
    reached = pair.witness.reached
    return {
        part.url: reached[part.component, "original"]
        for part in pair.witness.parts.values()
        if part.use is Use.ELEMENT and pair.witness.document_of[part.component] == document
    }


@pytest.mark.parametrize("last", [1, 6])
def test_what_a_browser_asks_for_comes_before_what_it_has_not_asked_for(last: int) -> None:
    async def go() -> tuple[float, float, list[float]]:
        async with memory_pair(LINK, Services(Shelf([PAGE]), Prepared({})), [Default()]) as pair:
            document = await pair.load(URL)
            began = asyncio.get_running_loop().time()
            asked = [ask(pair, url) for url in reversed(PICTURES[-last:])]
            there = await asyncio.gather(*asked)
            await pair.complete(document)
            return began, max(there), sorted(whole(pair, document).values())

    began, asked, all_of_them = run(go())
    assert all_of_them[-1] - began > 0.4  # that it would have waited for
    # It is said within .02 s, and what is on its way then is not overtaken.
    assert asked - began < 0.1 + 0.02 * last
    assert sum(began + 0.1 < at < asked for at in all_of_them) < last


def test_whole_pictures_do_not_wait_until_others_are_finer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RemoteSession, "expected", property(lambda _: LINK.rate_down))

    async def go() -> tuple[list[float], list[float]]:
        async with memory_pair(LINK, Services(Shelf([PAGE]), Early({})), [Default()]) as pair:
            document = await pair.load(URL)
            await pair.complete(document)
            times = whole(pair, document)
            small = [at for url, at in times.items() if len(PAGE.files[url].data) < ADAPTED]
            return sorted(small), sorted(set(times.values()) - set(small))

    untouched, adapted = run(go())
    assert len(untouched) > 20
    assert len(adapted) > 10
    assert untouched[-1] < adapted[len(adapted) // 4]
