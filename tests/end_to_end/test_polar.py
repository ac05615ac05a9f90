"""A page over a link that jitters, loses, stands still and resets its connections."""

import asyncio

from bench.scenarios.pages import polar
from bench.scenarios.pages.page_load import SITE
from emulation.lines.profiles import Profile

STORM = Profile(
    name="storm",
    about="the polar link, twenty-four times as fast",
    rate_down=120_000,
    rate_up=120_000,
    delay=0.025,
    queue=65_536,
    jitter=0.05,
    loss=0.1,
    outage_every=1.2,
    outage=0.4,
)

SEED = 6
"""The ends of this one's first three outages reset what is open, so no load is through before."""


def test_a_page_comes_whole_and_nothing_of_it_twice() -> None:
    row = asyncio.run(polar.load(SITE / "article", STORM, seed=SEED))
    assert row["wrong"] == []
    assert row["asked_twice"] == []
    assert row["sessions"] == 1
    assert row["outages"] >= row["resets"] > 0
    assert 2 <= row["connections"] <= 1 + 3 * row["outages"]
