"""Fixtures that several tests of emulated networks need."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from emulation.lines.profiles import profile
from emulation.worlds.cables import NoBackend
from emulation.worlds.world import emulate


@pytest.fixture(scope="module")
def tun() -> Iterator[None]:
    """Skips, with the reason, where there are no TUN devices between namespaces."""

    async def made() -> None:
        async with emulate(profile("fast"), backend="tun"):
            pass

    try:
        asyncio.run(made())
    except NoBackend as error:
        pytest.skip(str(error))
    yield
