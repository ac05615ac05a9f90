"""Links to office files in a real Chromium: text early, pictures that fill in, the same file."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import random
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.browsers.cdp import Tab, find_chromium, launch
from emulation.relay.relay import Relay
from local_proxy.export_drivers.preview import launch_page
from local_proxy.front.tls.authority import Authority
from tests.end_to_end.pair import FakeOrigin, Pair, Remote, pair, run
from tests.end_to_end.roots import Root
from tests.end_to_end.test_https_chromium import taking
from tests.end_to_end.test_previews import TYPE
from tests.office_files import DECK

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
RATE = 40_000
"""Bytes/second."""
SLOW = 8_000
"""Bytes/second: a whole picture takes 2 s, so a busy browser, too, has drawn the coarse one."""
STATE = """JSON.stringify({
  text: document.querySelector("section")?.innerText ?? "",
  word: document.getElementById("progress")?.textContent ?? "",
  end: document.documentElement?.dataset.end ?? "",
  pictures: [...document.images].map((one) => [one.dataset.l, one.naturalWidth]),
})"""


LOADS = """
window.loads = [];
document.addEventListener("load", ({ target }) => {
  if (target instanceof HTMLImageElement) loads.push([target.dataset.l, target.naturalWidth]);
}, true);
"""
"""Notes what each picture has shown: whoever only looks now and then may come too late."""


def deck() -> bytes:
    """The deck with a film of 2 s of the link behind it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(DECK)) as before, zipfile.ZipFile(out, "w") as after:
        after.writestr("ppt/media/film.mp4", random.Random(1).randbytes(80_000))
        for entry in before.infolist():
            after.writestr(entry, before.read(entry))
    return out.getvalue()


FILE = deck()


@asynccontextmanager
async def slow(
    folder: Path, *, secure: bool
) -> AsyncIterator[tuple[FakeOrigin, Pair, Authority, Relay]]:
    """An origin, perhaps over https, and both proxies with a slow link between them."""
    root, authority = Root(folder), Authority.open(folder / "state")
    remote = Remote(tls=root.trusted())
    await remote.start()
    target = ("127.0.0.1", remote.port)
    try:
        async with (
            FakeOrigin(tls=root.server("127.0.0.1") if secure else None).running() as origin,
            Relay(target=target, rate_up=RATE, rate_down=RATE, delay=0.01) as link,
            pair(start_remote=False, remote_port=link.address[1], authority=authority) as both,
        ):
            await both.connected()
            yield origin, both, authority, link
    finally:
        await remote.stop()


@asynccontextmanager
async def browsing(both: Pair, authority: Authority, downloads: Path) -> AsyncIterator[Tab]:
    proxy = "http://{}:{}".format(*both.address)
    async with launch(proxy=proxy, extra=taking(authority.spki_sha256)) as browser:
        await browser.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads)
        )
        yield await browser.new_tab()


async def state(tab: Tab) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(await tab.evaluate(STATE))
    return found


async def when(tab: Tab, expression: str) -> Any:
    """The expression's value once it has one."""
    async with asyncio.timeout(60):
        while not (value := await tab.evaluate(expression)):  # noqa: ASYNC110 - as in shows()
            await asyncio.sleep(0.05)
        return value


