"""Runs every topic in one browser over one protocol, directly and through the pair, at once.

The link between the proxies is a little slow, so that pictures come in levels. A page says that it
is done by `window.report`; it may have gone through several documents by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import socket
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp.abc import AbstractResolver, ResolveResult

from bench.browsers import bidi, cdp
from emulation.relay.relay import Relay
from local_proxy.front.tls.authority import Authority
from tests.conformance.origin import TOPICS, Site
from tests.conformance.plain_proxy import plain_proxy
from tests.end_to_end.pair import pair
from tests.end_to_end.roots import Root

NAMES = tuple(sorted(one.stem for one in TOPICS.glob("*.js") if one.stem != "harness"))
HOSTS = ("cross.test", *(host for one in NAMES for host in (f"{one}.test", f"www.{one}.test")))
"""One name for each topic: what the pair learns of a host by one topic must not help another."""
PATIENCE = 120.0
"""Seconds for one topic on a busy machine; on a quiet one it takes two."""
RATE, DELAY = 500_000, 0.01
"""Bytes a second and seconds of the link between the proxies."""

Evaluate = Callable[[str], Awaitable[Any]]


@dataclass
class Door:
    """One way to the origin: where a browser's requests go, and which certificates it takes."""

    proxy: str
    pem: bytes
    spki: str
    clear: bool
    """The run is over http, whose pages are to have the powers of secure ones all the same."""


@dataclass
class Results:
    """What the topics have said, by topic and name."""

    direct: dict[str, dict[str, Any]] = field(default_factory=dict)
    pair: dict[str, dict[str, Any]] = field(default_factory=dict)
    failures: dict[str, tuple[Counter[str], Counter[str]]] = field(default_factory=dict)
    """By topic, how often the browser could not load something, in its words: directly, and
    through the pair."""


class Here(AbstractResolver):
    """All names mean this machine."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host="127.0.0.1", port=port, proto=0, flags=0, family=socket.AF_INET
            )
        ]

    async def close(self) -> None:
        pass


@contextlib.asynccontextmanager
async def _chromium(door: Door, site: Site, folder: Path) -> AsyncIterator[Tab]:
    secure = ",".join(f"http://{host}:{port}" for host in HOSTS for port in site.http)
    flags = (
        f"--ignore-certificate-errors-spki-list={door.spki}",
        *((f"--unsafely-treat-insecure-origin-as-secure={secure}",) if door.clear else ()),
        "--disable-popup-blocking",
        "--autoplay-policy=no-user-gesture-required",
    )
    async with cdp.launch(proxy=f"http://{door.proxy}", extra=flags) as browser:
        await browser.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder)
        )
        tab = await browser.new_tab()

        # Windows that the pages open must not hide the tab, which would stop its drawing.
        await tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
        await tab.call("Network.enable")
        failures: list[str] = []
        tab.on("Network.loadingFailed", lambda event: failures.append(event["errorText"]))

        async def go(url: str) -> None:
            await tab.bring_to_front()
            await tab.call("Page.navigate", url=url)

        yield Tab(go, tab.evaluate, folder, failures)


@contextlib.asynccontextmanager
async def _firefox(door: Door, site: Site, folder: Path) -> AsyncIterator[Tab]:
    del site
    preferences: dict[str, bool | int | str] = {
        "dom.securecontext.allowlist": ",".join(HOSTS) if door.clear else "",
        # The origin has no https at the ports of its http, by which pictures could come instead.
        "security.mixed_content.upgrade_display_content": False,
        "dom.serviceWorkers.testing.enabled": True,  # over http too
        "dom.disable_open_during_load": False,
        "browser.download.dir": str(folder),
        "browser.download.folderList": 2,
        "browser.download.useDownloadDir": True,
        "browser.download.always_ask_before_handling_new_types": False,
        "media.autoplay.default": 0,
    }
    async with (
        bidi.launched(proxy=door.proxy, certificate=door.pem, preferences=preferences) as browser,
        browser.tab() as tab,
    ):

        async def go(url: str) -> None:
            # Not until it is complete: some pages go on to others by themselves.
            await browser.call(
                "browsingContext.navigate", context=tab.context, url=url, wait="none"
            )

        yield Tab(go, tab.evaluate, folder)


@dataclass
class Tab:
    """A tab of either browser."""

    go: Callable[[str], Awaitable[None]]
    evaluate: Evaluate
    downloads: Path
    failures: list[str] = field(default_factory=list)
    """The browser's own words for what it could not load, as far as it tells them."""

    async def report(self, url: str) -> dict[str, Any]:
        """What a topic's page says at its end."""
        host = urlsplit(url).hostname
        said = f"location.hostname === '{host}' ? window.report || '' : ''"
        await self.go(url)
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    with contextlib.suppress(RuntimeError, cdp.BrowserError):
                        text = await self.evaluate(said)
                        if text:
                            return dict(json.loads(text))
                    await asyncio.sleep(0.05)  # a page that is left tells nobody
        except TimeoutError:
            told: dict[str, Any] = {"the page itself": {"value": "no end", "expected": "an end"}}
            with contextlib.suppress(RuntimeError, cdp.BrowserError):
                told |= json.loads(await self.evaluate("JSON.stringify(results)"))
            return told


