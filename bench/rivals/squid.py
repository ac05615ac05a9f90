"""squid: a caching proxy, with nothing in its cache. As Debian ships it, in memory only.

It stands on the fast side, as a provider's does. On the device's side it would need every byte over
the link just the same the first time; and a page's second visit is the browser's own cache's.
Documentation: http://www.squid-cache.org/Doc/config/
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.origins.site import Address
from bench.pairs.ports import HOST, free_port
from bench.rivals.forward import ForwardProxy
from bench.rivals.program import find, program


def configuration(*, port: int) -> str:
    """Defaults but for what would touch the system: logs, files, ports, a helper, a slow end."""
    return f"""\
http_port {HOST}:{port}
udp_incoming_address {HOST}
udp_outgoing_address {HOST}
visible_hostname localhost
http_access allow localhost
http_access deny all
access_log none
cache_log /dev/null
pid_filename none
pinger_enable off
shutdown_lifetime 0 seconds
"""


@asynccontextmanager
async def running(executable: str, folder: Path) -> AsyncIterator[Address]:
    port = free_port()
    file = folder / "squid.conf"
    file.write_text(configuration(port=port))
    command = (executable, "-N", "-d1", "-f", str(file))  # one process, errors to its output
    async with program(*command, port=port, folder=folder) as address:
        yield address


def squid() -> ForwardProxy:
    return ForwardProxy("squid", find("squid"), running)
