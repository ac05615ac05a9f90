"""The pair over UDP: pages, bodies both ways, restarts, networks that lose UDP."""

from __future__ import annotations

import random

from tests.end_to_end.pair import all_three, run

BODY = random.Random(3).randbytes(3_000_000)


def test_a_download_crosses_whole() -> None:
    async def go() -> None:
        async with all_three(udp=True) as (origin, both):
            origin.serve("/file", BODY, "application/octet-stream")
            answer = await both.client.get(origin.base + "/file")
            assert answer.body == BODY
            session = both.local.uplink.session
            assert session is not None
            assert session.link.statistics().transport == "udp"

    run(go())
