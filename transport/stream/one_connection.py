"""Links of one TCP connection each: what a bench or a test of the link itself needs."""

from __future__ import annotations

from collections.abc import Callable

from transport.link.interface import LinkError
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from transport.tcp.handshakes import dial_secured, listen_secured
from transport.tcp.security import ClientSecurity, ServerSecurity
from transport.tcp.sockets import Listener


async def connect(
    host: str,
    port: int,
    *,
    congestion: str | None = "cubic",
    timeout: float = 30.0,
    security: ClientSecurity | None = None,
) -> StreamLink:
    """A link to whoever listens there, or with `security` to nobody but whom that knows.

    `timeout`: seconds until it answers. Raises LinkError, NotTrusted.
    """
    connection = await dial_secured(host, port, timeout=timeout, security=security)
    try:
        return StreamLink(connection, congestion=congestion)
    except LinkError:
        connection.close()
        raise


async def serve(
    host: str,
    port: int,
    on_link: Callable[[StreamLink], None],
    *,
    congestion: str | None = "cubic",
    security: ServerSecurity | None = None,
) -> Listener:
    """Listen; each accepted link is handed to `on_link`, which starts it. Raises LinkError.

    With `security` only links to those that it knows: others end in their handshake.
    """

    def accepted(connection: TcpConnection) -> None:
        on_link(StreamLink(connection, congestion=congestion))

    return await listen_secured(host, port, accepted, congestion=congestion, security=security)
