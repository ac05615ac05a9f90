"""Ends a TCP connection so that its last words arrive: first our direction, later the socket.

A kernel whose socket was closed answers whatever still comes with a reset, and forgets what it has
not sent yet of ours (RFC 1122, 4.2.2.13); a proxy on the way that hears of a reset forgets what
it holds (RFC 9112, 9.6, for servers). So after a goodbye the peer's end is waited for.
"""

from __future__ import annotations

import asyncio
import socket
import weakref
from typing import Final

LASTS: Final = 10.0
"""Seconds at most: three round trips of a slow link, where one is needed."""
MOST: Final = 64
"""That are waited for at once: who ends many connections is not given all sockets."""
_READ: Final = 65_536
_waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, int] = weakref.WeakKeyDictionary()
"""How many are, by their loops."""


class OrderlyEnd:
    """Closes a socket once the peer has closed its own; what still comes is not looked at."""

    def __init__(self, ending: socket.socket, loop: asyncio.AbstractEventLoop) -> None:
        """`ending`: it does not block, all has been said on it, and nobody else has it."""
        self._socket, self._loop = ending, loop
        self._with_loop = weakref.finalize(loop, ending.close)
        """A loop that ends sooner can't wait."""
        self._timer = loop.call_later(LASTS, self._close)
        _waiting[loop] = _waiting.get(loop, 0) + 1
        try:
            ending.shutdown(socket.SHUT_WR)
        except OSError:  # it is broken already
            self._close()
            return
        if _waiting[loop] > MOST:
            self._close()
            return
        loop.add_reader(ending, self._readable)
        self._readable()

    def _readable(self) -> None:
        try:
            if self._socket.recv(_READ):
                return  # a peer that never ends has a turn like all others
        except BlockingIOError:
            return
        except OSError:
            pass
        self._close()

    def _close(self) -> None:
        self._timer.cancel()
        self._with_loop.detach()
        if self._socket.fileno() >= 0:
            _waiting[self._loop] -= 1
            self._loop.remove_reader(self._socket)
            self._socket.close()
