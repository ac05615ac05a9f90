"""A page that two devices load is worked on once, under whatever addresses it comes."""

from __future__ import annotations

from tests.end_to_end.pair import all_three, pair, run, until
from tests.end_to_end.test_page_load import PHOTO, same_pixels


def test_the_next_device_gets_the_levels_that_were_made_for_the_one_before() -> None:
    async def go() -> None:
        async with (
            all_three() as (origin, one),
            pair(start_remote=False, remote_port=one.remote.port) as other,
        ):
            await other.connected()
            for name in ("a", "b"):
                origin.serve(f"/{name}.jpg", PHOTO.read_bytes(), "image/jpeg")
                html = f'<html><body><img src="/{name}.jpg" width=640 height=480></body></html>'
                origin.serve(f"/{name}.html", html.encode(), "text/html")
            made = one.remote.transcoders
            for both, name in ((one, "a"), (other, "b")):
                page, url = f"{origin.base}/{name}.html", f"{origin.base}/{name}.jpg"
                await both.browser.navigate(page)
                answer = await both.browser.image(url, page)
                component = both.local.components.find(1, url)
                await until(lambda component=component: component.complete)  # type: ignore[misc]
                assert component.levels
                assert same_pixels(answer.body, PHOTO.read_bytes())
                if name == "a":
                    assert made.statistics().spared == 0
            assert made.statistics().spared >= 2  # the low level, the finer ones; a recipe as well
            assert origin.counts()["/b.jpg"] == 1

    run(go())
