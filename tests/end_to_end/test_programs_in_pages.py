"""Pages whose scripts read pixels of pictures, bytes of answers, or a service worker's cache: what
they get through the pair is what the origin has, in a real Chromium."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from emulation.relay.relay import Relay
from local_proxy.front.tls.authority import Authority
from local_proxy.sites.sites import Mode
from tests.end_to_end.pair import Asked, FakeOrigin, Pair, pair
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_hostile_pages import PRIVATE as PHOTO
from tests.end_to_end.test_https_chromium import taking

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


@asynccontextmanager
async def slow(protocol: str, folder: Path) -> AsyncIterator[tuple[FakeOrigin, Pair, Tab]]:
    """An origin, the pair with a slow link in it, and a tab of a browser before it."""
    root, authority = Root(folder), Authority.open(folder / "state")
    tls = root.server("127.0.0.1") if protocol != "http" else None
    flag = "--enable-http2" if protocol.endswith("2") else "--disable-http2"
    async with (
        FakeOrigin(tls=tls).running() as origin,
        pair(start_remote=False, tls=root.trusted()) as idle,
    ):
        await idle.remote.start()
        target = ("127.0.0.1", idle.remote.port)
        async with (
            Relay(target=target, rate_up=60_000, rate_down=60_000, delay=0.01) as link,
            pair(start_remote=False, remote_port=link.address[1], authority=authority) as both,
            launch(
                proxy="http://{}:{}".format(*both.address),
                extra=(*taking(authority.spki_sha256), flag),
            ) as browser,
        ):
            await both.connected()
            yield origin, both, await browser.new_tab()


READS = b"""<!doctype html><html><head>%s</head><body>
<img id=shown src=/shown.jpg width=400 height=300 style="display:block">
<svg width=100 height=100><image id=drawn href=/drawn.jpg width=100 height=100 /></svg>
<div style="width:100px;height:100px;background:url(/behind.jpg)"></div>
<script>%s</script></body></html>"""
SAMPLE = b"""
window.sample = async () => {
  const read = async (source) => {
    const canvas = new OffscreenCanvas(300, 225), brush = canvas.getContext("2d");
    brush.drawImage(source, 0, 0, 300, 225);
    const pixels = brush.getImageData(0, 0, 300, 225).data;
    return btoa(Array.from(pixels, byte => String.fromCharCode(byte)).join(""));
  };
  const texture = async (source) => {
    const canvas = document.createElement("canvas");
    const gl = canvas.getContext("webgl");
    if (!gl) return "";
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, source);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D,
      gl.getParameter(gl.TEXTURE_BINDING_2D), 0);
    const out = new Uint8Array(300 * 225 * 4);
    gl.readPixels(0, 0, 300, 225, gl.RGBA, gl.UNSIGNED_BYTE, out);
    return btoa(Array.from(out, byte => String.fromCharCode(byte)).join(""));
  };
  const made = new Image();
  made.src = "/made.jpg";
  await made.decode();
  const shown = document.getElementById("shown");
  await shown.decode();
  const out = {made: await read(made), shown: await read(shown), texture: await texture(shown)};
  out.bitmap = await read(await createImageBitmap(shown));
  const drawn = document.getElementById("drawn");
  await drawn.decode?.();
  out.drawn = await read(drawn);
  return out;
};
"""


async def compare(origin: FakeOrigin, both: Pair, tab: Tab) -> None:
    """What the page's scripts read of its pictures, adapted and as the origin has them."""
    for name in ("shown", "drawn", "behind", "made"):
        origin.serve(f"/{name}.jpg", PHOTO, "image/jpeg")
    samples = []
    for mode in (Mode.ADAPT, Mode.ORIGINAL):
        both.local.sites.choose("127.0.0.1", mode)
        await tab.call("Network.clearBrowserCache")
        await tab.call("Page.navigate", url=origin.base + "/")
        await becomes(tab, "!!window.sample && !!document.images[0]")
        samples.append(await tab.evaluate("window.sample()"))
    adapted, direct = samples
    assert len(set(direct.values())) > 1, "nothing was drawn"
    assert [name for name in direct if adapted[name] != direct[name]] == []


