"""A window hears what its browser has to say, and shows the same page as the other browser's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bench.browsers.page_end import differences, end_of
from bench.browsers.windows import BrowserName, missing, window
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import serve

PAGE = """<!doctype html><meta http-equiv=content-security-policy content="img-src 'none'">
<body style="margin:0"><img src=forbidden.png><script src=absent.js></script>
<div style="height:3000px;background:linear-gradient(red,blue)"></div>
<script>console.error('said aloud'); setTimeout(() => { throw new Error('thrown') }, 0)</script>"""
HEARD = ("forbidden.png", "absent.js", "said aloud")


async def at_once() -> None:
    """Nothing is to come."""


@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_a_page_s_end_is_all_of_it_and_every_complaint(
    browser: BrowserName, tmp_path: Path
) -> None:
    if why := missing(browser):
        pytest.skip(why)
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "silent.html").write_text("<!doctype html><p>other")

    async def go() -> None:
        async with serve(tmp_path) as (host, port):
            endpoint = PageAccess(f"http://{host}:{port}/", no_link)
            async with window(endpoint, browser) as one:
                loud = await end_of(one, endpoint.base, "index.html", settled=at_once, looks=2)
                silent = await end_of(one, endpoint.base, "silent.html", settled=at_once, looks=2)
        heard = "\n".join(loud.complaints)
        assert all(words in heard for words in HEARD), heard
        assert "thrown" in heard or "uncaught" in heard
        assert loud.image.height >= 3000
        assert loud.protocols == {"http/1.1"}
        found = differences(loud, loud, silent)
        assert not found["same_size"]
        assert len(found["complaints"]) >= 4

    asyncio.run(go())
