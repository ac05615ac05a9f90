"""A request's body over HTTP/1.1, as it comes; what is wrong with it becomes a refusal.

Source: RFC 9112, 6 and 7; RFC 9110, 10.1.1. Must not know: the core, responses.
"""

from __future__ import annotations

import h11

from local_proxy.front.http1.chunks import ChunkCheck
from local_proxy.http.client_stream import ClientStream
from local_proxy.http.request_rules import RefusedRequest


class RequestBody:
    """A request's body as it comes; asks for it first where the client waits for that."""

    def __init__(
        self, http: h11.Connection, client: ClientStream, check: ChunkCheck | None, *, limit: int
    ) -> None:
        self._http = http
        self._client = client
        self._check = check
        self._left = limit
        self.refusal: RefusedRequest | None = None
        """What was wrong with it, once that is known."""
        self.over = False
        """The exchange has ended: there is nothing more to read, even for a reader in between."""

    def __aiter__(self) -> RequestBody:
        return self

    async def __anext__(self) -> bytes:
        if self.refusal is not None:
            raise self.refusal
        if self._http.they_are_waiting_for_100_continue and not self.over:
            go_on = h11.InformationalResponse(status_code=100, headers=[])
            await self._client.write(self._http.send(go_on) or b"")
        try:
            while (event := self._next()) is h11.NEED_DATA:
                data = await self._client.read()
                if not self.over:
                    if self._check is not None:
                        self._check.feed(data)
                    self._http.receive_data(data)
        except RefusedRequest as refused:
            self.refusal = refused
            raise
        except h11.RemoteProtocolError as error:
            self.refusal = refusal(error)
            raise self.refusal from error
        if not isinstance(event, h11.Data):
            raise StopAsyncIteration
        self._left -= len(event.data)
        if self._left < 0:
            self.refusal = too_large()
            raise self.refusal
        return bytes(event.data)

    def _next(self) -> object:
        if self.over or self._http.their_state is not h11.SEND_BODY:
            return None
        return self._http.next_event()


def chunked(event: h11.Request) -> bool:
    return any(name == b"transfer-encoding" for name, _ in event.headers)


def refusal(error: h11.RemoteProtocolError) -> RefusedRequest:
    return RefusedRequest(error.error_status_hint, f"The request is malformed: {error}.")


def too_large() -> RefusedRequest:
    return RefusedRequest(413, "The request's body is larger than this proxy allows.")