async def downloaded(folder: Path) -> bytes:
    async with asyncio.timeout(60):
        while True:
            for path in await asyncio.to_thread(lambda: list(folder.glob("*.pptx"))):
                # Chromium takes the name with an empty file first, then puts the whole one there.
                if data := await asyncio.to_thread(path.read_bytes):
                    return data
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_deck_is_read_while_it_comes_and_is_the_same_file(tmp_path: Path, secure: bool) -> None:
    async def main() -> None:
        downloads = tmp_path / "downloads"
        async with (
            slow(tmp_path, secure=secure) as (origin, both, authority, link),
            browsing(both, authority, downloads) as tab,
        ):
            complaints: list[object] = []
            tab.on("Log.entryAdded", complaints.append)
            tab.on("Runtime.exceptionThrown", complaints.append)
            await tab.call("Log.enable")
            await tab.call("Runtime.enable")
            await tab.call("Page.addScriptToEvaluateOnNewDocument", source=LOADS)
            origin.serve("/deck.pptx", FILE, TYPE)
            link.set_rate(down=SLOW)
            await tab.call("Page.navigate", url=origin.base + "/deck.pptx")
            await when(tab, "document.querySelector('section')?.innerText.includes('First of')")
            early = await state(tab)
            assert not early["end"]
            (showing,) = both.local.previews.showings
            assert showing.incoming.received < len(FILE)
            await when(tab, "loads.some(([level, width]) => level === 'low' && width)")
            link.set_rate(down=RATE)
            await tab.evaluate("document.querySelector('header nav a').click()")
            await when(tab, "document.documentElement.dataset.end === 'complete'")
            await when(tab, "[...document.images].every((one) => one.naturalWidth)")
            late = await state(tab)
            assert late["pictures"] == [["full", 160], ["full", 400], ["full", 160]]
            assert late["word"].startswith("complete, ")
            assert (
                hashlib.sha256(await downloaded(downloads)).digest()
                == hashlib.sha256(FILE).digest()
            )
            assert [asked.target for asked in origin.asked if "deck" in asked.target] == [
                "/deck.pptx"
            ]
            assert complaints == []

    run(main(), timeout=60)


HOSTILE = b"""<!doctype html><title>hostile</title><script>
const tries = [];
const attempt = async (what) => { try { tries.push(String(await what())); }
  catch (error) { tries.push(error.name); } };
const go = async () => {
  const own = window.open("/deck.pptx");
  await new Promise((go) => setTimeout(go, 1500));
  await attempt(() => own.document.body.innerHTML);
  await attempt(() => own.eval("1"));
  await attempt(() => fetch("/deck.pptx", {headers: {accept: "text/html",
    "upgrade-insecure-requests": "1"}}).then((got) => got.headers.get("content-type")));
  await attempt(() => fetch("@OPENER@").then((got) => got.text()));
  const frame = document.body.appendChild(document.createElement("iframe"));
  frame.src = "@OPENER@";
  await new Promise((go) => setTimeout(go, 500));
  await attempt(() => frame.contentDocument === null);
  const form = document.body.appendChild(document.createElement("form"));
  form.method = "post"; form.action = "@OPENER@"; form.target = "shot";
  form.submit();
  await new Promise((go) => setTimeout(go, 500));
  document.title = "done";
};
</script><body>"""


def test_a_hostile_page_starts_no_program_and_reads_no_preview(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            slow(tmp_path, secure=False) as (origin, both, authority, _),
            browsing(both, authority, tmp_path) as tab,
        ):
            started: list[str] = []

            async def start(url: str) -> asyncio.subprocess.Process:
                started.append(url)
                return await asyncio.create_subprocess_exec("true", stdout=asyncio.subprocess.PIPE)

            both.local.launching.start = start
            origin.serve("/deck.pptx", DECK, TYPE)
            await tab.call("Page.navigate", url=origin.base + "/deck.pptx")
            link = await when(tab, "document.querySelector('nav a[target]')?.href")
            assert link.startswith("http://sluice.local" + launch_page.PATH)
            # Even one that knows the key: of http pages a script can come to know it.
            origin.serve("/hostile", HOSTILE.replace(b"@OPENER@", link.encode()))
            await tab.call("Page.navigate", url=origin.base + "/hostile")
            await when(tab, "document.title === 'hostile'")
            await tab.call("Runtime.evaluate", expression="void go()", userGesture=True)
            await when(tab, "document.title === 'done'")
            tries = json.loads(await tab.evaluate("JSON.stringify(tries)"))
            assert tries[:2] == ["SecurityError", "SecurityError"]
            assert tries[2:4] == [TYPE, "TypeError"]
            assert tries[4] == "true"
            assert started == []
            await tab.call("Page.navigate", url=link)
            await when(tab, "document.querySelector('button') !== null")
            await tab.evaluate("document.querySelector('form').submit()")
            await when(tab, "document.title === 'Sluice' && !document.querySelector('form')")
            assert started == [origin.base + "/deck.pptx"]

    run(main(), timeout=60)