@pytest.mark.parametrize(
    ("protocol", "where"),
    [
        ("http", "in the page"),
        ("https over HTTP/1.1", "in a script of it"),
        ("https over HTTP/2", "in the page"),
        ("https over HTTP/2", "in a script of it"),
    ],
)
def test_scripts_draw_the_pixels_that_the_origin_has(
    protocol: str, where: str, tmp_path: Path
) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            inside = where == "in the page"
            tag = b"" if inside else b"<script src=/reads.js></script>"
            origin.serve("/", READS % (tag, SAMPLE if inside else b""))
            origin.serve("/reads.js", SAMPLE, "text/javascript")
            await compare(origin, both, tab)

    asyncio.run(asyncio.wait_for(go(), 60))


@pytest.mark.parametrize(
    ("how", "protocol"),
    [
        ("before", "https over HTTP/1.1"),
        ("behind", "https over HTTP/2"),
        ("async", "http"),
        ("module", "https over HTTP/2"),
        ("page", "http"),
        ("large", "https over HTTP/2"),
        ("large", "http"),
    ],
)
def test_a_script_that_comes_late_draws_the_pixels_that_the_origin_has(
    how: str, protocol: str, tmp_path: Path
) -> None:
    """Its origin takes longer for the script, or for the page's end, than for the pictures; or the
    link does, which carries its last bytes, by which it is known, behind all pictures."""
    before = b"<script src=/reads.js></script>" if how == "before" else b""
    behind = {
        "behind": b"</script><script src=/reads.js>",
        "async": b"</script><script async src=/reads.js>",
        "module": b"</script><script type=module src=/reads.js>",
        "page": SAMPLE,
        "large": b"</script><script async src=/reads.js>",
    }.get(how, b"")
    large = b"//" + random.Random(1).randbytes(60_000).hex().encode() if how == "large" else b""

    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):

            async def page(asked: Asked) -> None:
                body = READS % (before, behind)
                head = b"HTTP/1.1 200 X\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n"
                first, start, last = body.partition(b"<script>" if how != "before" else b"<img")
                await asked.send(head % len(body) + first)
                await asyncio.sleep(2.5 if how == "page" else 0)
                await asked.send(start + last)

            async def script(asked: Asked) -> None:
                await asyncio.sleep(0 if large else 2.5)
                await asked.answer(large + SAMPLE, "text/javascript")

            origin.paths["/"] = page
            origin.paths["/reads.js"] = script
            await compare(origin, both, tab)

    asyncio.run(asyncio.wait_for(go(), 60))


MAKES = b"""<!doctype html><html><head><link rel=preload as=image href=/preloaded.jpg></head><body>
<img src=/shown.jpg width=400 height=300><script>
window.made = (async () => {
  const sums = [];
  for (const name of ["/made.jpg", "/preloaded.jpg"]) {
    const image = new Image();
    image.src = name;
    await image.decode();
    await new Promise(done => setTimeout(done, 50)); // whatever it shows by then was loaded
    sums.push([name, image.complete]);
  }
  return sums;
})();
</script></body></html>"""


def test_a_picture_that_a_script_makes_has_loaded_when_it_says_so(tmp_path: Path) -> None:
    """Nothing in the page reads pixels; what takes the picture may be on its way still."""

    async def go() -> None:
        async with slow("https over HTTP/2", tmp_path) as (origin, both, tab):
            origin.serve("/", MAKES)
            for name in ("shown", "made", "preloaded"):
                origin.serve(f"/{name}.jpg", PHOTO, "image/jpeg")
            await tab.call("Page.navigate", url=origin.base + "/")
            await becomes(tab, "!!window.made")
            assert await tab.evaluate("window.made")
            assert len(both.known(origin.base + "/shown.jpg").levels) > 1
            for name in ("made.jpg", "preloaded.jpg"):
                picture = both.known(f"{origin.base}/{name}")
                assert len(picture.levels) == 1
                assert picture.levels[-1].end <= picture.received
            assert both.local.export.statistics().multipart == 1

    asyncio.run(asyncio.wait_for(go(), 60))


PAGE = b"<!doctype html><html><head><title>page</title></head><body>ready</body></html>"
DIGEST = """fetch(%r, %s).then(answer => answer.arrayBuffer())
  .then(data => crypto.subtle.digest("SHA-256", data))
  .then(sum => [...new Uint8Array(sum)].map(byte => byte.toString(16).padStart(2, "0")).join(""))"""
VALIDATORS = [
    [("etag", '"one"'), ("cache-control", "max-age=600")],
    [("etag", '"one"'), ("cache-control", "no-cache")],
    [("last-modified", "Mon, 23 Nov 2020 10:00:00 GMT"), ("cache-control", "no-cache")],
    [("last-modified", "Mon, 23 Nov 2020 10:00:00 GMT")],
]


