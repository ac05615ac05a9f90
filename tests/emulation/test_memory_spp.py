"""Tests of SPP links in memory: sealed datagrams over a profile's path, the same each time."""

from __future__ import annotations

import asyncio

import pytest

from emulation.accuracy.accuracy import altered, link
from emulation.lines.profiles import Profile
from emulation.memory.memory_spp import FAR, NEAR, SppEnds, far_seal, memory_links, near_seal
from emulation.memory.virtual_time import run
from transport.spp.congestion.rate_based import RateBased
from transport.spp.core.settings import SppSettings
from transport.spp.handshake.seal import Forged

PLAIN = link(8e6, delay=0.05)


def ends(profile: Profile, *, seed: int = 1) -> SppEnds:
    return memory_links(
        profile,
        near=SppSettings(),
        far=SppSettings(),
        near_control=RateBased(500_000.0),
        far_control=RateBased(500_000.0),
        seed=seed,
    )


def test_what_one_seal_protects_the_other_one_opens_and_nobody_else() -> None:
    near, far = near_seal(), far_seal()
    assert NEAR != FAR
    there, back = near.protect(0, b"there"), far.protect(0, b"back")
    assert b"there" not in there
    with pytest.raises(Forged):
        near_seal().open(there)
    assert far.open(there) == (0, b"there")
    assert near.open(back) == (0, b"back")


def test_a_payload_is_there_after_the_line_and_one_delay_and_is_acknowledged() -> None:
    async def main() -> None:
        near, far, path = ends(PLAIN)
        near.send(b"x" * 1000)
        assert await far.receive() == [b"x" * 1000]
        now = asyncio.get_running_loop().time()
        assert 0.05 + 1028 / 1e6 <= now < 0.055
        await near.delivered()
        assert path.up.statistics().carried > 1028
        assert near.statistics().lost == 0

    run(main())


def test_both_ways_carry_at_once() -> None:
    async def main() -> tuple[int, int]:
        near, far, _ = ends(PLAIN)
        for number in range(100):
            near.send(bytes([number]) * 500)
            far.send(bytes([number]) * 700)
        await asyncio.gather(near.delivered(), far.delivered())
        return len(await near.receive()), len(await far.receive())

    assert run(main()) == (100, 100)


def test_what_a_bad_path_loses_is_sent_again_and_the_same_each_time() -> None:
    async def main(seed: int) -> tuple[int, float, list[bytes]]:
        near, far, _ = ends(altered(PLAIN, loss=0.1), seed=seed)
        sent = [bytes([number]) * 900 for number in range(200)]
        for payload in sent:
            near.send(payload)
        await near.delivered()
        assert await far.receive() == sent
        return near.statistics().lost, asyncio.get_running_loop().time(), sent

    assert run(main(1)) == run(main(1))
    assert run(main(1))[0] > 3
    assert run(main(1))[:2] != run(main(2))[:2]


def test_nothing_comes_over_a_path_that_takes_no_packet() -> None:
    async def main() -> None:
        near, far, path = ends(PLAIN)
        path.up.set_mtu(0)
        near.send(b"lost")
        await asyncio.sleep(5.0)
        assert near.statistics().in_flight > 0
        assert far.statistics().received == 0
        path.up.set_mtu(1500)
        assert await far.receive() == [b"lost"]

    run(main())
