"""A day's budget over thirty page views: kept to, and one picture more by hand."""

from __future__ import annotations

import asyncio
import io
import random
from pathlib import Path

from PIL import Image

from local_proxy.http.model import Request
from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until

PHOTOS = sorted((Path(__file__).parents[2] / "demo" / "site" / "news" / "img").glob("*.jpg"))
BUDGET = 1_000_000


def serve(origin: FakeOrigin, number: int, chance: random.Random) -> list[str]:
    """A page with some of the photos, each with bytes of its own; their paths."""
    paths = []
    for at, photo in enumerate(chance.sample(PHOTOS, 4)):
        path = f"/{number}/{at}.jpg"
        data = photo.read_bytes()
        comment = b"\xff\xfe\x00\x06%04d" % (number * 10 + at)
        origin.serve(path, data[:2] + comment + data[2:], "image/jpeg")
        paths.append(path)
    pictures = "".join(f"<img src={path} width=400 height=270>" for path in paths)
    words = " ".join(f"word{chance.randrange(9999)}" for _ in range(400))
    origin.serve(f"/{number}", f"<!doctype html><title>x</title>{pictures}<p>{words}".encode())
    return paths


async def view(both: Pair, origin: FakeOrigin, number: int, paths: list[str]) -> int:
    """Opens the page; how many of its pictures were there."""
    page = f"{origin.base}/{number}"
    await both.browser.navigate(page)
    shown = 0
    for path in paths:
        answer = await both.client.get(origin.base + path, both.browser.picture(page))
        shown += answer.header("content-type") != "image/gif"
    await until(lambda: not both.local.uplink.expecting)
    return shown


def test_thirty_views_stay_within_the_budget_and_one_tap_brings_a_picture() -> None:
    async def go() -> None:
        async with all_three(day_budget="1 MB") as (origin, both):
            chance, shown = random.Random(25), []
            budget = both.local.day_budget
            assert budget is not None
            for number in range(30):
                paths = serve(origin, number, chance)
                shown.append(await view(both, origin, number, paths))
            budget.look()
            assert shown[0] == 4
            assert shown[-1] == 0, "it is gone by then"
            assert 0.9 * BUDGET < budget.spent < 1.05 * BUDGET
            status = both.local.overview.snapshot()
            (line,) = status.link.budgets
            assert (line.day, line.duty) == (True, "none")
            page, picture = f"{origin.base}/29", f"{origin.base}/29/0.jpg"
            tapped = Request("GET", picture, both.browser.picture(page), original=True)
            response = await both.local.core.handle(tapped)
            assert response.status == 200
            assert not isinstance(response.body, bytes | None)
            body = b"".join([chunk async for chunk in response.body])
            assert body[:2] == PHOTOS[0].read_bytes()[:2], "a JPEG, as the origin has it"
            assert len(body) > 30_000

    run(go())


def test_of_a_page_that_asks_for_all_at_once_comes_what_has_room() -> None:
    async def go() -> None:
        async with all_three(day_budget="0.15 MB") as (origin, both):
            budget = both.local.day_budget
            assert budget is not None
            photos = [PHOTOS[at % len(PHOTOS)].read_bytes() for at in range(24)]
            paths = [f"/{at}.jpg" for at in range(len(photos))]
            for at, (path, data) in enumerate(zip(paths, photos, strict=True)):
                comment = b"\xff\xfe\x00\x06%04d" % at
                origin.serve(path, data[:2] + comment + data[2:], "image/jpeg")
            pictures = "".join(f"<img src={path} width=400 height=270>" for path in paths)
            origin.serve("/", f"<!doctype html><title>x</title>{pictures}".encode())
            page = f"{origin.base}/"
            await both.browser.navigate(page)
            marked = both.browser.picture(page)
            answers = await asyncio.gather(
                *(both.client.get(origin.base + path, marked) for path in paths)
            )
            assert {answer.status for answer in answers} == {200}
            kinds = [answer.header("content-type") for answer in answers]
            for answer in answers:
                Image.open(io.BytesIO(answer.body)).load()  # raises where it was cut
            assert 3 <= len(kinds) - kinds.count("image/gif") < 12
            budget.look()
            assert budget.spent < 1.2 * 150_000

    run(go())
