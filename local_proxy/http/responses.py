"""Shares what all fronts do with a response of the core. Must not know: HTTP's versions,
sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

import structlog

from local_proxy.http.model import Response

log = structlog.get_logger(__name__)

_BODYLESS: Final = frozenset((204, 304))


def bodyless(response: Response, method: str) -> bool:
    """Whether no body is sent, whatever the fields say (RFC 9110, 6.4.1)."""
    return method == "HEAD" or response.status in _BODYLESS


def keeps_length(response: Response, method: str) -> bool:
    """Whether Content-Length tells of a body that isn't sent (RFC 9110, 8.6)."""
    return response.status != 204 and bodyless(response, method)


async def dispose(response: Response, *, whole: bool) -> None:
    """Let go of the body and say how it went. A callback that raises is logged."""
    if isinstance(response.body, AsyncGenerator):
        await response.body.aclose()
    for callback in response.on_done:
        try:
            callback(whole)
        except Exception:
            log.exception("on_done failed")
