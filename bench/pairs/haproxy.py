"""HAProxy in front of several remotes: one address for devices, whichever remote is there.

It passes bytes on (mode tcp) and knows nothing of TLS inside. Who has a connection keeps it; a
remote that refuses is asked for no more until it answers again. Documentation:
http://docs.haproxy.org/2.6/configuration.html
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.origins.site import Address
from bench.pairs.ports import HOST, free_port
from bench.rivals.program import find, program


def executable() -> str | None:
    """Where it is; None: not on this machine."""
    return find("haproxy")


def configuration(listen: Address, remotes: Sequence[Address]) -> str:
    """As docs/fleet.md has it."""
    servers = "\n".join(
        f"    server remote{number} {host}:{port} check inter 500ms fall 1 rise 2"
        for number, (host, port) in enumerate(remotes)
    )
    return f"""\
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    option redispatch
    retries 2

frontend devices
    bind {listen[0]}:{listen[1]}
    default_backend remotes

backend remotes
    balance leastconn
    default-server on-marked-down shutdown-sessions
{servers}
"""


@asynccontextmanager
async def haproxy(remotes: Sequence[Address], folder: Path) -> AsyncIterator[Address]:
    """In front of these; its address. Raises OSError."""
    found = executable()
    if found is None:
        raise OSError("haproxy is not installed (make bench-peers)")
    port = free_port()
    file = folder / "haproxy.cfg"
    file.write_text(configuration((HOST, port), remotes))
    async with program(found, "-db", "-f", str(file), port=port, folder=folder) as address:
        yield address
