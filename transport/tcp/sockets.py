"""TCP connections: dialled, accepted, and prepared so that the kernel holds nothing back.

Whatever speaks on them is elsewhere: a link (transport/stream/stream_link.py), of one connection or
of many (transport/stream/dialling_end.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Final

from transport.link.interface import LinkError
from transport.link.quantum import SEGMENT

USUAL: Final = "cubic"
"""Congestion control of a link's TCP where nobody says another."""
_UNSENT_LOW_WATER: Final = 1024
"""Bytes unsent in the kernel below which it asks for more."""
_SIOCOUTQNSD: Final = 0x894B
"""Asks for the bytes that TCP has not sent; in linux/sockios.h."""
_BACKLOG: Final = 128
_NAME: Final = 16
"""Bytes of a congestion control's name (TCP_CA_NAME_MAX)."""
_TCP_NOTSENT_LOWAT: Final = getattr(socket, "TCP_NOTSENT_LOWAT", 25)
"""In Python from 3.12 on; 25 in linux/tcp.h."""


class Listener:
    """Accepts connections until closed; an async context manager."""

    def __init__(
        self,
        listening: socket.socket,
        on_connection: Callable[[socket.socket], None],
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self._socket = listening
        self._on_connection = on_connection
        self._on_close = on_close
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listening, self._accept)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that it listens on."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def close(self) -> None:
        """Accept no more; what was accepted goes on."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            if self._on_close is not None:
                self._on_close()

    async def __aenter__(self) -> Listener:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:  # gone again before it was accepted, or no descriptors: the next one
            return
        self._on_connection(connection)


async def dial(
    host: str, port: int, *, timeout: float = 30.0, interface: str = ""
) -> socket.socket:
    """A connection to whoever listens there. Raises LinkError; `timeout` in seconds, for all.

    `interface`: over that one alone (Linux); empty: as the kernel routes.
    """
    try:
        async with asyncio.timeout(timeout):
            return await _first_that_answers(host, port, interface)
    except TimeoutError as error:
        raise LinkError(f"{host}:{port} did not answer within {timeout:g} s") from error
    except OSError as error:
        raise LinkError(f"{host}:{port}: {reason(error)}") from error


async def listen(
    host: str,
    port: int,
    on_connection: Callable[[socket.socket], None],
    *,
    congestion: str | None = "cubic",
    on_close: Callable[[], None] | None = None,
) -> Listener:
    """Hand each accepted connection to `on_connection`, which owns it then. Raises LinkError.

    `on_close` is called when the listener is closed.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise LinkError(f"{host}:{port}: {reason(error)}") from error
    try:
        prepare(listening, congestion)  # refuse what the kernel lacks now, not at each link
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except LinkError:
        listening.close()
        raise
    except OSError as error:
        listening.close()
        raise LinkError(f"{host}:{port}: {reason(error)}") from error
    return Listener(listening, on_connection, on_close)


async def _first_that_answers(host: str, port: int, interface: str) -> socket.socket:
    """A connection to the first of the host's addresses that takes one. Raises OSError."""
    loop = asyncio.get_running_loop()
    last = OSError("no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            if interface:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            last = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise last


def reason(error: OSError) -> str:
    """The system's words: asyncio's own for a refused connection leave the reason out."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error)


def prepare(connection: socket.socket, congestion: str | None) -> None:
    """Options that keep the kernel from holding bytes back or hoarding them. `congestion`: "":
    USUAL if it can be had. Raises LinkError for another that can't."""
    connection.setblocking(False)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(OSError):  # not Linux: the gate alone bounds what is under way
        connection.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _UNSENT_LOW_WATER)
    if congestion is not None and not set_control(connection, congestion or USUAL) and congestion:
        # Who has no wish has the system's: it may allow others only, to who is not root.
        raise LinkError(f"congestion control {congestion!r} is not to be had")


def control(connection: socket.socket) -> str:
    """The congestion control that it is under; USUAL where it does not tell."""
    try:
        name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME)
    except (OSError, AttributeError):  # not Linux
        return USUAL
    return name.partition(b"\0")[0].decode()


def set_control(connection: socket.socket, name: str) -> bool:
    """Put it under another, from now on; whether that is to be had."""
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    except (OSError, AttributeError):  # not allowed here, or not Linux
        return False
    return True


def may_change(*names: str) -> bool:
    """Whether a connection may be put under each of these, one after the other."""
    with socket.socket() as own:
        return all(set_control(own, name) for name in names)


def takes_bytes(connection: socket.socket) -> bool:
    """Whether the kernel has next to nothing unsent, which is when its poll would say so, too.

    False where it does not tell.
    """
    try:
        unsent = fcntl.ioctl(connection, _SIOCOUTQNSD, bytes(4))
    except OSError:
        return False
    return 2 * int.from_bytes(unsent, sys.byteorder) < _UNSENT_LOW_WATER


def segment(connection: socket.socket) -> int:
    """Bytes of payload that a packet of the connection holds; as many as usual if not known."""
    try:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    except OSError:
        return SEGMENT
