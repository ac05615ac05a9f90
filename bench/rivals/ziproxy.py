"""ziproxy: recompresses pictures to low quality and gzips text, for good. As Debian ships it.

The closest relative among what is installed today: made for modems and satellite links. It never
shows the original picture. Documentation: /etc/ziproxy/ziproxy.conf of the package (3.3.2).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.origins.site import Address
from bench.pairs.ports import HOST, free_port
from bench.rivals.forward import ForwardProxy
from bench.rivals.program import daemon, find


def configuration(*, port: int) -> str:
    """What Debian's ziproxy.conf sets, and the two defaults that matter most, spelled out."""
    return f"""\
Address = "{HOST}"
OnlyFrom = "{HOST}"
Port = {port}
UseContentLength = false
ImageQuality = {{30,25,25,20}}
Gzip = true
MaxSize = 1048576
"""


@asynccontextmanager
async def running(executable: str, folder: Path) -> AsyncIterator[Address]:
    port = free_port()
    file = folder / "ziproxy.conf"
    file.write_text(configuration(port=port))
    async with daemon(executable, "-d", "-c", str(file), port=port, folder=folder) as address:
        yield address


def ziproxy() -> ForwardProxy:
    return ForwardProxy("ziproxy", find("ziproxy"), running)
