"""A service worker in a real browser through the pair: what it keeps is what the origin has."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from bench.browsers.cdp import Tab, find_chromium
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, pair
from tests.end_to_end.roots import Root
from tests.end_to_end.test_https_chromium import picture, tab_through

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
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        async with (
            FakeOrigin(tls=root.server("127.0.0.1")).running() as origin,
            pair(tls=root.trusted(), authority=authority) as both,
            tab_through(both, authority.spki_sha256, mode) as tab,
        ):
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
