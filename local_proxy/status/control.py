"""Serves the status page's controls: sites' switches, clients that were refused, what is kept.

Changes are POSTs that only our own page can make. A browser says where a request comes from
(Sec-Fetch-Site, Origin), and a token that other sites cannot read must come with it in a field that
they cannot set without asking first (Fetch, 4.8; no answer of ours allows it). Names that are made
to point here are not served at all (status/setup.py, is_own).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs, urlsplit

import msgspec

from local_proxy.front.tls.connects import Https
from local_proxy.http.model import Request
from local_proxy.kept.savings import Savings
from local_proxy.kept.sqlite_file import Unavailable
from local_proxy.kept.store import LocalStore
from local_proxy.kept.threads import STORE
from local_proxy.sites.sites import Mode, Sites
from malformed import MALFORMED
from wire.fields import header

READ: Final = ("/sites.json", "/savings.json")
CHANGE: Final = ("/sites", "/sites/within", "/sites/forget", "/savings/erase")
TOKEN: Final = "x-sluice-token"
MAX_BODY: Final = 4096

Answer = tuple[int, bytes]
"""Status and JSON."""


class SiteLine(msgspec.Struct, frozen=True):
    """A site and its switch."""

    pattern: str
    mode: Mode
    chosen: bool
    within: float
    """Seconds in which a page's pictures are to be there; 0: when they are."""


class LearntLine(msgspec.Struct, frozen=True):
    """A host that a client doesn't want adapted."""

    host: str
    client: str
    seconds: float
    """Until it is tried again."""


class SitesReport(msgspec.Struct, frozen=True):
    """The form of /sites.json."""

    token: str
    """To be sent with changes, in the field `x-sluice-token`."""
    modes: list[Mode]
    sites: list[SiteLine]
    learnt: list[LearntLine]


class SiteChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /sites. `mode` None: as configured."""

    pattern: str
    mode: Mode | None = None


class SiteTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of POST /sites/within. `seconds` None: as configured; 0: when they are there."""

    pattern: str
    seconds: float | None = None


class ControlPage:
    """Answers for READ and CHANGE."""

    def __init__(
        self,
        sites: Sites,
        savings: Savings,
        *,
        store: LocalStore | None,
        https: Callable[[], Https | None],
        erase: Callable[[], Awaitable[None]],
        now: Callable[[], float],
    ) -> None:
        """`erase` forgets what is kept besides savings. Raises Unavailable."""
        self._erase = erase
        self._sites = sites
        self._savings = savings
        self._store = store
        self._https = https
        self._now = now
        self._token = secrets.token_urlsafe(24)

    async def read(self, request: Request) -> bytes:
        """The JSON at one of READ."""
        parts = urlsplit(request.url)
        if parts.path == "/savings.json":
            day = parse_qs(parts.query).get("day", [None])[0]
            return msgspec.json.encode(await self._savings.report(day=day))
        https = self._https()
        learnt = https.learnt() if https is not None else ()
        report = SitesReport(
            token=self._token,
            modes=list(Mode),
            sites=[SiteLine(s.pattern, s.mode, s.chosen, s.within) for s in self._sites.listed()],
            learnt=[LearntLine(one.host, one.client, one.until - self._now()) for one in learnt],
        )
        return msgspec.json.encode(report)

    async def change(self, request: Request) -> Answer:
        """What a POST to one of CHANGE does."""
        if not self.is_ours(request):
            return 403, _said("Only the status page itself may change this; load it again.")
        try:
            match urlsplit(request.url).path:
                case "/sites":
                    await self._choose(msgspec.json.decode(await _body(request), type=SiteChoice))
                case "/sites/within":
                    await self._time(msgspec.json.decode(await _body(request), type=SiteTime))
                case "/sites/forget":
                    if (https := self._https()) is not None:
                        await https.forget()
                case _:
                    await self._savings.erase()
                    await self._erase()
        except (*MALFORMED, ValueError) as error:
            return 400, _said(str(error))
        except Unavailable as error:
            return 503, _said(f"It holds, but could not be written to disk: {error}")
        return 200, b"{}"

    async def _choose(self, choice: SiteChoice) -> None:
        pattern = self._sites.choose(choice.pattern, choice.mode)
        if self._store is not None:
            await STORE.run(self._store.choose, pattern, choice.mode)

    async def _time(self, choice: SiteTime) -> None:
        pattern = self._sites.choose_time(choice.pattern, choice.seconds)
        if self._store is not None:
            await STORE.run(self._store.choose_time, pattern, choice.seconds)

    def is_ours(self, request: Request) -> bool:
        """Whether a request to change something comes from our page, or from who can read it."""
        parts = urlsplit(request.url)
        own = f"{parts.scheme}://{parts.netloc}"
        return (
            header(request.headers, "sec-fetch-site", "same-origin") == "same-origin"
            and header(request.headers, "origin", own) == own
            and hmac.compare_digest(header(request.headers, TOKEN).encode(), self._token.encode())
        )


async def _body(request: Request) -> bytes:
    body = bytearray()
    if request.body is not None:
        async for chunk in request.body:
            body += chunk
            if len(body) > MAX_BODY:
                raise ValueError(f"more than {MAX_BODY} bytes")
    return bytes(body)


def _said(problem: str) -> bytes:
    return msgspec.json.encode({"problem": problem})
