"""A page over an emulated network: by itself, and through both proxies at its two ends."""

from __future__ import annotations

import pytest

from bench.origins import scripted
from bench.origins.site import spawn
from bench.pairs.peers import DirectPeer, InAnyWorld, SluicePeer
from bench.scenarios.pages.page_load import SITE
from emulation.accuracy.accuracy import link
from emulation.worlds.cables import NoBackend, WorldStatistics
from emulation.worlds.hosts import HERE
from emulation.worlds.world import emulate
from tests.watched import run

pytestmark = pytest.mark.alone


async def fetched(peer: InAnyWorld, backend: str) -> tuple[dict[str, bytes], WorldStatistics]:
    """What a small client got of the article's page, by path, and what crossed the link."""
    try:
        async with (
            emulate(link(8e6, delay=0.005), backend=backend) as world,
            spawn(SITE, host=world.far) as origin,
            peer.over(world, origin) as endpoint,
        ):
            assert (endpoint.host is HERE) == (backend == "relay")
            arrivals = await scripted.fetch_page(endpoint, "article/index.html")
            return (
                {one.resource.url.split("/", 3)[3]: one.body for one in arrivals},
                world.statistics(),
            )
    except NoBackend as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("backend", ["tun", "relay"])
def test_a_direct_load_crosses_the_link(backend: str) -> None:
    bodies, counted = run(fetched(DirectPeer(), backend))
    size = sum(map(len, bodies.values()))
    assert bodies["article/index.html"] == (SITE / "article/index.html").read_bytes()
    assert size / 2 < counted.bytes_down < 2 * size  # texts travel packed
    assert counted.connections > 1


@pytest.mark.parametrize("backend", ["tun", "relay"])
def test_the_proxies_have_one_connection_between_them(backend: str) -> None:
    bodies, counted = run(fetched(SluicePeer(), backend))
    assert bodies["article/index.html"] == (SITE / "article/index.html").read_bytes()
    assert counted.connections == 1
    assert counted.bytes_down > 50_000
