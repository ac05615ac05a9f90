"""A download over a fast satellite beside a quick path, through both proxies, in virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import msgspec
import pytest

from bench.origins.synthetic import File, Prepared, Shelf, SyntheticPage
from bench.pairs.paths_pair import paths_pair
from emulation.lines.profiles import Profile, profile
from emulation.memory.virtual_time import run
from local_proxy.http.model import Request
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from tests.end_to_end.test_paths_virtual import ordered
from transport.multipath import remote_end
from transport.rcp.settings import LARGEST, RcpSettings

URL = "http://one.test/film.bin"
SATELLITE = msgspec.structs.replace(
    profile("satellite-50M"), rate_down=2_500_000, rate_up=625_000, queue=3_000_000
)
QUICK = profile("5M")
SIZE = 32_000_000
FIRST = RcpSettings().buffer
OURS = 0.9
"""Of a path's bytes: what headers leave."""


async def _download(
    size: int, *, rest: float = 0.0, over: Sequence[Profile] = (SATELLITE, QUICK)
) -> tuple[float, int]:
    """Seconds that the second half of one takes, and how far it was asked ahead, in bytes."""
    file = File("application/octet-stream", random.Random(3).randbytes(size))
    services = Services(Shelf([SyntheticPage(URL, {URL: file})]), Prepared({}))
    loop = asyncio.get_running_loop()
    async with paths_pair(over, services, [Default()]) as (pair, paths):
        await asyncio.sleep(rest)
        response = await pair.local.core.handle(Request("GET", URL, []))
        assert not isinstance(response.body, bytes)
        came, half, most = 0, 0.0, 0
        async for piece in response.body:
            came += len(piece)
            half = half or (loop.time() if came >= size / 2 else 0.0)
            most = max(most, paths.device.asked_ahead)
        assert came == size
        return loop.time() - half, most


@pytest.mark.long
@pytest.mark.parametrize(("rest", "share"), [(0.0, 0.88), (1.0, 0.88), (None, OURS)])
def test_it_has_all_of_both(rest: float | None, share: float) -> None:
    """The satellite holds more than a megabyte, and leaves the quick path what that brings. None:
    of an older device, for which the stream keeps its order."""
    both = SATELLITE.rate_down + QUICK.rate_down
    seconds, most = ordered(_download(SIZE)) if rest is None else run(_download(SIZE, rest=rest))
    assert SIZE / 2 / seconds > share * both
    assert FIRST < most <= LARGEST


@pytest.mark.parametrize(
    "names", [("lte", "satellite"), ("3g", "lte"), ("lte", "384k", "satellite")]
)
def test_a_radio_carries_no_less_beside_others(names: Sequence[str]) -> None:
    """What it has late is taken for no fade, and what it usually takes is looked for until it is
    known."""
    over = [profile(name) for name in names]
    seconds, _ = run(_download(10_000_000, over=over))
    best = max(one.rate_down for one in over)
    assert 5_000_000 / seconds > 0.9 * OURS * best


def test_a_stream_that_has_lost_its_order_is_asked_for_as_far_ahead() -> None:
    assert run(_download(SIZE // 2, rest=1.0))[1] > FIRST


def test_an_older_remote_is_asked_for_no_more_than_it_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_end, "PARTED", remote_end.PARTED[:1])
    assert run(_download(SIZE // 4, rest=1.0))[1] <= FIRST