@pytest.mark.parametrize(
    ("protocol", "fields"),
    [("https over HTTP/2", VALIDATORS[0]), *(("http", fields) for fields in VALIDATORS)],
)
def test_a_script_that_fetches_its_own_page_gets_the_origins_bytes(
    protocol: str, fields: list[tuple[str, str]], tmp_path: Path
) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):

            async def handler(asked: Asked) -> None:
                known = asked.header("if-none-match") or asked.header("if-modified-since")
                if known in ('W/"one"', fields[0][1]):
                    await asked.answer(status=304, headers=fields)
                else:
                    await asked.answer(PAGE, headers=fields)

            origin.paths["/"] = handler
            digest = hashlib.sha256(PAGE).hexdigest()
            for visit in range(2):
                await tab.call("Page.navigate", url=origin.base + "/?")
                await tab.call("Page.navigate", url=origin.base + "/")
                await becomes(tab, "location.search === '' && !!document.body?.innerText")
                for cache in ("default", "force-cache", "no-cache"):
                    got = await tab.evaluate(DIGEST % (origin.base + "/", f"{{cache: '{cache}'}}"))
                    assert got == digest, (visit, cache)
            assert both.local.export.statistics().drivers >= 1
            assert not [one for one in origin.asked if "sluice" in one.header("if-none-match")]

    asyncio.run(asyncio.wait_for(go(), 60))


KEEPS = b"""<!doctype html><html><head><title>kept</title><script>
const workers = navigator.serviceWorker;
window.ready = workers.register("/worker.js").then(() => workers.ready);
</script></head><body><img src=/shown.jpg width=400 height=300></body></html>"""
WORKER = b"""
self.addEventListener("install", event => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil((async () => {
  await self.registration.navigationPreload?.enable();
  await self.clients.claim();
})()));
self.addEventListener("fetch", event => event.respondWith((async () => {
  const answer = (await event.preloadResponse) || (await fetch(event.request));
  const copy = answer.clone();
  event.waitUntil(caches.open("c").then(cache => cache.put(event.request, copy)).catch(() => {}));
  return answer;
})()));
"""
KEPT = """(async () => {
  const cache = await caches.open("c"), out = [];
  for (const request of await cache.keys()) {
    const answer = await cache.match(request);
    const data = await answer.arrayBuffer();
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    const hex = [...sum].map(byte => byte.toString(16).padStart(2, "0")).join("");
    out.push([new URL(request.url).pathname + new URL(request.url).search, hex,
      new TextDecoder("latin1").decode(data).includes("sluice")]);
  }
  return out;
})()"""


@pytest.mark.parametrize("protocol", ["http", "https over HTTP/2"])
def test_nothing_of_ours_is_in_a_service_workers_cache(protocol: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with slow(protocol, tmp_path) as (origin, both, tab):
            files = {"/": KEEPS, "/worker.js": WORKER, "/shown.jpg": PHOTO, "/later.jpg": PHOTO}
            for path, data in files.items():
                kind = {"s": "text/javascript", "g": "image/jpeg"}.get(path[-1], "text/html")
                fields = [("cache-control", "max-age=60"), ("etag", '"1"')]
                origin.serve(path, data, kind, headers=fields)
            for _ in range(3):
                await tab.call("Page.navigate", url="about:blank")
                await tab.call("Page.navigate", url=origin.base + "/")
                await becomes(tab, "!!window.ready")
                await tab.evaluate("window.ready.then(() => 1)")
                await becomes(tab, "!!navigator.serviceWorker.controller")
                await tab.evaluate(
                    "new Promise(done => { const i = new Image(); i.onload = i.onerror = done;"
                    " i.src = '/later.jpg'; }).then(() => 1)"
                )
                async with asyncio.timeout(60):
                    while both.local.export.statistics().coarse:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
            kept = await tab.evaluate(KEPT)
            assert "/later.jpg" in [path for path, _, _ in kept]
            assert "/" in [path for path, _, _ in kept]
            for path, digest, ours in kept:
                assert not ours, f"{path} has something of ours in it"
                if path != "/favicon.ico":
                    assert digest == hashlib.sha256(files[path]).hexdigest(), path

    asyncio.run(asyncio.wait_for(go(), 60))
