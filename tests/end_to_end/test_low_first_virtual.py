"""Transcoding takes long, in virtual time: what can be shown is on its way meanwhile."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from bench.origins.synthetic import Prepared, Shelf, page, prepared
from bench.pairs.pair import memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from remote_proxy.jobs.economy import UNMEASURED, Economy
from remote_proxy.jobs.services import Services
from transcoders.make.low import Low
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions

PAGE = page("http://one.test/", text=40_000, large=500_000)
FAST = LinkModel(rate_up=50_000, rate_down=200_000, delay=0.05)
BROADBAND = LinkModel(rate_up=625_000, rate_down=2_500_000, delay=0.02)
SLOW = LinkModel(rate_up=7_000, rate_down=7_000, delay=0.05)
PHOTOS = 13
EACH = 0.4
"""Seconds of the only worker for a picture's finer levels."""
MADE = prepared([PAGE])


class Patient(Transcoders):
    """One picture after the other gets its finer levels. `early`: low levels don't wait for it."""

    def __init__(self, *, early: bool) -> None:
        super().__init__(workers=1, jpegtran=None)
        self._early = early
        self._turn = asyncio.Semaphore(1)

    async def low(
        self, data: bytes, content_type: str, options: PictureOptions, **_: object
    ) -> Low | None:
        made = await MADE.finish(data, content_type, options, None)
        if made is None or not self._early:
            return None
        level = made.levels[0]
        return Low(made.data[: level.end], level, made.width, made.height)

    async def finish(
        self, data: bytes, content_type: str, options: PictureOptions, low: Low | None, **_: object
    ) -> Picture | None:
        async with self._turn:
            await asyncio.sleep(EACH)
        return await MADE.finish(data, content_type, options, low)


async def _load(model: LinkModel, transcoders: Transcoders) -> tuple[list[float], float, int]:
    """When each photo had its low level; when all was here; bytes that crossed. Seconds."""
    loop = asyncio.get_running_loop()
    async with memory_pair(model, Services(Shelf([PAGE]), transcoders), []) as pair:
        began = loop.time()
        document = await pair.load(PAGE.url)
        await pair.complete(document)
        low = [at - began for (_, level), at in pair.witness.reached.items() if level == "low"]
        return sorted(low), loop.time() - began, pair.tap.received


@pytest.fixture
def any_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are adapted however long that takes."""
    monkeypatch.setattr(Economy, "patience", lambda *_, **__: inf)
    monkeypatch.setattr(Economy, "adapts", lambda *_, **__: True)


@pytest.mark.usefixtures("any_price")
def test_low_levels_do_not_wait_for_finer_ones_to_be_made() -> None:
    early, _, _ = run(_load(FAST, Patient(early=True)))
    late, _, _ = run(_load(FAST, Patient(early=False)))
    ideal, _, _ = run(_load(FAST, MADE))
    assert len(early) >= PHOTOS
    assert early[-1] < ideal[-1] + EACH
    assert late[-1] > PHOTOS * EACH


@pytest.mark.usefixtures("any_price")
@pytest.mark.parametrize("model", [FAST, SLOW], ids=["fast", "slow"])
def test_telling_the_first_level_alone_costs_little(model: LinkModel) -> None:
    _, _, early = run(_load(model, Patient(early=True)))
    _, _, late = run(_load(model, Patient(early=False)))
    assert early - late < 60 * PHOTOS


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("model", [FAST, BROADBAND], ids=["fast", "broadband"])
def test_a_page_is_no_later_for_work_that_takes_long(model: LinkModel, early: bool) -> None:
    """Five seconds of it, where the link takes three or half a one."""
    _, adapted, _ = run(_load(model, Patient(early=early)))
    _, untouched, _ = run(_load(model, Prepared({})))
    assert adapted < 1.1 * untouched + UNMEASURED + 0.2
