"""Asks origins whether scripts of others may ask them, for requests that came with that question.

The device has told the browser yes (local_proxy/requests/preflights.py). What the browser would
have asked is asked here, and judged as the browser would judge it; only then does the request go.
Leave is remembered as long as its origin says, for the device and the browser that had it. Where
the answer means one thing to a script that wants cookies sent and another to one that does not, and
there are none by which to tell, the browser is led to ask for itself.

Sources: Fetch, 4.8 (CORS-preflight fetch), 4.10 (CORS-preflight cache).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from hashlib import sha256
from typing import Final, NamedTuple, TypeVar

from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from web.cors import METHOD, NAMES, Leave, Preflight, has_credentials, leave, lifetime
from wire.abilities import Takes
from wire.fields import Headers, header, without
from wire.origin_request import OriginRequest

MOST: Final = 4096
"""Leave remembered, of all devices together; what was given first goes first."""
MOST_TOLD: Final = 64
"""Answers kept for browsers that are to ask for themselves,"""
AGAIN: Final = 10.0
"""and for how many seconds."""
_AS_THE_REQUEST: Final = frozenset(
    (
        *("accept-encoding", "accept-language", "dnt", "origin", "referer", "sec-fetch-dest"),
        *("sec-fetch-mode", "sec-fetch-site", "sec-gpc", "user-agent", METHOD, NAMES),
    )
)
"""Fields that a preflight has as its request has them."""
T = TypeVar("T")


class _Told(NamedTuple):
    """An origin's answer to a preflight."""

    status: int
    headers: Headers
    until: float
    """When it is of no use any more."""


class AskedPreflights:
    """What origins have said."""

    def __init__(self, fetch: Callable[[ForwardedRequest], Awaitable[OriginResponse]]) -> None:
        """`fetch`: asks an origin."""
        self._fetch = fetch
        self._until: OrderedDict[bytes, float] = OrderedDict()
        """Leave that holds, and until when on the loop's clock."""
        self._told: OrderedDict[bytes, _Told] = OrderedDict()
        """Answers that a browser is to judge."""

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        """The head of the answer that the browser would have got. Raises OriginError."""
        request = forwarded.request
        if not request.takes & Takes.PREFLIGHT:
            told = self._kept(forwarded) if request.method == "OPTIONS" and self._told else None
            return told or await self._fetch(forwarded)
        asked = Preflight.of(request.headers)
        if asked is None or not asked.fits(request.method, request.headers):
            raise OriginError(Failure.FORBIDDEN, "nobody can tell what this needs leave for")
        own = without(request.headers, (METHOD, NAMES))
        credentials = has_credentials(own, asked)
        key = _key(forwarded.device, request, asked, credentials)
        if self._until.get(key, 0.0) <= asyncio.get_running_loop().time():
            again = await self._ask(forwarded, asked, key, credentials=credentials)
            if again is not None:
                return again
        return await self._fetch(replace(forwarded, request=replace(request, headers=own)))

    async def _ask(
        self, forwarded: ForwardedRequest, asked: Preflight, key: bytes, *, credentials: bool
    ) -> OriginResponse | None:
        """None: there is leave. Else what has the browser itself ask for it."""
        request, now = forwarded.request, asyncio.get_running_loop().time()
        fields = [(name, value) for name, value in request.headers if name in _AS_THE_REQUEST]
        question = OriginRequest("OPTIONS", request.url, [("accept", "*/*"), *fields])
        count, device = forwarded.count, forwarded.device
        response = await self._fetch(ForwardedRequest(question, device=device, count=count))
        response.close()
        status, said = response.status, response.headers
        origin = header(request.headers, "origin")
        found = leave(status, said, asked, origin=origin, credentials=credentials)
        if found is Leave.GIVEN:
            _remember(self._until, key, now + lifetime(said), most=MOST)
            return None
        self._until.pop(key, None)
        if found is Leave.REFUSED:
            raise OriginError(Failure.FORBIDDEN, "the server does not let this page ask for that")
        _remember(self._told, key, _Told(status, said, now + AGAIN), most=MOST_TOLD)
        return _asks_again(request.url, origin)

    def _kept(self, forwarded: ForwardedRequest) -> OriginResponse | None:
        """The answer to a browser that asks for itself what has been asked for it."""
        asked = Preflight.of(forwarded.request.headers)
        if asked is None:
            return None
        told = self._told.pop(_key(forwarded.device, forwarded.request, asked, False), None)
        if told is None or told.until < asyncio.get_running_loop().time():
            return None
        return _whole(told.status, told.headers)


def _asks_again(url: str, origin: str) -> OriginResponse:
    """What leads a browser to the same address. It asks for leave once more, and that time the
    local proxy lets it."""
    fields = [
        ("location", url),
        ("cache-control", "no-store"),
        ("access-control-allow-origin", origin),
        ("access-control-allow-credentials", "true"),
    ]
    return _whole(307, fields)


def _whole(status: int, headers: Headers) -> OriginResponse:
    return OriginResponse(status, "", headers, _nothing(), 0, lambda: None)


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""


def _remember(known: OrderedDict[bytes, T], key: bytes, value: T, *, most: int) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)


def _key(device: str, request: OriginRequest, asked: Preflight, credentials: bool) -> bytes:
    """Names all that leave is given for."""
    whose = header(request.headers, "origin"), header(request.headers, "user-agent")
    parts = (device, *whose, request.url, str(credentials), asked.method, *asked.names)
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).digest()
