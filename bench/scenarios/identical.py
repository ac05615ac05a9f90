"""Whether a page ends up through the proxies as it does without: every pixel, every complaint.

Two direct loads first: what differs between those (an animation) can't be compared. Then each
other peer, over a link as good as none: pictures one by one, the page as a whole, and what the
console has to say. In Chromium or Firefox, over http or https, with HTTP/2 or without.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.ending import GOAL, differences, end_of
from bench.origin import Address, serve
from bench.page_load import Endpoint, no_link
from bench.peers import Peer, peers
from bench.profiles import profile
from bench.report import Check
from bench.scenarios.page_load import SITE
from bench.windows import BrowserName, missing, window
from local_proxy.authority import Authority


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where the pages are."""

    address: Address
    authority: Authority | None
    """Of its certificate; None: it speaks http."""

    @property
    def direct(self) -> Endpoint:
        """No proxy, no link."""
        scheme, (host, port) = "https" if self.authority else "http", self.address
        trust = self.authority.certificate_pem if self.authority else None
        return Endpoint(f"{scheme}://{host}:{port}/", no_link, authority=trust)


async def run(
    *,
    page: Path | None = None,
    peer_names: Sequence[str] = ("sluice",),
    browser: BrowserName = "chromium",
    https: bool = False,
    http1: bool = False,
) -> dict[str, Any]:
    """The scenario. `page`: a folder of page folders, or one page folder.

    `http1`: the browser offers no HTTP/2. Raises ValueError for a browser that is not there.
    """
    if why := missing(browser):
        raise ValueError(why)
    root = page or SITE
    names = [f"{folder.name}/index.html" for folder in _pages(root)] or ["index.html"]
    found: list[dict[str, Any]] = []
    async with _origin(root, https=https) as origin:
        ca_file = origin.authority.certificate_path if origin.authority else None
        for name in names:
            others = [name for name in peer_names if name != "direct"]
            for peer in peers(others, ca_file=ca_file):
                found.append(await _compare(peer, origin, name, browser, http1=http1))
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


async def _compare(
    peer: Peer, origin: _Origin, page: str, browser: BrowserName, *, http1: bool
) -> dict[str, Any]:
    direct = origin.direct
    async with window(direct, browser, http1=http1) as one:
        reference = await end_of(one, direct.base, page)
        again = await end_of(one, direct.base, page)
    async with (
        peer.start(origin.address, profile("fast")) as endpoint,
        window(replace(endpoint, base=direct.base), browser, http1=http1) as one,
    ):
        through = await end_of(one, direct.base, page, like=reference)
    expected = "h2" if origin.authority and not http1 else "http/1.1"
    return {
        "peer": peer.name,
        "page": page,
        "browser": browser,
        "protocols": sorted(through.protocols),
        "expected_protocol": expected,
        **differences(reference, again, through),
    }


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
