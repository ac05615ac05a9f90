"""mitmproxy: what people script to rewrite their traffic. As it is by default: whole bodies held.

`make bench-peers` gives it a virtual environment of its own, because its dependencies are pinned
and clash with ours. Documentation: https://docs.mitmproxy.org/stable/concepts-options/
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from bench.origins.site import Address
from bench.pairs.peers import ROOT
from bench.pairs.ports import HOST, free_port
from bench.rivals.forward import ForwardProxy
from bench.rivals.program import find, program

OWN: Final = ROOT / ".peers" / "mitmproxy" / "bin"
"""Where `make bench-peers` puts it."""


def arguments(*, port: int, folder: Path) -> list[str]:
    """All options at their defaults; `folder` keeps the authority that it makes."""
    return ["--listen-host", HOST, "--listen-port", str(port), "--set", f"confdir={folder}", "-q"]


@asynccontextmanager
async def running(executable: str, folder: Path) -> AsyncIterator[Address]:
    port = free_port()
    command = (executable, *arguments(port=port, folder=folder))
    async with program(*command, port=port, folder=folder) as address:
        yield address


def mitmproxy() -> ForwardProxy:
    return ForwardProxy("mitmproxy", find("mitmdump", first=OWN), running)
