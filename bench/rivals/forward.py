"""A proxy on the fast side of the link, which the browser is told to use: what three rivals are.

Knows what a browser needs to reach it; how each is set up is its own module's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.origins.endpoint import PageAccess
from bench.origins.site import Address
from bench.pairs.peers import relay
from emulation.lines.profiles import Profile

Running = Callable[[str, Path], AbstractAsyncContextManager[Address]]
"""Starts the executable with its files in the folder; gives where it listens."""


class ForwardProxy:
    """A peer of bench/pairs/peers.py: the browser, the link, one proxy with nothing in its
    cache."""

    policy = ""

    def __init__(self, name: str, executable: str | None, running: Running) -> None:
        """`executable`: None when it is not installed; see `missing`."""
        self.name = name
        self._executable = executable
        self._running = running

    @property
    def missing(self) -> str:
        """What is not installed; empty: nothing."""
        return "" if self._executable else self.name

    @asynccontextmanager
    async def start(self, origin: Address, profile: Profile) -> AsyncIterator[PageAccess]:
        if self._executable is None:
            raise FileNotFoundError(f"{self.name} is not installed: make bench-peers")
        # Some leave files behind as the user they become.
        with TemporaryDirectory(prefix="rival-", ignore_cleanup_errors=True) as folder:
            async with (
                self._running(self._executable, Path(folder)) as address,
                relay(address, profile) as link,
            ):
                yield PageAccess(
                    base=f"http://{origin[0]}:{origin[1]}/",
                    statistics=link.statistics,
                    proxy=f"http://{link.address[0]}:{link.address[1]}",
                )
