"""A service worker in a real browser through the pair: what it keeps is what the origin has."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, Pair, pair
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_chromium import picture, tab_through
from tests.end_to_end.test_page_load import PHOTO
from tests.end_to_end.test_programs_in_pages import slow

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

PAGE = b"""<!doctype html><html><head><title>kept</title><script>
window.ready = navigator.serviceWorker.register("/worker.js")
  .then(() => navigator.serviceWorker.ready)
  .then(() => navigator.serviceWorker.controller || new Promise(done =>
     navigator.serviceWorker.addEventListener("controllerchange", done)));
</script></head><body><img src="/seen.jpg" width=400 height=300></body></html>"""
WORKER = b"""
self.addEventListener("install", event => {
  self.skipWaiting();
  event.waitUntil(caches.open("c").then(cache => cache.addAll(["/", "/added.jpg"])));
});
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", event => event.respondWith((async () => {
  const cache = await caches.open("c");
  const known = await cache.match(event.request);
  if (known) return known;
  const answer = await fetch(event.request);
  await cache.put(event.request, answer.clone());
  return answer;
})()));
"""
KEPT = """caches.open("c").then(cache => cache.match("%s")).then(answer => answer.arrayBuffer())
  .then(data => crypto.subtle.digest("SHA-256", data))
  .then(sum => [...new Uint8Array(sum)].map(byte => byte.toString(16).padStart(2, "0")).join(""))"""
SHOWN = """(async () => { const image = new Image(); image.src = "%s"; await image.decode();
  return image.naturalWidth; })()"""

FETCHED = "fetch('%s').then(answer => answer.arrayBuffer()).then(data => data.byteLength)"


@asynccontextmanager
async def quick(mode: str, folder: Path) -> AsyncIterator[tuple[FakeOrigin, Pair, Tab]]:
    """An origin, the pair without a slow link in it, and a tab of Chromium before it."""
    root, authority = Root(folder), Authority.open(folder / "state")
    async with (
        FakeOrigin(tls=root.server("127.0.0.1")).running() as origin,
        pair(tls=root.trusted(), authority=authority) as both,
        tab_through(both, authority.spki_sha256, mode) as tab,
    ):
        yield origin, both, tab


async def ready(tab: Tab, call: str, **params: object) -> None:
    """Load, and wait until the page's worker answers for it."""
    await tab.evaluate("window.left = true")
    await tab.call(call, **params)
    async with asyncio.timeout(60):
        while not await tab.evaluate("!window.left && !!window.ready"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the page tells nobody
        await tab.evaluate("window.ready.then(() => 1)")


async def kept(tab: Tab, path: str) -> object:
    return await tab.evaluate(KEPT % path)


@pytest.mark.parametrize("mode", ["--enable-http2", "--disable-http2"])
def test_a_worker_keeps_the_origins_bytes_and_answers_without_a_link(
    mode: str, tmp_path: Path
) -> None:
    photo = picture()
    digest = hashlib.sha256(photo).hexdigest()

    async def go() -> None:
        async with quick(mode, tmp_path) as (origin, both, tab):
            origin.serve("/", PAGE)
            origin.serve("/worker.js", WORKER, "text/javascript")
            for path in ("/seen.jpg", "/added.jpg", "/later.jpg"):
                origin.serve(path, photo, "image/jpeg")
            await ready(tab, "Page.navigate", url=origin.base + "/")
            assert await kept(tab, "/") == hashlib.sha256(PAGE).hexdigest()  # without our script
            assert await kept(tab, "/added.jpg") == digest
            # An <img> whose request the worker passes on as it is, and a script's own fetch of a
            # picture that was promised, and perhaps shown coarse.
            assert await tab.evaluate(SHOWN % "/later.jpg") == 800
            assert await kept(tab, "/later.jpg") == digest
            assert await tab.evaluate(FETCHED % "/seen.jpg") == len(photo)
            assert await kept(tab, "/seen.jpg") == digest
            later = [asked for asked in origin.asked if asked.target == "/later.jpg"]
            assert [one.header("sec-fetch-dest") for one in later] == ["empty"]
            assert later[0].header("accept").startswith("image/")
            await both.remote.stop()
            asked = len(origin.asked)
            await ready(tab, "Page.reload")
            assert await tab.evaluate("document.title") == "kept"
            assert await tab.evaluate(SHOWN % "/later.jpg") == 800
            assert len(origin.asked) == asked

    asyncio.run(go())


SKIPS = """addEventListener("install", () => skipWaiting());
addEventListener("activate", event => event.waitUntil(clients.claim()));
"""
ANSWERS = (
    SKIPS
    + """addEventListener("fetch", event => {
  if (%s) event.respondWith((async () => {
    const cache = await caches.open("c"), answer = await fetch(event.request);
    event.waitUntil(cache.put(event.request, answer.clone()));
    return answer;
  })());
});"""
)
WORKERS = {
    "pages": ANSWERS % "event.request.mode === 'navigate'",
    "data": ANSWERS % "event.request.url.includes('/data')",
    "pushes": SKIPS + "importScripts('/push.js')",
    "pictures": ANSWERS % "event.request.destination === 'image'",
    "all": ANSWERS % "true",
}
PICTURES = 5
REGISTERS = b"""<!doctype html><script>window.ready = (async () => {
  const workers = navigator.serviceWorker;
  await workers.register("/worker.js");
  if (!workers.controller) await new Promise(done => workers.oncontrollerchange = done);
})();</script>"""
GALLERY = b"""<!doctype html><script>
  window.loads = [];
  const came = event => event.target.src && loads.push(performance.now());
  document.addEventListener("load", came, true);
</script><body>""" + b"".join(
    b"<img src=%d.jpg width=400 height=300>" % number for number in range(PICTURES)
)
ALL_KEPT = """(async () => {
  const cache = await caches.open("c"), kept = {};
  for (const one of await cache.keys()) {
    const data = await (await cache.match(one)).arrayBuffer();
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    kept[new URL(one.url).pathname] = [...sum].map(x => x.toString(16).padStart(2, "0")).join("");
  }
  return JSON.stringify(kept);
})()"""


@pytest.mark.parametrize("answers", WORKERS)
def test_what_a_worker_does_not_take_is_adapted(answers: str, tmp_path: Path) -> None:
    """The second visit of a site: its worker is there, and answers what it has answers for."""
    photo = PHOTO.read_bytes()

    async def go() -> None:
        async with slow("https over HTTP/2", tmp_path) as (origin, both, tab):
            origin.serve("/", REGISTERS)
            origin.serve("/worker.js", WORKERS[answers].encode(), "text/javascript")
            origin.serve("/push.js", b"addEventListener('push', () => 0)", "text/javascript")
            for visit in ("/1/", "/2/"):
                origin.serve(visit, GALLERY)
                for number in range(PICTURES):
                    data = photo + visit.encode()  # another file each time
                    origin.serve(f"{visit}{number}.jpg", data, "image/jpeg")
            await ready(tab, "Page.navigate", url=origin.base + "/")
            drivers = both.local.export.statistics().drivers
            for visit in ("/1/", "/2/"):
                before = both.local.export.statistics()
                await tab.call("Page.navigate", url=origin.base + visit)
                whole = f"window.loads?.length === {PICTURES}"
                await becomes(tab, f"location.pathname === '{visit}' && {whole}")
                after = both.local.export.statistics()
                taken = answers in ("pictures", "all")
                assert after.multipart - before.multipart == (0 if taken else PICTURES)
                if taken:  # one after the other, as nobody sees them before they are whole
                    first, *_, last = await tab.evaluate("window.loads")
                    assert first < 0.6 * last
            assert (after.drivers > drivers) is (answers == "pushes")
            kept = json.loads(str(await tab.evaluate(ALL_KEPT)))
            files = {visit: GALLERY for visit in ("/1/", "/2/") if answers in ("pages", "all")}
            if taken:
                names = [f"{visit}{n}.jpg" for visit in ("/1/", "/2/") for n in range(PICTURES)]
                files |= {name: photo + name[:3].encode() for name in names}
            sums = {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
            assert {path: kept.get(path) for path in sums} == sums

    asyncio.run(asyncio.wait_for(go(), 90))


FIRST_THE_NETWORK = (
    SKIPS
    + """addEventListener("fetch", event => event.respondWith((async () => {
  const cache = await caches.open("c");
  try {
    const answer = await fetch(event.request);
    await cache.put(event.request, answer.clone());
    return answer;
  } catch {
    return await cache.match(event.request) ?? Response.error();
  }
})()));"""
)


@pytest.mark.parametrize("mode", ["--enable-http2", "--disable-http2"])
def test_while_the_link_is_down_a_worker_shows_what_it_has(mode: str, tmp_path: Path) -> None:
    """To it a page that says why there is no answer would be the answer."""
    photo = picture()

    async def go() -> None:
        async with quick(mode, tmp_path) as (origin, both, tab):
            origin.serve("/", REGISTERS)
            origin.serve("/worker.js", FIRST_THE_NETWORK.encode(), "text/javascript")
            for page in ("seen", "other"):
                body = f"<!doctype html><title>{page}</title><img src=/{page}.jpg>"
                origin.serve(f"/{page}", body.encode())
                origin.serve(f"/{page}.jpg", photo, "image/jpeg")
            await ready(tab, "Page.navigate", url=origin.base + "/")
            await tab.call("Page.navigate", url=origin.base + "/seen")
            await becomes(tab, "document.images[0]?.naturalWidth === 800")
            await both.remote.stop()
            await tab.call("ServiceWorker.enable")
            for stopped in (False, True):  # Chromium asks for the page itself while one starts
                await tab.call("Page.navigate", url="about:blank")
                if stopped:
                    await tab.call("ServiceWorker.stopAllWorkers")
                await tab.call("Page.navigate", url=origin.base + "/seen")
                await becomes(tab, "document.title === 'seen'")
                await becomes(tab, "document.images[0]?.naturalWidth === 800")
            await tab.call("Page.navigate", url=origin.base + "/other")
            await becomes(tab, "document.title !== 'seen'")
            assert "Sluice" not in str(await tab.evaluate("document.documentElement.innerHTML"))

    asyncio.run(asyncio.wait_for(go(), 60))
