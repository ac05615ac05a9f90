"""A picture fetched once more, whole, because what is here of it can't be shown any finer.

Must not know: documents, levels.
"""

from __future__ import annotations

from local_proxy.export_drivers.browser import pictures
from local_proxy.http.model import Handler, Request, Response


class Refetch:
    """Asks the core as the page itself might have. Better late than coarse for ever."""

    def __init__(self, fetch: Handler) -> None:
        self._fetch = fetch
        self.count = 0
        """Pictures asked for since the start."""

    async def response(self, request: Request, url: str, *, known: bool = True) -> Response:
        """The picture at `url`, asked for with the fields of `request`.

        `known`: a driver of ours asks, which overrules a site's switch.
        """
        self.count += 1
        headers = [(n, v) for n, v in request.headers if n != "sec-fetch-dest"]
        # As a script's fetch: such requests never get levels.
        fields = [*headers, ("sec-fetch-dest", "empty")]
        return await self._fetch(Request(request.method, url, fields, original=known))

    def body(self, request: Request) -> pictures.Anew:
        """How to have a picture whose last level can't be decoded."""

        async def anew() -> bytes:
            return await pictures.body_of(await self.response(request, request.url))

        return anew
