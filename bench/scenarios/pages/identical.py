"""Whether a page ends up through the proxies as it does without: every pixel, every complaint.

Two direct loads first: what differs between those (an animation) can't be compared. Then each
other peer, over a link as good as none (unless --profile names one): pictures one by one, the page
as a whole, and what the console has to say. In Chromium or Firefox, over http or https, with HTTP/2
or without.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.browsers.page_end import GOAL, PageEnd, differences, end_of
from bench.browsers.windows import BrowserName, missing, window
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address, serve
from bench.pairs.peers import Peer, peers
from bench.reports.report import Check
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import Profile, profile
from local_proxy.front.tls.authority import Authority


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where the pages are."""

    address: Address
    authority: Authority | None
    """Of its certificate; None: it speaks http."""

    @property
    def direct(self) -> PageAccess:
        """No proxy, no link."""
        scheme, (host, port) = "https" if self.authority else "http", self.address
        trust = self.authority.certificate_pem if self.authority else None
        return PageAccess(f"{scheme}://{host}:{port}/", no_link, authority=trust)


@dataclass(frozen=True, slots=True)
class _Way:
    """How a page is loaded."""

    browser: BrowserName
    http1: bool
    link: Profile


async def run(
    *,
    page: Path | None = None,
    peer_names: Sequence[str] = ("sluice",),
    browser: BrowserName = "chromium",
    https: bool = False,
    http1: bool = False,
    profile_name: str = "fast",
) -> dict[str, Any]:
    """The scenario. `page`: a folder of page folders, or one page folder.

    `http1`: the browser offers no HTTP/2. Raises ValueError for a browser that is not there.
    """
    if why := missing(browser):
        raise ValueError(why)
    root = page or SITE
    way = _Way(browser, http1, profile(profile_name))
    pages = [f"{folder.name}/index.html" for folder in _pages(root)] or ["index.html"]
    found: list[dict[str, Any]] = []
    async with _origin(root, https=https) as origin:
        ca_file = origin.authority.certificate_path if origin.authority else None
        others = peers([name for name in peer_names if name != "direct"], ca_file=ca_file)
        for path in pages:
            reference, again = await _direct(origin, path, way)
            for peer in others:
                through = await _through(peer, origin, path, way, reference)
                found.append(
                    {
                        "peer": peer.name,
                        "page": path,
                        "browser": browser,
                        "protocols": sorted(through.protocols),
                        "expected_protocol": "h2" if https and not http1 else "http/1.1",
                        **differences(reference, again, through),
                    }
                )
                print(_line(found[-1]))
    return {"runs": found, "checks": checks(found)}


@asynccontextmanager
async def _origin(root: Path, *, https: bool) -> AsyncIterator[_Origin]:
    """A server of these pages, with an authority of its own."""
    with TemporaryDirectory(prefix="site-") as folder:
        authority = Authority.open(Path(folder)) if https else None
        tls = authority.context_for("127.0.0.1", alpn=("http/1.1",)) if authority else None
        async with serve(root, tls=tls) as address:
            yield _Origin(address, authority)


def _pages(root: Path) -> list[Path]:
    return sorted(index.parent for index in root.glob("*/index.html"))


def _line(run: dict[str, Any]) -> str:
    return (
        f"{run['page']:<24} {run['peer']:<10} page {run['page_difference']:.3f}/255, worst of "
        f"{run['pictures']} pictures {run['picture_difference']:.3f}/255, "
        f"height {'same' if run['same_size'] else 'DIFFERS'}, "
        f"console {'same' if not run['complaints'] else run['complaints']}, "
        f"by {'+'.join(run['protocols'])}"
    )


async def _direct(origin: _Origin, page: str, way: _Way) -> tuple[PageEnd, PageEnd]:
    """The reference, and the same once more."""
    direct = origin.direct
    async with window(direct, way.browser, http1=way.http1) as one:
        return await end_of(one, direct.base, page), await end_of(one, direct.base, page)


async def _through(
    peer: Peer, origin: _Origin, page: str, way: _Way, reference: PageEnd
) -> PageEnd:
    base = origin.direct.base
    async with (
        peer.start(origin.address, way.link) as endpoint,
        window(replace(endpoint, base=base), way.browser, http1=way.http1) as one,
    ):
        return await end_of(one, base, page, like=reference)


def checks(runs: Sequence[dict[str, Any]]) -> dict[str, Check]:
    found = {}
    for run in runs:
        about = f"{run['page']}, {run['peer']}"
        worst = round(max(run["page_difference"], run["picture_difference"]), 3)
        found[f"{about}: pixels"] = Check(worst, "of 255", f"below {GOAL}", worst < GOAL)
        count = len(run["complaints"])
        found[f"{about}: console"] = Check(count, "differences", "0", count == 0)
        spoken, expected = "+".join(run["protocols"]), run["expected_protocol"]
        found[f"{about}: protocol"] = Check(spoken, "", expected, spoken == expected)
    return found
