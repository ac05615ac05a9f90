"""A drawing among photos, in virtual time: nothing is coarse of it, so none is finer before it."""

from __future__ import annotations

import random

from bench.origins.synthetic import File, Shelf, SyntheticPage, page, prepared
from bench.pairs.pair import memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from wire.skeleton import Kind

URL = "http://one.test/"
DRAWING = f"{URL}chart.svg"
LINK = LinkModel(rate_up=12_000, rate_down=48_000, delay=0.05)
PHOTOS = page(URL, text=10_000, large=300_000)
MADE = prepared([PHOTOS])


def drawing() -> bytes:
    """30 KB, 10 KB of them once coded."""
    chance = random.Random(7)
    points = " ".join(f"{chance.randrange(9999)},{chance.randrange(999)}" for _ in range(3000))
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9999 999">'
        f'<polyline fill="none" stroke="#000" points="{points}"/></svg>'
    ).encode()


def test_a_drawing_is_shown_before_photos_become_finer() -> None:
    files = dict(PHOTOS.files)
    html = files[URL]
    files[URL] = File(html.content_type, html.data + b'<p><img src="chart.svg" alt="">\n')
    files[DRAWING] = File("image/svg+xml", drawing())
    shelf = Shelf([SyntheticPage(URL, files)])

    async def go() -> tuple[dict[str, float], dict[str, float]]:
        """By address, when each picture was there coarse, and when good."""
        async with memory_pair(LINK, Services(shelf, MADE), [Default()]) as pair:
            document = await pair.load(URL)
            await pair.complete(document)
            reached = pair.witness.reached
            pictures = [part for part in pair.witness.parts.values() if part.kind is Kind.IMAGE]
            assert len(pictures) > 5
            return (
                {part.url: reached[part.component, "low"] for part in pictures},
                {part.url: reached[part.component, "medium"] for part in pictures},
            )

    coarse, good = run(go())
    shown = coarse.pop(DRAWING)
    del good[DRAWING]
    assert max(coarse.values()) < shown, "it is the last of the page"
    assert shown < min(good.values())
