"""Whole https pages in real browsers, through both proxies as without: pixels, heights, consoles.

Each in a browser that speaks HTTP/2 and in one that speaks HTTP/1.1 alone.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest

from bench.browsers.page_end import GOAL, PageEnd, differences, end_of
from bench.browsers.windows import BrowserName, missing, window
from bench.origins.endpoint import PageAccess, no_link
from bench.origins.site import Address, serve
from emulation.relay.relay import Relay
from local_proxy.front.tls.authority import Authority
from remote_proxy.reach.certificates import client_context
from tests.end_to_end.pair import Pair, Remote, pair, until

SITE = Path(__file__).parents[2] / "demo" / "site"
PICTURES = {"news/index.html": 15, "article/index.html": 4}
"""Pages, and how many pictures each has."""
RATE = 600_000
"""Bytes/second of the link."""
Ends = dict[str, PageEnd]
Direct = Callable[[BrowserName], Ends]


class Origin:
    """What vouches for the site."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority.open(folder)

    def server(self) -> ssl.SSLContext:
        return self.authority.context_for("127.0.0.1", alpn=("http/1.1",))

    def trusted(self) -> ssl.SSLContext:
        """What a remote proxy verifies it with."""
        return client_context(str(self.authority.certificate_path))


def base(address: Address) -> str:
    return "https://{}:{}/".format(*address)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    return Origin(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def direct(origin: Origin) -> Direct:
    """How the pages end up in a browser that trusts the site and knows no proxy."""

    async def load(browser: BrowserName) -> Ends:
        trust = origin.authority.certificate_pem
        async with serve(SITE, tls=origin.server()) as address:
            endpoint = PageAccess(base(address), no_link, authority=trust)
            async with window(endpoint, browser) as one:
                return {
                    page: await end_of(one, endpoint.base, page, settled=at_once, looks=2)
                    for page in PICTURES
                }

    return cache(lambda browser: asyncio.run(load(browser)))


async def at_once() -> None:
    """Without proxies nothing comes after the load event but drawing."""


@asynccontextmanager
async def slow_pair(
    *, rate: float, tls: ssl.SSLContext, authority: Authority, policy: str = "default"
) -> AsyncIterator[Pair]:
    """Both proxies with a link on which pictures are asked for before they are here in full.

    `rate`: bytes/second each way.
    """
    remote = Remote(tls=tls)
    await remote.start()
    target = ("127.0.0.1", remote.port)
    try:
        async with (
            Relay(target=target, rate_up=rate, rate_down=rate, delay=0.005) as link,
            pair(
                start_remote=False,
                remote_port=link.address[1],
                authority=authority,
                policy=[policy],
            ) as both,
        ):
            await both.connected()
            yield both
    finally:
        await remote.stop()


async def refined(both: Pair) -> None:
    """Until no picture is shown coarser than it will be."""
    await until(lambda: not both.local.export.statistics().coarse)


@pytest.mark.parametrize("protocol", ["h2", "http/1.1"])
@pytest.mark.parametrize("browser", ["chromium", "firefox"])
def test_https_pages_end_up_as_they_do_without_proxies(
    browser: BrowserName, protocol: str, origin: Origin, direct: Direct, tmp_path: Path
) -> None:
    if why := missing(browser):
        pytest.skip(why)

    async def go() -> None:
        authority = Authority.open(tmp_path)
        async with (
            serve(SITE, tls=origin.server()) as address,
            slow_pair(rate=RATE, tls=origin.trusted(), authority=authority) as both,
        ):
            endpoint = PageAccess(
                base(address),
                no_link,
                proxy="http://{}:{}".format(*both.address),
                authority=authority.certificate_pem,
            )
            async with window(endpoint, browser, http1=protocol == "http/1.1") as one:
                for page, reference in direct(browser).items():
                    through = await end_of(
                        one, endpoint.base, page, settled=lambda: refined(both), like=reference
                    )
                    compare(page, reference, through)
                    assert through.protocols == {protocol}
            adapted(both, multipart=browser == "chromium" and protocol == "h2")

    references = direct(browser)
    assert all(end.protocols == {"http/1.1"} for end in references.values())
    asyncio.run(go())


def compare(page: str, reference: PageEnd, through: PageEnd) -> None:
    found = differences(reference, reference, through)
    assert found["same_size"], page
    assert found["pictures"] == PICTURES[page]
    assert found["picture_difference"] < GOAL, (page, found)
    assert found["page_difference"] < GOAL, (page, found)
    assert not found["complaints"], page


def adapted(both: Pair, *, multipart: bool) -> None:
    """The pages did come coarse first, the way that this browser can, and as promised."""
    exported = both.local.export.statistics()
    assert bool(exported.multipart) == multipart, exported
    assert bool(exported.swapped) == (not multipart), exported
    assert exported.drivers >= len(PICTURES)
    promises = both.local.promises.statistics()
    assert promises.kept >= sum(PICTURES.values())
    assert promises.kept >= 0.9 * promises.made, promises
