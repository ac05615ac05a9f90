"""One answer to one request: what an origin writes beyond it is nobody's (RFC 9112, 6.3 and 9.2).

aiohttp would refuse a whole answer for bytes behind it, where browsers take what the length says,
and would give an answer that nobody asked for to whoever uses the kept connection next. Must not
know: what is asked, what the answer says.
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Final

from aiohttp import BaseConnector, ClientPayloadError
from aiohttp.client_proto import ResponseHandler

_END: Final = b"\r\n\r\n"


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

    def set_response_params(self, **params: Any) -> None:
        self._answered, self._seam = False, b""
        super().set_response_params(**params)

    def feed_data(self, data: Any, size: int = 0) -> None:
        self._answered = data[0].code >= 200 or data[0].code == 101
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
            self._seam = (self._seam + data)[-(len(_END) - 1) :]
        elif data and self._over():
            self.force_close()
            if self.transport is not None:
                self.transport.close()
            return
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
