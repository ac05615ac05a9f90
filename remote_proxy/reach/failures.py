"""Says in words for people what went wrong between the remote proxy and an origin.

Knows the exceptions of aiohttp, ssl and the system, so that nothing else has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Final

import aiohttp

from remote_proxy.reach import certificates


class Failure(StrEnum):
    """What went wrong, as far as people can do something about it."""

    DNS = "dns"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    RESET = "reset"
    TLS = "tls"
    PROTOCOL = "protocol"
    FORBIDDEN = "forbidden"
    """Our own guard does not let this host be reached, or the origin a script of another one."""
    LIMIT = "limit"
    """The device has used what it may."""
    BUSY = "busy"
    """It uses all that it may at a time, and that does not change."""


_STATUS: Final = {
    Failure.TIMEOUT: 504,
    Failure.FORBIDDEN: 403,
    Failure.LIMIT: 429,
    Failure.BUSY: 503,
}


class OriginError(Exception):
    """No response, or no whole one. `str()` is for people."""

    def __init__(self, kind: Failure, text: str, *, retry: int = 0) -> None:
        super().__init__(text)
        self.kind = kind
        self.status = _STATUS.get(kind, 502)
        """What the browser is told when it has no head yet."""
        self.retry = retry
        """Seconds after which asking again makes sense; 0: not known."""


@contextmanager
def translated(host: str) -> Iterator[None]:
    """aiohttp's and the system's errors, translated once, here, into OriginError."""
    try:
        yield
    except OriginError:
        raise
    except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, OSError, ValueError) as error:
        raise _translate(error, host) from error


def _translate(error: BaseException, host: str) -> OriginError:
    chain = list(_causes(error))
    for one in chain:
        if isinstance(one, OriginError):
            return one
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return OriginError(Failure.DNS, f"there is no server by the name of {host}")
    if (fault := certificates.fault(host, chain)) is not None:
        return OriginError(Failure.TLS, fault)
    if any(isinstance(one, TimeoutError) for one in chain):
        return OriginError(Failure.TIMEOUT, f"{host} took too long to answer")
    if isinstance(error, aiohttp.ClientConnectorError) and not any(
        isinstance(one, ConnectionResetError) for one in chain
    ):
        return OriginError(Failure.REFUSED, f"{host} does not take connections")
    if any(isinstance(one, ConnectionError | aiohttp.ServerDisconnectedError) for one in chain):
        return OriginError(Failure.RESET, f"{host} broke the connection off")
    if isinstance(error, aiohttp.ClientOSError):
        return OriginError(Failure.RESET, f"the connection to {host} was lost")
    if isinstance(error, aiohttp.ClientPayloadError):
        return OriginError(Failure.PROTOCOL, f"the response of {host} is garbled or incomplete")
    return OriginError(Failure.PROTOCOL, f"{host} sent something that is not valid HTTP")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
