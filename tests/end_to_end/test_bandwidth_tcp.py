"""Policies hear of the link in a running pair, over kernel TCP: what it carries, soon."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import tcp_pair
from emulation.lines.profiles import profile
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from tests.end_to_end.test_bandwidth_virtual import RATE, Listening
from tests.watched import until

pytestmark = pytest.mark.alone
REST = 5.0
"""Seconds; by hand it was a minute."""
LINK = replace(profile("1.6M"), rate_up=50_000.0, rate_down=RATE, delay=0.04)
SOON = 2.0
"""Seconds from the first bytes, within which what is heard is right."""


@pytest.mark.parametrize("factor", [1.0, 0.1, 10.0])
def test_after_a_rest_and_a_change_what_is_heard_is_right_within_two_seconds(factor: float) -> None:
    pages = [page(f"http://{name}.test/", text=6_000, large=6_000_000) for name in "ab"]
    policy, made = Listening(), prepared(pages)

    async def go() -> float:
        async with tcp_pair(LINK, Services(Shelf(pages), made), [Default(), policy]) as pair:
            assert pair.relay is not None
            loading = asyncio.ensure_future(pair.load(pages[0].url))
            await until(lambda: pair.tap.received > 3 * RATE)
            loading.cancel()
            pair.local.events.close(pair.witness.documents[pages[0].url])
            before = -1
            while before != pair.tap.received:  # what had been sent is here
                before = pair.tap.received
                await asyncio.sleep(1.0)
            await asyncio.sleep(REST)
            pair.relay.set_rate(down=factor * RATE)
            loading = asyncio.ensure_future(pair.load(pages[1].url))
            await until(lambda: pair.tap.received > before + 1_000)
            await asyncio.sleep(SOON)
            heard = policy.heard[-1]
            loading.cancel()
            return heard

    assert asyncio.run(go()) == pytest.approx(factor * RATE, rel=0.15)
