"""TEMPORARY thin origin client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from yarl import URL

Headers = list[tuple[str, str]]


class OriginError(Exception):
    def __init__(self, kind: str, status: int, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.status = status


@dataclass
class FetchRequest:
    method: str
    url: str
    headers: Headers
    body: AsyncIterator[bytes] | None = None


@dataclass
class OriginResponse:
    status: int
    reason: str
    headers: Headers
    body: AsyncIterator[bytes]
    length: int | None


class Origin:
    async def __aenter__(self):
        self._s = aiohttp.ClientSession(
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=["User-Agent", "Accept", "Accept-Encoding"],
            connector=aiohttp.TCPConnector(limit_per_host=12),
        )
        return self

    async def __aexit__(self, *a):
        await self._s.close()

    @asynccontextmanager
    async def fetch(self, r: FetchRequest):
        try:
            async with self._s.request(
                r.method,
                URL(r.url, encoded=True),
                headers=[(k, v) for k, v in r.headers if k not in ("host", "accept-encoding")],
                data=r.body,
                allow_redirects=False,
            ) as resp:
                hs = [
                    (k.decode("latin-1").lower(), v.decode("latin-1")) for k, v in resp.raw_headers
                ]
                hs = [
                    (k, v)
                    for k, v in hs
                    if k not in ("connection", "transfer-encoding", "keep-alive")
                ]
                yield OriginResponse(
                    resp.status, resp.reason or "", hs, resp.content.iter_any(), resp.content_length
                )
        except (aiohttp.ClientError, OSError) as e:
            raise OriginError("refused", 502, str(e)) from e


def decode(headers: Headers, body: AsyncIterator[bytes]):
    return headers, body
