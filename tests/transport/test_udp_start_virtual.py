"""A link over UDP that begins with endlessly much to send finds its rate, as paths swallow packets.

Where large packets vanish (the modem's line carries 576 bytes), what little arrives comes at once,
as over a link that is idle.
"""

from __future__ import annotations

import asyncio

import pytest

from bench.scenarios.links.endless_link import EndlessLink
from emulation.lines.profiles import profile
from emulation.memory.virtual_time import run

FILLED = 6.0
"""Seconds by which the line is busy, on a modem's."""


@pytest.mark.parametrize("line", ["56k", "384k", "5M"])
def test_little_is_under_way_from_the_first_second_on(line: str) -> None:
    rate = profile(line).rate_down

    async def main() -> tuple[float, float]:
        link = EndlessLink(profile(line))
        loop = asyncio.get_running_loop()
        most, before = 0.0, 0
        async for seen in link.looks(FILLED + 20.0):
            most = max(most, seen.under_way / rate)
            if loop.time() < FILLED:
                before = seen.sent
        return most, (link.sent - before) / 20.0 / rate

    most, used = run(main())
    assert most < 2.0
    assert used > 0.8