SAVED = 12
"""Files that the topic `downloads` saves."""
UNFINISHED = (".crdownload", ".part", ".tmp")


async def _files(folder: Path) -> dict[str, Any]:
    """Names and sums of all that was saved, once it is all there."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(30):
            while not _all_saved(folder):  # noqa: ASYNC110 - files tell nobody
                await asyncio.sleep(0.1)
    sums = _sums(folder)
    count = {"how many files were saved": {"value": len(sums), "expected": SAVED}}
    return count | {f"the file {name}": {"value": sums[name]} for name in sorted(sums)}


def _all_saved(folder: Path) -> bool:
    there = list(folder.iterdir())
    return len(there) >= SAVED and all(_whole(one) for one in there)


def _sums(folder: Path) -> dict[str, str]:
    sums = {}
    for one in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has another name by now
            sums[one.name] = hashlib.sha256(one.read_bytes()).hexdigest()[:16]
    return sums


def _whole(file: Path) -> bool:
    try:
        return not file.name.endswith(UNFINISHED) and file.stat().st_size > 0
    except FileNotFoundError:  # it has another name by now
        return False


BROWSERS = {"chromium": _chromium, "firefox": _firefox}


async def _topics(
    browser: str, protocol: str, door: Door, site: Site, *, names: tuple[str, ...]
) -> tuple[dict[str, dict[str, Any]], dict[str, Counter[str]]]:
    ports = site.https if protocol == "https" else site.http
    told: dict[str, dict[str, Any]] = {}
    failures: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as folder:
        async with BROWSERS[browser](door, site, Path(folder)) as tab:
            for name in names:
                told[name] = await tab.report(f"{protocol}://{name}.test:{ports[0]}/run/{name}")
                failures[name] = Counter(tab.failures)
                tab.failures.clear()
                if name == "downloads":
                    told[name] |= await _files(Path(folder))
    return told, failures


async def _run(browser: str, protocol: str, names: tuple[str, ...], folder: Path) -> Results:
    root, authority = Root(folder), Authority.open(folder / "state")
    site = Site()
    async with (
        site.running(root.server(*HOSTS)),
        plain_proxy() as plain,
        pair(start_remote=False, tls=root.trusted(), resolver=Here()) as idle,
    ):
        await idle.remote.start()
        target = ("127.0.0.1", idle.remote.port)
        async with (
            Relay(target=target, rate_up=RATE, rate_down=RATE, delay=DELAY) as link,
            pair(
                start_remote=False, remote_port=link.address[1], authority=authority, patience=60.0
            ) as both,
        ):
            await both.connected()
            clear = protocol == "http"
            direct = Door("{}:{}".format(*plain), root.pem, root.last_spki, clear)
            through = Door(
                "{}:{}".format(*both.address),
                authority.certificate_pem,
                authority.spki_sha256,
                clear,
            )
            (without, one), (with_pair, other) = await asyncio.gather(
                _topics(browser, protocol, direct, site, names=names),
                _topics(browser, protocol, through, site, names=names),
            )
            return Results(without, with_pair, {name: (one[name], other[name]) for name in one})


@cache
def results(
    browser: str, protocol: str, names: tuple[str, ...] = NAMES, *, attempt: int = 0
) -> Results | Exception:
    """What topics say, reckoned once for each attempt; an exception is an answer too.

    Each attempt has a browser, a pair and an origin of its own.
    """
    del attempt  # it only tells one load from another
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        try:
            return asyncio.run(_run(browser, protocol, names, Path(folder)))
        except Exception as error:
            return error
