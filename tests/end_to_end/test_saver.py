"""A site that is switched to `saver`: pictures that look the same in few bytes, and no fonts."""

from __future__ import annotations

import io
from pathlib import Path

from PIL import Image, ImageChops

from tests.end_to_end.pair import FakeOrigin, Pair, all_three, run, until
from transcoders.make.alike import similarity

PHOTO = Path(__file__).parents[2] / "demo" / "site" / "news" / "img" / "05-glacier-park.jpg"
SIZE = (400, 267)


def serve(origin: FakeOrigin, *, width: int, height: int) -> tuple[bytes, str]:
    """A page with one photo, shown so large, and a font."""
    photo = PHOTO.read_bytes()
    page = (
        f"<!doctype html><title>x</title><style>@font-face {{ font-family: f; src: url(/f.woff2) }}"
        f"body {{ font-family: f }}</style><img src=/p.jpg width={width} height={height}><p>text"
    )
    origin.serve("/", page.encode())
    origin.serve("/p.jpg", photo, "image/jpeg")
    origin.serve("/f.woff2", bytes(5000), "font/woff2")
    return photo, origin.base + "/"


async def picture(both: Pair, page: str) -> bytes:
    """The file that a browser shows of it, once no more will come."""
    answer = await both.client.get(page + "p.jpg", both.browser.picture(page))
    assert answer.status == 200
    await until(lambda: both.known(page + "p.jpg").complete)
    return answer.body


def pixels(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def test_pictures_look_the_same_in_few_bytes_and_fonts_do_not_come() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            await both.browser.navigate(page)
            shown = await picture(both, page)
            assert len(shown) < 0.7 * len(photo)
            assert similarity(pixels(shown), pixels(photo)) >= 0.97
            assert both.known(page + "p.jpg").carried < 0.7 * len(photo)
            asked = [*both.browser.part(page), ("sec-fetch-dest", "font")]
            assert (await both.client.get(page + "f.woff2", asked)).status == 403
            assert origin.counts()["/f.woff2"] == 0

    run(go())


def test_a_picture_comes_at_the_size_that_it_is_shown_at() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=200, height=134)
            await both.browser.navigate(page)
            shown = await picture(both, page)
            assert pixels(shown).width <= 202
            assert len(shown) < 0.3 * len(photo)

    run(go())


def test_a_film_comes_at_once_where_nobody_could_tell_of_a_tap() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            _, page = serve(origin, width=SIZE[0], height=SIZE[1])
            origin.serve("/film.mp4", bytes(50_000), "video/mp4")
            await both.browser.navigate(page)  # as browsers do, but it runs no scripts
            asked = [*both.browser.part(page), ("sec-fetch-dest", "video")]
            assert (await both.client.get(page + "film.mp4", asked)).status == 200

    run(go())


def test_an_animation_stands_still_until_a_reader_wants_it() -> None:
    file = io.BytesIO()
    whole = pixels(PHOTO.read_bytes()).resize(SIZE)
    frames = [whole.rotate(angle) for angle in range(1, 6)]
    whole.save(file, "GIF", save_all=True, append_images=frames, duration=80, loop=0)
    moving = file.getvalue()

    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            _, page = serve(origin, width=SIZE[0], height=SIZE[1])
            origin.serve("/p.jpg", moving, "image/gif")
            await both.browser.navigate(page)
            shown = await picture(both, page)
            assert len(shown) < 0.1 * len(moving)
            assert similarity(pixels(shown), pixels(moving)) >= 0.97
            component = both.known(page + "p.jpg")
            assert component.stopped and component.carried < 0.1 * len(moving)
            assert both.local.tracker.original(component.document, component.url)
            await until(lambda: component.complete or component.failure)
            assert component.failure is None
            assert component.file(component.levels[-1]) == moving

    run(go())


def test_what_a_reader_wants_in_full_comes_behind_what_is_here_and_is_asked_for_once() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            await both.browser.navigate(page)
            saved = await picture(both, page)
            component = both.known(page + "p.jpg")
            assert component.stopped
            assert both.local.tracker.original(component.document, component.url)
            await until(lambda: component.complete or component.failure)
            assert component.failure is None
            high, original = component.levels
            assert component.file(high) == saved
            assert component.file(original) == photo
            assert component.restorable
            assert origin.counts()["/p.jpg"] == 2
            assert component.carried == len(saved) + len(photo)

    run(go())


def test_a_program_that_reads_the_file_gets_the_origins() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            await both.browser.navigate(page)
            await picture(both, page)
            fetched = await both.client.get(page + "p.jpg", both.browser.part(page))
            assert fetched.body == photo

    run(go())


def test_a_script_that_draws_the_picture_reads_the_origins_pixels() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            draws = "<script>function f(c, i) { c.getContext('2d').drawImage(i, 0, 0) }</script>"
            html = f"<!doctype html>{draws}<img src=/p.jpg width=400 height=267><p>text"
            origin.serve("/", html.encode())
            await both.browser.navigate(page)
            answer = await both.client.get(page + "p.jpg", both.browser.picture(page))
            assert ImageChops.difference(pixels(answer.body), pixels(photo)).getbbox() is None

    run(go())


def test_a_picture_that_only_a_script_knows_of_has_the_origins_pixels() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "saver"}) as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            origin.serve("/made.jpg", photo, "image/jpeg")
            await both.browser.navigate(page)
            answer = await both.client.get(page + "made.jpg", both.browser.picture(page))
            assert ImageChops.difference(pixels(answer.body), pixels(photo)).getbbox() is None

    run(go())


def test_other_sites_and_who_saves_nothing_are_as_ever() -> None:
    async def go() -> None:
        async with all_three(sites={"other.example": "saver"}) as (origin, both):
            _, page = serve(origin, width=SIZE[0], height=SIZE[1])
            await both.browser.navigate(page)
            await picture(both, page)
            found = both.known(page + "p.jpg")
            assert found.levels[-1].name == "original"

    run(go())


def test_a_browser_that_says_save_data_needs_no_switch() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            photo, page = serve(origin, width=SIZE[0], height=SIZE[1])
            await both.browser.get(page, [*both.browser.navigation(), ("save-data", "on")])
            shown = await picture(both, page)
            assert len(shown) < 0.7 * len(photo)

    run(go())
