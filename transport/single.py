"""Links of one TCP connection each: what a bench or a test of the link itself needs."""

from __future__ import annotations

import socket
from collections.abc import Callable

from transport.link import LinkError
from transport.tcp import Listener, dial, listen
from transport.tcp_link import TcpLink


async def connect(
    host: str, port: int, *, congestion: str | None = "cubic", timeout: float = 30.0
) -> TcpLink:
    """A link to whoever listens there. Raises LinkError; `timeout` in seconds, for all of it."""
    connection = await dial(host, port, timeout=timeout)
    try:
        return TcpLink(connection, congestion=congestion)
    except LinkError:
        connection.close()
        raise


async def serve(
    host: str,
    port: int,
    on_link: Callable[[TcpLink], None],
    *,
    congestion: str | None = "cubic",
) -> Listener:
    """Listen; each accepted link is handed to `on_link`, which starts it. Raises LinkError."""

    def accepted(connection: socket.socket) -> None:
        on_link(TcpLink(connection, congestion=congestion))

    return await listen(host, port, accepted, congestion=congestion)
