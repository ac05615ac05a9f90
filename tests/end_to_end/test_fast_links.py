"""On a fast link pictures are left alone, but for who wants less of them; and what broke off there
goes on as it began, whatever the link is by then."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from remote_proxy.jobs import economy
from remote_proxy.jobs.economy import QUICK, WORTH, AdaptationReason
from remote_proxy.session import RemoteSession
from tests.end_to_end.pair import Asked, all_three, run, slow_three, until
from tests.end_to_end.test_page_load import PHOTO, refined, same_pixels, site_of
from tests.end_to_end.test_policies import policy_file, settled, standing
from transcoders.make.low import Low
from transcoders.make.registry import Transcoders

FAST = 1e9
"""Bytes/second."""


def measured(monkeypatch: pytest.MonkeyPatch, rate: float | None) -> None:
    monkeypatch.setattr(RemoteSession, "expected", property(lambda _: rate))


@pytest.fixture(autouse=True)
def _as_quick_as_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which work never ends later than its picture, however busy this one is."""
    monkeypatch.setattr(economy, "LEAST", 60.0)


def test_a_picture_that_is_here_at_once_is_the_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    measured(monkeypatch, FAST)

    async def go() -> None:
        async with all_three(worth=WORTH) as (origin, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert answer.body == PHOTO.read_bytes()
            assert not both.local.components.find(1, origin.base + "/a.jpg").levels
            assert both.session.statistics().pictures == {
                AdaptationReason.SOON: 2,
                AdaptationReason.ALONE: 1,  # in the style sheet
            }

    run(go())


def test_a_screenshot_is_left_alone_where_its_version_would_take_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two megapixels in a few bytes: the link carries them sooner than anybody encodes them."""
    measured(monkeypatch, 1.5e6)
    out = io.BytesIO()
    noise = Image.frombytes("L", (100, 10), random.Random(1).randbytes(1000))
    noise.resize((2000, 1000)).quantize(9).save(out, "PNG")
    screen = out.getvalue()

    async def go() -> None:
        async with all_three(worth=WORTH) as (origin, both):
            origin.serve("/page", b"<!doctype html><body><img src=/a.png>", "text/html")
            origin.serve("/a.png", screen, "image/png")
            await both.browser.navigate(origin.base + "/page")
            url = origin.base + "/a.png"
            await until(lambda: both.local.components.find(1, url))
            await until(lambda: both.known(url).complete)
            assert (both.known(url).levels, bytes(both.known(url).data)) == ((), screen)

    assert 60_000 < len(screen) < 200_000
    run(go())


@pytest.mark.parametrize("when", ["the picture comes", "its low level is made"])
def test_a_link_that_turns_out_fast_gets_the_origins_picture(
    when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As for a session's first pictures, which come while it is being measured."""
    measured(monkeypatch, 5e6 / 8)
    made, data = Transcoders.low, PHOTO.read_bytes()

    async def low(*given: Any, **how: Any) -> Low | None:
        level = await made(*given, **how)
        measured(monkeypatch, FAST)
        return level

    if when == "its low level is made":
        monkeypatch.setattr(Transcoders, "low", low)

    async def go() -> None:
        async with all_three(worth=WORTH) as (origin, both):
            page = site_of(origin)

            async def photo(asked: Asked) -> None:
                head = b"HTTP/1.1 200 X\r\ncontent-type: image/jpeg\r\ncontent-length: %d\r\n\r\n"
                await asked.send(head % len(data) + data[:9000])
                await until(
                    lambda: both.session.statistics().pictures.get(AdaptationReason.SLOW) == 2
                )
                if when == "the picture comes":
                    measured(monkeypatch, FAST)
                await asked.send(data[9000:])

            origin.paths["/a.jpg"] = photo
            await both.browser.navigate(page)
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert answer.body == data
            assert not both.local.components.find(1, origin.base + "/a.jpg").levels

    run(go())


def test_on_a_middling_link_a_picture_is_coarse_and_then_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured(monkeypatch, 5e6 / 8)

    async def go() -> None:
        async with all_three(worth=WORTH) as (origin, both):
            page = site_of(origin)
            html = (await both.browser.navigate(page)).body
            final, _ = await refined(both.browser, origin.base, page, html)
            component = both.local.components.find(1, origin.base + "/a.jpg")
            assert [level.name for level in component.levels] == ["low", "original"]
            assert component.identical and not component.coding
            assert final == PHOTO.read_bytes()
            assert AdaptationReason.WHOLE in both.session.statistics().pictures

    run(go())


@pytest.mark.parametrize("rule", ['level="low"', "quality=20"])
def test_who_wants_less_gets_less(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, FAST)
    path = policy_file(tmp_path, standing(f"Rule(kind=Kind.IMAGE, {rule})"))

    async def go() -> None:
        async with all_three(policy=["default", path], worth=WORTH) as (origin, both):
            await settled(both)
            page = site_of(origin)
            await both.browser.navigate(page)
            answer = await both.browser.image(origin.base + "/a.jpg", page)
            component = both.local.components.find(1, origin.base + "/a.jpg")
            await component.wait_settled()
            assert len(component.data) < 0.7 * len(PHOTO.read_bytes())
            assert not same_pixels(answer.body, PHOTO.read_bytes())

    run(go())


@pytest.mark.parametrize(
    ("rate", "why"),
    [(FAST, {"soon": 2, "alone": 1}), (5e6 / 8, {"slow": 2, "whole": 2, "alone": 1})],
)
def test_the_status_page_says_what_was_decided_about_pictures(
    rate: float, why: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, rate)

    async def go() -> None:
        async with all_three(worth=WORTH) as (origin, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            for name in ("a.jpg", "b.jpg", "c.png"):
                await both.browser.image(f"{origin.base}/{name}", page)

            async def told() -> dict[str, int]:
                answer = await both.client.get("http://sluice.local/status.json")
                pictures = json.loads(answer.body)["pictures"]
                assert all(one["text"] for one in pictures)
                return {one["why"]: one["count"] for one in pictures}

            await until(lambda: both.local.uplink.session.words.decisions == why)
            assert await told() == why

    run(go())


@pytest.mark.parametrize(
    ("before", "after"), [(None, FAST), (FAST, None), (QUICK, QUICK / 2), (QUICK / 2, QUICK)]
)
def test_a_picture_goes_on_as_it_began(
    before: float | None, after: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured(monkeypatch, before)

    async def go() -> None:
        async with slow_three(patience=20.0, worth=WORTH) as (origin, remote, both):
            page = site_of(origin)
            await both.browser.navigate(page)
            url = origin.base + "/a.jpg"
            await until(lambda: both.local.components.find(1, url))
            component = both.local.components.find(1, url)
            await until(lambda: len(component.data) > 8_000)
            assert bool(component.levels) is (before != FAST)
            assert not component.complete
            measured(monkeypatch, after)
            begun = bytes(component.data)
            await remote.stop()
            await remote.start()
            await component.wait_settled()
            assert component.failure is None
            assert bytes(component.data).startswith(begun)
            answer = await both.browser.image(url, page)
            assert same_pixels(answer.body, PHOTO.read_bytes())
            assert origin.counts()["/a.jpg"] == 2

    run(go())
