"""A page's pictures within a time, through both proxies, in virtual time."""

from __future__ import annotations

import asyncio
from math import inf
from pathlib import Path
from typing import Any

import pytest
from pytest import MonkeyPatch

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from local_proxy.status.snapshot import DocumentStatus
from policies.builtin.default import Default
from policies.builtin.within import Within
from remote_proxy import session as remote_session
from remote_proxy.jobs.services import Services
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from scheduling.timely import TimelyDocument
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions, up_to
from wire import abilities
from wire.skeleton import LEVELS, Kind

RATE = 40_000.0
"""Bytes/second towards the device."""
LINK = LinkModel(rate_up=20_000, rate_down=RATE, delay=0.05)
PAGE = page("http://page.test/", text=6_000, large=800_000)
MADE = prepared([PAGE])
SCREENSHOT = Path(__file__).parents[1] / "data" / "transcoders" / "screenshot.png"
LOOK = 0.1
"""Seconds: how near its time the last choice is looked at; it is made four times a second."""


async def chosen(pair: Pair, document: int, until: float) -> TimelyDocument:
    """What holds of the document just before its time is over."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(until - LOOK - loop.time())
    found = pair.remote.obedience.timely.document(document)
    assert found is not None
    return found


def load(
    seconds: float, *, fade: float = 1.0
) -> tuple[TimelyDocument, dict[int, list[str]], int, int]:
    """What was chosen; the levels that were there in time; bytes until then; pictures in the end.

    `fade`: what becomes of the link's rate in the middle of the time.
    """

    async def go() -> tuple[TimelyDocument, dict[int, list[str]], int, int]:
        loop = asyncio.get_running_loop()
        policies = [Default(), Within(seconds=seconds)]
        async with memory_pair(LINK, Services(Shelf([PAGE]), MADE), policies) as pair:
            await asyncio.sleep(1.0)
            began, before = loop.time(), pair.tap.received
            link = pair.remote.link
            assert isinstance(link, MemoryLink)
            loop.call_later(seconds / 2, link.outgoing.set_rate, fade * RATE)
            document = await pair.load(PAGE.url)
            found = await chosen(pair, document, began + seconds)
            assert found.until == pytest.approx(began + seconds, abs=0.01), "since it was asked for"
            await asyncio.sleep(LOOK)
            received = pair.tap.received - before
            images = [id_ for id_, part in pair.witness.parts.items() if part.kind is Kind.IMAGE]
            there = {
                id_: [name for name in LEVELS if (id_, name) in pair.witness.reached]
                for id_ in images
            }
            await asyncio.sleep(1.5 * 800_000 / (RATE * min(1.0, fade)))
            whole = sum((id_, "original") in pair.witness.reached for id_ in images)
            return found, there, received, whole

    return run(go())


@pytest.mark.parametrize("seconds", [3.0, 5.0, 10.0])
def test_every_picture_is_there_in_time_as_fine_as_was_chosen_and_the_link_was_used(
    seconds: float,
) -> None:
    found, there, received, whole = load(seconds)
    assert found.possible
    for component, level in found.levels.items():
        assert level in there[component], (component, level)
    assert all(there.values()), "none was left out"
    assert received > 0.85 * RATE * (seconds - 0.5)
    assert whole == len(there), "afterwards they went on"


def test_a_longer_time_brings_finer_pictures() -> None:
    def fineness(seconds: float) -> float:
        _, there, _, _ = load(seconds)
        return sum(len(levels) for levels in there.values()) / len(there)

    assert fineness(3.0) < fineness(6.0) < fineness(12.0)


def test_a_link_that_fades_gets_coarser_pictures_and_these_in_time() -> None:
    found, there, _, _ = load(8.0, fade=0.25)
    late = [one for one, level in found.levels.items() if level not in there[one]]
    assert found.possible and late == []
    steady, _, _, _ = load(8.0)
    rank = LEVELS.index
    assert sum(map(rank, found.levels.values())) < sum(map(rank, steady.levels.values()))


def switched(seconds: float) -> tuple[Pair, list[DocumentStatus], float]:
    """A page of a site whose switch says so many seconds, and no other policy than the default's:
    the pair, what the status page shows of it after a while, and when all its pictures
    were there, coarse, from when it was asked for."""

    async def go() -> tuple[Pair, list[DocumentStatus], float]:
        async with memory_pair(LINK, Services(Shelf([PAGE]), MADE), [Default()]) as pair:
            pair.local.sites.choose_time("*.test", seconds)
            await asyncio.sleep(1.0)
            began = asyncio.get_running_loop().time()
            document = await pair.load(PAGE.url)
            await asyncio.sleep(10.0)
            coarse = [pair.witness.reached[one, "low"] for one in pair.witness.components(document)]
            return pair, pair.local.overview.snapshot().documents, max(coarse) - began

    return run(go())


def test_a_sites_switch_gives_its_pages_a_time() -> None:
    async def go() -> tuple[TimelyDocument, dict[tuple[int, str], float], float]:
        async with memory_pair(LINK, Services(Shelf([PAGE]), MADE), [Default()]) as pair:
            pair.local.sites.choose_time("page.test", 4.0)
            await asyncio.sleep(1.0)
            until = asyncio.get_running_loop().time() + 4.0
            found = await chosen(pair, await pair.load(PAGE.url), until)
            await asyncio.sleep(LOOK)
            return found, dict(pair.witness.reached), until

    found, reached, until = run(go())
    assert found.possible and found.levels
    assert all(reached[component, level] <= until for component, level in found.levels.items())


def test_a_navigation_that_names_a_time_gets_its_pictures_by_then() -> None:
    async def go() -> tuple[float | None, TimelyDocument, dict[tuple[int, str], float], float]:
        async with memory_pair(LINK, Services(Shelf([PAGE]), MADE), [Default()]) as pair:
            pair.local.sites.choose_time("page.test", 20.0)
            await asyncio.sleep(1.0)
            until = asyncio.get_running_loop().time() + 4.0
            fields = [("sec-fetch-dest", "document"), ("sluice-within", "4")]
            response = await pair.local.core.handle(Request("GET", PAGE.url, fields))
            assert not isinstance(response.body, bytes)
            async for _ in response.body:
                pass
            found = await chosen(pair, pair.witness.documents[PAGE.url], until)
            await asyncio.sleep(LOOK)
            (shown,) = pair.local.overview.snapshot().documents
            return shown.within, found, dict(pair.witness.reached), until

    within, found, reached, until = run(go())
    assert within == 4.0, "before what is set for the site"
    assert found.levels
    assert all(reached[component, level] <= until for component, level in found.levels.items())


def test_a_time_that_cannot_be_met_is_told_with_the_one_that_can() -> None:
    _, (shown,), coarse = switched(0.5)
    assert shown.within == 0.5 and shown.earliest is not None
    assert shown.earliest == pytest.approx(coarse, rel=0.25)
    _, (shown,), _ = switched(round(1.2 * shown.earliest, 1))
    assert shown.earliest is None, "that can be met"


def test_a_remote_that_knows_no_times_is_not_asked_for_any(monkeypatch: MonkeyPatch) -> None:
    known = tuple(one for one in remote_session.ACCEPTS if one != abilities.TIMELY)
    monkeypatch.setattr(remote_session, "ACCEPTS", known)
    pair, (shown,), _ = switched(3.0)
    assert (shown.within, shown.earliest) == (3.0, None)
    assert not pair.remote.obedience.timely
    assert [one for one in pair.remote.plan.rules if one.within is not None] == []


class Far(Shelf):
    """An origin at some distance, so that what a page's plan says is known before its pictures."""

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        await asyncio.sleep(0.05)
        return await super().fetch(forwarded)


