"""Programs read the origin's picture, byte for byte, however it was shown."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, Protocol

import pytest
from PIL import Image

from bench.browsers.bidi import EXECUTABLE as FIREFOX
from bench.browsers.bidi import launched as firefox
from bench.browsers.cdp import find_chromium
from tests.end_to_end.pair import Asked, FakeOrigin, all_three, run, until
from tests.end_to_end.test_https_chromium import picture, tab_through
from tests.end_to_end.test_second_visit import expecting, received, slow_link

SCREEN = Path(__file__).parents[2] / "demo" / "site" / "news" / "img" / "screen.png"
TAG = '"1"'
PAGE = b"""<!doctype html><title>page</title><body>
<img src=/a.png width=400 height=200><img src=/b.jpg width=400 height=300>"""
BEHIND = b"""<!doctype html><title>page</title><link rel=stylesheet href=/s.css><body>
<img src=/a.png width=400 height=200><div></div>"""
STYLE = b"div { width: 400px; height: 300px; background: url(/b.jpg) }"
READ = """(async () => {
  const digest = async (body) => [...new Uint8Array(await crypto.subtle.digest("SHA-256", body))]
    .map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const cache = await caches.open("kept");
  const read = {};
  for (const path of ["/a.png", "/b.jpg"]) {
    const ways = {
      "fetch": () => fetch(path),
      "from the cache": () => fetch(path, {cache: "only-if-cached", mode: "same-origin"}),
      "force-cache": () => fetch(path, {cache: "force-cache"}),
      "of a picture": () => fetch(path, {headers: {Accept: ACCEPT}}),
      "no-cors": () => fetch(new Request(path, {mode: "no-cors"})),
      "asked whether it has changed": () => fetch(path, {cache: "no-cache"}),
      "in Cache Storage": async () => { await cache.add(path); return cache.match(path); },
    };
    for (const way in ways) {
      let had = "no answer";
      try {
        const answer = await ways[way]();
        had = "no body";
        const told = ["etag", "content-type"].map((name) => answer.headers.get(name));
        read[path + " " + way] = [await digest(await answer.arrayBuffer()), ...told];
      } catch (error) {
        throw Error(`${path} ${way}, ${had}: ${error}`);
      }
    }
    read[path + " by XMLHttpRequest"] = await new Promise((done) => {
      const asked = new XMLHttpRequest();
      asked.open("GET", path);
      asked.responseType = "arraybuffer";
      asked.onload = async () => done([await digest(asked.response),
        ...["etag", "content-type"].map((name) => asked.getResponseHeader(name))]);
      asked.send();
    });
  }
  return JSON.stringify(read);
})()"""
IN_TURN = "document.images[%d].decode().then(() => document.images[%d].naturalWidth)"


def drawing() -> bytes:
    """A PNG as many programs write it: by zlib."""
    out = io.BytesIO()
    Image.open(SCREEN).save(out, "PNG")
    return out.getvalue()


class Site:
    """A page with two pictures that may be kept for ten minutes, and what each of them is."""

    def __init__(self, origin: FakeOrigin) -> None:
        self.files = {"/a.png": (drawing(), "image/png"), "/b.jpg": (picture(), "image/jpeg")}
        fields = [("cache-control", "max-age=600"), ("etag", TAG)]
        origin.serve("/", PAGE, headers=[("cache-control", "no-cache")])
        elsewhere = b"<!doctype html><title>elsewhere</title>"
        origin.serve("/elsewhere", elsewhere, headers=[("cache-control", "no-cache")])
        origin.serve("/s.css", STYLE, "text/css", headers=[("cache-control", "max-age=600")])
        for path, (body, kind) in self.files.items():
            origin.serve(path, body, kind, headers=fields)

    def expected(self, path: str) -> list[str]:
        body, kind = self.files[path]
        return [hashlib.sha256(body).hexdigest(), TAG, kind]


class AnyTab(Protocol):
    async def evaluate(self, expression: str) -> Any: ...


async def reads(tab: AnyTab, site: Site) -> None:
    """All ways by which a script can read the pictures give what the origin has."""
    accept = json.dumps("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8")
    read = json.loads(await tab.evaluate(READ.replace("ACCEPT", accept)))
    assert len(read) == 16
    others = {how: got for how, got in read.items() if got != site.expected(how.split(" ")[0])}
    assert others == {}


async def shown(tab: AnyTab) -> None:
    for number, width in enumerate((1311, 800)):
        assert await tab.evaluate(IN_TURN % (number, number)) == width


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_chromium_reads_the_origins_bytes_of_what_it_was_shown(tmp_path: Path, scheme: str) -> None:
    async def go() -> None:
        async with (
            slow_link(scheme, tmp_path) as (origin, both, authority),
            tab_through(both, authority.spki_sha256) as tab,
        ):
            site = Site(origin)
            statistics = both.local.export.statistics
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=origin.base + "/")
            await until(lambda: statistics().kept == 2)
            await shown(tab)
            used = statistics()
            assert (used.swapped, used.multipart) == ((2, 0) if scheme == "http" else (0, 2))
            carried = both.known(origin.base + "/a.png")
            assert carried.levels[-1].content_type == "image/webp"  # it was another on the link
            await reads(tab, site)
            # A download that the page starts.
            folder = str(tmp_path)
            await tab.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
            await tab.evaluate(
                "for (const path of ['/a.png', '/b.jpg']) { const a = document.createElement('a');"
                "a.href = path; a.download = 'saved' + path.slice(1); document.body.append(a);"
                "a.click(); }"
            )
            for path, (body, _) in site.files.items():
                saved = tmp_path / f"saved{path[1:]}"
                await until(lambda: saved.exists() and saved.read_bytes() == body)  # noqa: B023
            await tab.call("Page.navigate", url=origin.base + "/elsewhere")
            await until(lambda: origin.counts()["/elsewhere"])
            await until(lambda: not expecting(both))
            before = received(both)
            await tab.call("Page.navigate", url=origin.base + "/")
            await until(lambda: origin.counts()["/"] == 2)
            while await tab.evaluate("document.title + document.readyState") != "pagecomplete":
                pass
            await shown(tab)
            assert received(both) - before < 3000  # of 150,000

    run(go(), timeout=90)


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_a_photo_that_grew_behind_the_text_is_kept_in_the_origins_bytes(tmp_path: Path) -> None:
    """One response that was open before the end was known: nothing keeps that, but the driver."""

    async def go() -> None:
        async with (
            slow_link("http", tmp_path) as (origin, both, authority),
            tab_through(both, authority.spki_sha256) as tab,
        ):
            site = Site(origin)
            origin.serve("/", BEHIND, headers=[("cache-control", "no-cache")])
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=origin.base + "/")
            await until(lambda: both.local.export.statistics().kept == 2)
            assert both.local.export.statistics().streamed == 1
            photo = both.known(origin.base + "/b.jpg")
            assert not photo.identical
            await reads(tab, site)

    run(go(), timeout=90)


def test_programs_that_ask_for_parts_or_news_of_a_shown_picture_hear_of_the_origins_bytes() -> None:
    """HEAD, a range, a condition: none of them is answered by the form that was shown."""

    async def go() -> None:
        async with all_three() as (origin, both):
            site = Site(origin)
            png, kind = site.files["/a.png"]

            async def answer(asked: Asked) -> None:
                fields = [("etag", TAG), ("accept-ranges", "bytes"), ("cache-control", "max-age=9")]
                if asked.header("range") == "bytes=10-19":
                    part = [*fields, ("content-range", f"bytes 10-19/{len(png)}")]
                    await asked.answer(png[10:20], kind, status=206, headers=part)
                elif asked.header("if-none-match") == TAG:
                    await asked.answer(status=304, content_type="", headers=fields)
                else:
                    await asked.answer(b"" if asked.method == "HEAD" else png, kind, headers=fields)

            origin.paths["/a.png"] = answer
            page, url, browser = origin.base + "/", origin.base + "/a.png", both.browser
            await browser.navigate(page)
            shown = await browser.image(url, page)
            carried = both.known(url)
            assert carried.levels[-1].content_type == "image/webp"
            assert shown.body == png or not shown.header("etag")
            part = await browser.get(url, [*browser.picture(page), ("range", "bytes=10-19")])
            assert (part.status, part.body) == (206, png[10:20])
            news = await browser.get(url, [*browser.picture(page), ("if-none-match", TAG)])
            assert (news.status, news.header("etag")) == (304, TAG)
            for headers in (browser.part(page), browser.picture(page)):
                async with both.client.open(url, headers, method="HEAD") as head:
                    assert (head.header("etag"), head.header("content-type")) == (TAG, kind)
                    assert head.header("accept-ranges") == "bytes"
            for headers in (browser.part(page), [("accept", "*/*")]):
                whole = await both.client.get(url, headers)
                assert (whole.header("etag"), whole.body) == (TAG, png)

    run(go())


@pytest.mark.skipif(FIREFOX is None, reason="no firefox on this machine")
def test_firefox_reads_the_origins_bytes_of_what_it_was_shown(tmp_path: Path) -> None:
    async def go() -> None:
        async with (
            slow_link("http", tmp_path) as (origin, both, _),
            firefox(proxy="{}:{}".format(*both.address)) as browser,
            browser.tab() as tab,
        ):
            site = Site(origin)
            await tab.go(origin.base + "/")
            await until(lambda: both.local.export.statistics().kept == 2)
            await shown(tab)
            await reads(tab, site)
            await tab.go(origin.base + "/elsewhere")
            before = received(both)
            await tab.go(origin.base + "/")
            await shown(tab)
            assert received(both) - before < 3000

    run(go(), timeout=90)
