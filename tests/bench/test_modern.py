"""The page as sites make them today, and copies of it that have nothing in common."""

from __future__ import annotations

import asyncio
import io
from hashlib import sha256
from pathlib import Path

import pytest
from PIL import Image, ImageChops

from bench.browsers.cdp import find_chromium, launch
from bench.origins import modern
from bench.origins.site import serve
from bench.origins.visits import visits
from tests.end_to_end.test_chromium import becomes
from transcoders.formats.avif import inspect


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_is_the_same_each_time_and_shows_all_its_pictures(tmp_path: Path) -> None:
    one, other = modern.make(tmp_path / "one"), modern.make(tmp_path / "other")
    made = files(one)
    assert made == files(other)
    named = made["index.html"] + made["stories.json"]
    pictures = [name for name in made if name.startswith("img/")]
    assert len(pictures) == modern.PICTURES
    assert all(name.encode() in named for name in pictures)
    assert len({sha256(made[name]).digest() for name in pictures}) == modern.PICTURES


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_a_browser_shows_all_its_pictures_and_runs_its_scripts(tmp_path: Path) -> None:
    async def go() -> None:
        with visits(modern.make(tmp_path / "page"), 1) as site:
            async with serve(site) as (host, port), launch() as browser:
                tab = await browser.new_tab()
                await tab.call("Page.navigate", url=f"http://{host}:{port}/0/index.html")
                shown = "[...document.images].filter(one => one.naturalWidth).length"
                await becomes(tab, f"{shown} === {modern.PICTURES}")
                assert await tab.evaluate("typeof thumbnail") == "function"

    asyncio.run(asyncio.wait_for(go(), 60))


def test_copies_of_it_have_other_bytes_and_the_same_pixels(tmp_path: Path) -> None:
    with visits(modern.make(tmp_path / "page"), 2) as site:
        one, other = files(site / "0"), files(site / "1")
    assert one.keys() == other.keys()
    for name, data in one.items():
        ending = name.rpartition(".")[2]
        if ending in ("webp", "avif"):
            assert data != other[name]
            before, after = (Image.open(io.BytesIO(each[name])) for each in (one, other))
            assert ImageChops.difference(before, after).getbbox() is None
        if ending == "avif":
            assert inspect(data) == inspect(other[name])
        if name in ("analytics.js", "app.js", "ad.js", "end.js"):
            assert data != other[name]
            assert len(data) == len(other[name])
