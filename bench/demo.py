"""`sluice demo`: two pages over an emulated slow link, directly and through Sluice, side by side.

Prints a table and writes a report with films of both. Composes what the other modules do; on
request it then stays up, so that one's own browser can feel the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.browsers.cdp import BrowserError
from bench.origins.site import spawn
from bench.pairs.peers import DirectPeer, Peer, SluicePeer
from bench.reports import exhibits
from bench.reports.report import report, table, write
from bench.reports.verdict import verdict
from bench.scenarios.pages.page_load import PAGES, SITE, checks, measure, planned
from emulation.lines.profiles import Profile, profile


def main(
    *, profile: str = "384k", report_dir: Path = Path("demo-report"), stay: bool | None = None
) -> int:
    """Exit code of the command. `stay` None: stay up when a person is at a terminal."""
    if stay is None:
        stay = sys.stdin.isatty() and sys.stdout.isatty()
    try:
        asyncio.run(_demo(profile, report_dir, stay))
    except (OSError, ValueError, BrowserError) as error:
        print(f"sluice demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _demo(name: str, folder: Path, stay: bool) -> None:
    link = profile(name)
    print(f"Link: {describe(link)}")
    await run_demo(peers=(DirectPeer(), SluicePeer()), profile=link, report_dir=folder)
    if stay:
        await _stay(link)


async def run_demo(
    *,
    peers: Sequence[Peer],
    profile: Profile,
    report_dir: Path,
    site: Path = SITE,
    pages: Sequence[str] = PAGES,
    runs: int = 1,
) -> dict[str, Any]:
    """Measure, print, write report.json and index.html; gives what is in report.json."""
    result = await measure(
        peers=peers, profile=profile, site=site, pages=pages, runs=runs, keep_late=True
    )
    found = checks(result.runs, profile=profile.name, planned=planned(peers, pages))
    said = verdict(result.runs, found)
    data = report(
        scenario="demo",
        profile=describe(profile),
        runs=result.runs,
        checks=found,
        notes=[*said, *result.notes],
    )
    index = await asyncio.to_thread(write, report_dir, data, exhibits.of_loads(result.loads))
    print("\n".join(["", table(result.runs), "", *said, "", f"Films and curves: {index}"]))
    return data


def describe(profile: Profile) -> str:
    """A link in words."""
    rates = f"{profile.rate_down * 8 / 1000:g} kbit/s down, {profile.rate_up * 8 / 1000:g} up"
    return f"{profile.name} ({rates}, {profile.delay * 2000:g} ms round trip)"


async def _stay(link: Profile) -> None:
    """Keep the site, the link and the pair up until interrupted."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError):
        loop.add_signal_handler(signal.SIGINT, ended.set)
    async with (
        spawn(SITE) as origin,
        SluicePeer().start(origin, link) as endpoint,
        DirectPeer().start(origin, link) as direct,
    ):
        slow = next(iter(direct.resolve.values()))
        print(
            f"\nTo try it yourself, over the same link:\n"
            f"  directly        http://{slow}/\n"
            f"  through Sluice  {endpoint.base} with the HTTP proxy {endpoint.proxy}\n"
            f"    chromium --user-data-dir=/tmp/sluice-demo --proxy-server={endpoint.proxy} "
            f"'--proxy-bypass-list=<-loopback>' {endpoint.base}\n"
            f"Interrupt to end.",
            flush=True,
        )
        await ended.wait()
