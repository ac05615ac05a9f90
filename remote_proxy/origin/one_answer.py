"""One answer to one request: what an origin writes beyond it is nobody's (RFC 9112, 6.3 and 9.2).

aiohttp would refuse a whole answer for bytes behind it, where browsers take what the length says,
and would give an answer that nobody asked for to whoever uses the kept connection next. It drops
interim answers and trailers, which are kept here for who wants them. Must not know: what is asked,
what the answer says.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from aiohttp import BaseConnector, ClientPayloadError
from aiohttp.client_proto import ResponseHandler

from remote_proxy.origin.trailers import TrailerReader
from wire.fields import Headers

_END: Final = b"\r\n\r\n"
MAX_INTERIM: Final = 8
"""Interim answers passed on before an answer; real ones are one or two."""


@dataclass(slots=True)
class Beside:
    """What is wanted beside an answer's final head and its body, and what came of it."""

    interim: Callable[[int, Headers], None] | None = None
    """Told of interim answers (RFC 9110, 15.2), but for those that concern one hop."""
    trailers: TrailerReader | None = None
    """None: they are not wanted."""
    interim_seen: int = 0


BESIDE: Final[ContextVar[Beside | None]] = ContextVar("BESIDE", default=None)
"""What who makes a request wants of its answer. aiohttp has no other way to its connections."""


def install(connector: BaseConnector) -> None:
    """Let all connections that it will make read so."""
    loop = asyncio.get_running_loop()
    handler: type[ResponseHandler] = OneAnswer
    connector._factory = functools.partial(handler, loop=loop)


class OneAnswer(ResponseHandler):
    """Reads a head by itself, so that nothing behind the body can spoil it; then the body."""

    _answered = True
    """The head of the final answer has come, or there was no request."""
    _seam = b""
    """The last bytes of a head that has not ended."""
    _beside: Beside | None = None
    _trailers: TrailerReader | None = None
    """Reads the body that comes now."""

    def set_response_params(self, **params: Any) -> None:
        self._answered, self._seam = False, b""
        self._beside, self._trailers = BESIDE.get(), None
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        message, beside = data[0], self._beside
        self._answered = message.code >= 200 or message.code == 101
        if beside is not None and self._answered and message.chunked:
            self._trailers = beside.trailers
        elif beside is not None and beside.interim is not None and 101 < message.code < 200:
            beside.interim_seen += 1
            if beside.interim_seen <= MAX_INTERIM:
                beside.interim(message.code, _fields(message.raw_headers))
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        while not self._answered and self._parser is not None:
            found = (self._seam + data).find(_END)
            end = found + len(_END) - len(self._seam)
            if found < 0 or end >= len(data):
                break
            self._seam = b""
            super().data_received(data[:end])
            data = data[end:]
            if self.transport is None or self.transport.is_closing():
                return
        if not self._answered:
            head = self._seam + data
            self._seam = head[-(len(_END) - 1) :]
            super().data_received(data)
            if not head.endswith(_END):
                self._trailers = None  # if this was a head, where its body began is unknown
        elif data and self._over():
            self.force_close()
            if self.transport is not None:
                self.transport.close()
            return
        else:
            if self._trailers is not None:
                self._trailers.feed(data)
            super().data_received(data)
        self._pass_on_failure()

    def _pass_on_failure(self) -> None:
        """aiohttp leaves who reads a body waiting when its framing turns out to be broken."""
        error, body = self.exception(), self._payload
        if error is None or body is None or body.is_eof() or body.exception() is not None:
            return
        body.set_exception(ClientPayloadError(str(error)), error)

    def _over(self) -> bool:
        """The whole answer has come, and no other connection's rules hold from here."""
        if self.upgraded:
            return False
        return self._payload is None or self._payload.is_eof()


def _fields(raw: tuple[tuple[bytes, bytes], ...]) -> Headers:
    return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]
