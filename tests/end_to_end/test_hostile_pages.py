"""A hostile page in a real Chromium through the pair: what it may not read, it does not get."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from bench.attacks.page import is_private, photo
from bench.browsers.cdp import Tab, find_chromium, launch
from emulation.relay.relay import Relay
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import Asked, FakeOrigin, pair
from tests.end_to_end.roots import Root
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_https_chromium import taking

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


PRIVATE, PUBLIC = photo(red=True, width=1200), photo(red=False, width=64)


async def victim(asked: Asked) -> None:
    """Answers whoever has the cookie with what is private, and lets anybody read what is public."""
    known = "sid=user" in asked.header("cookie")
    headers = [("access-control-allow-origin", "*"), ("cache-control", "max-age=600")]
    await asked.answer(PRIVATE if known else PUBLIC, "image/jpeg", headers=headers)


EVIL = b"""<!doctype html><html><head><title>evil</title></head><body>
<img src="%s/photo.jpg" width=400 height=300><script>
window.seen = [];
new PerformanceObserver(list => seen.push(...list.getEntries().map(entry => entry.name)))
  .observe({type: "resource", buffered: true});
</script>ready</body></html>"""

STEAL = r"""(async () => {
  const photo = document.images[0].src;
  const page = await (await fetch(location.href)).text();
  const tag = (page.match(/\/\.well-known\/sluice\/driver\.js\?d=\w+/) || [""])[0];
  let said = "";
  for (let n = 0; n < 2 && tag; n++) said += await (await fetch(tag)).text();
  const sheets = document.adoptedStyleSheets.flatMap(sheet => [...sheet.cssRules]);
  const told = [...seen, ...sheets.map(rule => rule.cssText), said,
    getComputedStyle(document.images[0]).content].join(" ");
  const words = [...new Set(told.match(/\b[0-9a-f]{24}\b/g) || [])];
  const bodies = [];
  const get = async (url, init) => {
    for (const credentials of ["omit", "same-origin"]) {
      try {
        const answer = await fetch(url, {credentials, ...init});
        const bytes = new Uint8Array(await answer.arrayBuffer());
        bodies.push(btoa(Array.from(bytes, byte => String.fromCharCode(byte)).join("")));
      } catch (error) {}
    }
  };
  const accept = "image/avif,image/webp,*/*";
  for (const word of words) {
    for (let id = 1; id < 8; id++) {
      for (const level of ["low", "original"]) {
        const address = photo + "?sluice-level=" + word + "." + id + "." + level;
        await get(address, {cache: "reload", headers: {Accept: accept}});
      }
      const mark = "sluice." + word + "." + id;
      await get(photo, {cache: "reload", headers: {Accept: accept, "Content-Language": mark}});
    }
  }
  await get(photo, {cache: "no-store"}); // Chromium's own cache gives what a cookie has brought
  return {words: words.length, told: /KEY/.test(said), bodies};
})()"""


@pytest.mark.parametrize("protocol", ["http", "https over HTTP/1.1", "https over HTTP/2"])
def test_a_page_cannot_read_what_another_origin_answered_to_the_users_cookie(
    protocol: str, tmp_path: Path
) -> None:
    async def go() -> None:
        root, authority = Root(tmp_path), Authority.open(tmp_path / "state")
        secure = protocol != "http"
        flag = "--enable-http2" if protocol.endswith("2") else "--disable-http2"
        origins = [FakeOrigin(tls=root.server("127.0.0.1") if secure else None) for _ in range(2)]
        async with (
            origins[0].running() as bank,
            origins[1].running() as evil,
            pair(start_remote=False, tls=root.trusted()) as idle,
        ):
            await idle.remote.start()
            bank.paths["/photo.jpg"] = victim
            bank.serve("/", b"<title>in</title>ready", headers=[("set-cookie", "sid=user")])
            evil.serve("/", EVIL % bank.base.encode())
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
                tab = await browser.new_tab()
                await loaded(tab, bank.base + "/")
                await loaded(tab, evil.base + "/")
                await becomes(tab, "document.images[0].naturalWidth")
                coarse = both.local.export.statistics().multipart
                assert bool(coarse) is protocol.endswith("2"), "else it has no levels to steal"
                early = await tab.evaluate(STEAL)
                await becomes(tab, "document.readyState === 'complete'")
                async with asyncio.timeout(60):
                    while both.local.export.statistics().coarse:  # noqa: ASYNC110
                        await asyncio.sleep(0.05)
                late = await tab.evaluate(STEAL)
                for stolen in (early, late):
                    assert not stolen["told"], "a script has read the driver"
                    bodies = [base64.b64decode(body) for body in stolen["bodies"]]
                    assert PUBLIC in bodies
                    assert not any(is_private(body) for body in bodies)

    asyncio.run(asyncio.wait_for(go(), 60))


async def loaded(tab: Tab, url: str) -> None:
    await tab.call("Page.navigate", url=url)
    await becomes(tab, f"location.href === {url!r} && !!document.body?.innerText.includes('ready')")