class Screenshots(Prepared):
    """A PNG's levels, made beforehand as each session's options want them."""

    def __init__(self, data: bytes) -> None:
        super().__init__({})
        self._levels = {timed: made(data, timed=timed) for timed in (False, True)}

    async def finish(
        self, data: bytes, content_type: str, options: PictureOptions, *args: Any, **kept: Any
    ) -> Picture | None:
        return up_to(self._levels[options.between], options.stop)


def made(data: bytes, *, timed: bool) -> Picture:
    async def go() -> Picture | None:
        transcoders = Transcoders(workers=1)
        try:
            options = PictureOptions(avif=True, webp=True, between=timed)
            return await transcoders.picture(data, "image/png", options)
        finally:
            await transcoders.close()

    found = asyncio.run(go())
    assert found is not None
    return found


@pytest.mark.parametrize(("within", "levels"), [(None, ["low", "original"]), (5.0, ["high"])])
def test_a_screenshot_within_a_time_is_more_than_coarse_where_all_of_it_does_not_fit(
    within: float | None, levels: list[str]
) -> None:
    """Three of 24 KB as WebP: all take 8 s, coarse ones and those between 4 s."""
    data = SCREENSHOT.read_bytes()
    files = {f"http://page.test/{n}.png": File("image/png", data) for n in range(3)}
    html = b"".join(b"<p>words</p><img src=/%d.png>" % n for n in range(3))
    shots = SyntheticPage(
        "http://page.test/", {"http://page.test/": File("text/html", html), **files}
    )
    link, pictures = LinkModel(rate_up=11_000, rate_down=11_000, delay=0.05), Screenshots(data)

    async def go() -> tuple[list[str], int]:
        async with memory_pair(link, Services(Far([shots]), pictures), [Default()]) as pair:
            pair.local.sites.choose_time("page.test", within)
            await asyncio.sleep(1.0)
            until = asyncio.get_running_loop().time() + 5.0
            document = await pair.load(shots.url)
            await asyncio.sleep(30.0)
            parts, reached = pair.witness.components(document), pair.witness.reached
            images = [one for one in parts if pair.witness.parts[one].kind is Kind.IMAGE]
            there = {
                [name for name in LEVELS if reached.get((one, name), inf) <= until][-1]
                for one in images
            }
            return sorted(there), sum((one, "original") in reached for one in images)

    there, whole = run(go())
    assert (there, whole) == (levels, 3)
