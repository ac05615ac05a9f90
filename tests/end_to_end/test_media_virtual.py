"""Films are played while pages load, through both proxies, in virtual time: a player reads as fast
as it plays, and a page of pictures takes all that it can get."""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import Iterable

from bench.origins.synthetic import File, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import Pair, memory_pair
from emulation.memory.memory import LinkModel, MemoryLink
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from local_proxy.status.snapshot import ComponentStatus
from policies.api import (
    Command,
    CommandRefused,
    Event,
    Kind,
    RateGuaranteed,
    Reserve,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
)
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services

RATE = 40_000.0
"""Bytes/second towards the device."""
LINK = LinkModel(rate_up=20_000, rate_down=RATE, delay=0.05)
PLAYED = 12_000
"""Bytes/second of the film."""
SECONDS = 40
BEGINS = 2.0
"""Seconds that a player has in hand before it begins."""
AHEAD = 12.0
"""Seconds that it reads ahead at most."""
PAGE = page("http://page.test/", text=30_000, large=1_500_000)
OTHER = page("http://other.test/", text=30_000, large=600_000)
FILM = "http://page.test/film.wav"


def film(rate: int = PLAYED) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setparams((1, 2, rate // 2, 0, "NONE", ""))
        sound.writeframes(bytes(rate * SECONDS))
    return made.getvalue()


MANIFEST = f"""<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period>
<AdaptationSet><SegmentTemplate media="seg/$Number$.m4s" duration="4"/>
<Representation id="v" bandwidth="{8 * PLAYED}"/></AdaptationSet></Period></MPD>""".encode()
FILMS = SyntheticPage(
    "http://page.test/films",
    {
        FILM: File("audio/wav", film()),
        f"{FILM}2": File("audio/wav", film()),
        f"{FILM}3": File("audio/wav", film(24_000)),
        "http://page.test/film.mpd": File("application/dash+xml", MANIFEST),
        **{f"http://page.test/seg/{n}.m4s": File("video/mp4", bytes(4 * PLAYED)) for n in range(3)},
    },
)
MADE = prepared([PAGE, OTHER])


class NoneForFilms:
    """As it was before: films have their share."""

    name = "none_for_films"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetPlan((Rule(kind=Kind.MEDIA, steady=False),))


class Asks:
    """For more than there is, and remembers what it hears."""

    name = "asks"

    def __init__(self, *rates: float) -> None:
        self.rates = rates
        self.heard: list[CommandRefused | RateGuaranteed] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, CommandRefused | RateGuaranteed):
            self.heard.append(event)
        elif view.bandwidth is not None and self.rates:
            rate, *rest = self.rates
            self.rates = tuple(rest)
            yield Reserve((("other",), ("background",))[len(rest)], rate)


async def play(pair: Pair, url: str = FILM, rate: int = PLAYED) -> float:
    """Seconds for which a player shows nothing, from its request to the film's end."""
    loop = asyncio.get_running_loop()
    fields = [("referer", PAGE.url), ("sec-fetch-dest", "video"), ("sec-fetch-site", "same-origin")]
    response = await pair.local.core.handle(Request("GET", url, [*fields, ("range", "bytes=0-")]))
    assert response.status == 200
    assert not isinstance(response.body, bytes)
    played, stood, had, at = 0.0, 0.0, 0, loop.time()
    begun = False
    async for piece in response.body:
        now = loop.time()
        elapsed = now - at
        if begun:
            stood += max(0.0, elapsed - (had / rate - played))
            played = min(played + elapsed, had / rate)
        had, at = had + len(piece), now
        stood += 0.0 if begun else elapsed
        begun = begun or had > BEGINS * rate
        if begun and had / rate - played > AHEAD:
            await asyncio.sleep(had / rate - played - AHEAD)
    return stood


def stalls(*policies: NoneForFilms | Asks, fade: float = 1.0) -> tuple[float, ComponentStatus]:
    """Seconds, and what the status page says of the film at half of it."""

    async def go() -> tuple[float, ComponentStatus]:
        services = Services(Shelf([PAGE, OTHER, FILMS]), MADE)
        async with memory_pair(LINK, services, [Default(), *policies]) as pair:
            document = await pair.load(PAGE.url)
            pair.local.tracker.plays(document, True)
            playing = asyncio.create_task(play(pair))
            await asyncio.sleep(SECONDS / 4)
            link = pair.remote.link
            assert isinstance(link, MemoryLink)
            link.outgoing.set_rate(fade * RATE)
            await pair.load(OTHER.url)
            await asyncio.sleep(SECONDS / 4)
            shown = [
                part
                for document in pair.local.overview.snapshot().documents
                for part in document.components
                if part.url == FILM
            ]
            return await playing, shown[0]

    return run(go())


def test_a_film_is_played_while_pages_load() -> None:
    seconds, shown = stalls()
    assert seconds < 2.5, "until it has enough in hand to begin"
    assert shown.guaranteed
    assert 1.2 * PLAYED < shown.rate < 1.3 * PLAYED


def test_a_segment_that_says_nothing_has_the_rate_that_its_manifest_says() -> None:
    """As a page's script asks for them: by fetch, which says what it is for no more than that."""

    async def get(pair: Pair, url: str) -> None:
        fields = [("referer", PAGE.url), ("sec-fetch-dest", "empty"), ("sec-fetch-mode", "cors")]
        response = await pair.local.core.handle(Request("GET", url, fields))
        assert response.status == 200
        if not isinstance(response.body, bytes):
            async for _ in response.body:
                pass

    async def go() -> list[ComponentStatus]:
        services = Services(Shelf([PAGE, OTHER, FILMS]), MADE)
        async with memory_pair(LINK, services, [Default()]) as pair:
            document = await pair.load(PAGE.url)
            pair.local.tracker.plays(document, True)
            await get(pair, "http://page.test/film.mpd")
            getting = asyncio.create_task(get(pair, "http://page.test/seg/0.m4s"))
            await asyncio.sleep(2.0)
            shown = [
                part
                for document in pair.local.overview.snapshot().documents
                for part in document.components
                if "/seg/" in part.url
            ]
            await getting
            return shown

    (shown,) = run(go())
    assert shown.rate == PLAYED
    assert shown.guaranteed


def test_without_a_guarantee_it_stalls() -> None:
    seconds, shown = stalls(NoneForFilms())
    assert seconds > 10.0
    assert (shown.rate, shown.guaranteed) == (0.0, False)


def test_where_the_link_fades_below_it_the_status_page_says_so() -> None:
    _, shown = stalls(fade=0.4)
    assert shown.rate > PLAYED
    assert not shown.guaranteed


def test_a_page_beside_a_film_has_its_text_as_soon_and_pictures_by_what_is_left() -> None:
    async def go(films: int) -> tuple[float, float]:
        loop = asyncio.get_running_loop()
        services = Services(Shelf([PAGE, OTHER, FILMS]), MADE)
        async with memory_pair(LINK, services, [Default()]) as pair:
            document = await pair.load(PAGE.url)
            pair.local.tracker.plays(document, True)
            playing = [asyncio.create_task(play(pair)) for _ in range(films)]
            await pair.complete(pair.witness.documents[PAGE.url]) if not films else None
            await asyncio.sleep(4.0)
            began = loop.time()
            document = await pair.load(OTHER.url)
            text = loop.time() - began
            while pair.witness.when(document, "low") is None:  # noqa: ASYNC110 - in its thread
                await asyncio.sleep(0.05)
            for one in playing:
                one.cancel()
            await asyncio.gather(*playing, return_exceptions=True)
            return text, loop.time() - began

    (text, coarse), (beside, coarse_beside) = run(go(0)), run(go(1))
    assert beside <= 1.1 * text
    assert coarse_beside <= coarse * RATE / (RATE - 1.25 * PLAYED) * 1.15


def test_a_rate_that_is_too_much_is_refused_at_once_with_the_reason() -> None:
    asks = Asks(0.3 * RATE, 0.8 * RATE)
    stalls(asks)
    refused, *others = (one for one in asks.heard if isinstance(one, CommandRefused))
    assert not others
    assert "can't be guaranteed: the link carries" in refused.reason
    held = [one.path for one in asks.heard if isinstance(one, RateGuaranteed) and one.held]
    assert ("background",) in held
