"""HTTP from this process as if it ran on an emulated host. Knows aiohttp and hosts' sockets."""

from __future__ import annotations

import aiohttp

from emulation.worlds.hosts import HERE, EmulatedHost


def connector(host: EmulatedHost, *, limit: int = 100) -> aiohttp.TCPConnector:
    """Its connections begin at `host`, `limit` of them at most."""
    if host is HERE:
        return aiohttp.TCPConnector(limit=limit)
    return aiohttp.TCPConnector(limit=limit, socket_factory=lambda _: host.new_socket())
