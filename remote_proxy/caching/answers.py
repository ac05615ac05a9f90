"""The origin, behind a cache that all devices share: RFC 9111's rules, narrower ones of ours.

A second reader costs the uplink nothing. What several ask for at once is asked once; who comes
second waits for it a moment, and where it turns out to be nobody else's asks for himself. Each
device's own limits count what it gets, wherever from. Stores may lose anything: then the origin is
asked.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol
from urllib.parse import urljoin

from remote_proxy.caching.pulled import MAX_BODY, PulledBody, PullingRoom
from remote_proxy.caching.records import AnswerRecords, KeptAnswer
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from remote_proxy.origin.response import CHUNK
from remote_proxy.reach.failures import OriginError
from remote_proxy.store.store import StoreStatistics
from web.caching.answering import (
    CONDITIONS,
    freshened,
    is_conditional,
    names_entity,
    part,
    same_entity,
    will_do,
)
from web.caching.fields import CacheControl
from web.caching.freshness import AnswerHead, worth_keeping
from web.caching.sharing import (
    READS,
    from_anybody,
    kept_apart,
    logs_connection_in,
    may_be_given,
    may_share,
)
from web.sites import origin_of
from wire.fields import Fields, Headers, header, without
from wire.origin_request import OriginRequest

WAIT: Final = 1.0
"""Seconds for which one waits for another's answer: most come sooner, and what comes later is
seldom one that can be shared."""
LOGINS: Final = 4096
"""Devices' logins that are remembered; the oldest are forgotten."""
LOOK: Final = 0.02
"""Seconds between two looks whether another remote has an answer."""
_FAILURES: Final = (500, 502, 503, 504)
"""Of an origin that can't answer (RFC 5861, 4)."""
_SAFE: Final = ("GET", "HEAD", "OPTIONS", "TRACE")


def wall_clock() -> float:
    """Seconds since the epoch."""
    return datetime.now(UTC).timestamp()


class Fetcher(Protocol):
    """Whoever answers a request."""

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        """The head of the response. Raises OriginError."""


@dataclass(slots=True)
class AnswerStatistics:
    """Counts since the start."""

    given: int = 0
    """Answers that no origin was asked for."""
    unchanged: int = 0
    """That an origin was asked about, and it had nothing new."""
    asked: int = 0
    """Requests that went to origins."""
    kept: int = 0
    waited: int = 0
    """Of those given, that were under way for another."""
    bytes_given: int = 0


class SharedAnswers:
    """Origins' answers, kept in a store."""

    def __init__(
        self, origin: Fetcher, records: AnswerRecords, *, clock: Callable[[], float] = wall_clock
    ) -> None:
        """`clock`: the wall clock's seconds."""
        self._origin = origin
        self._records = records
        self._clock = clock
        self._room = PullingRoom()
        self._under_way: dict[str, asyncio.Future[None]] = {}
        """By address: done once it's known whether its answer is kept."""
        self._waiting: Counter[str] = Counter()
        """How many wait for another's answer, by address."""
        self._logins: OrderedDict[tuple[str, str], None] = OrderedDict()
        """Devices, and origins to which they have logged a connection in (NTLM): no later
        request over it says so."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.statistics = AnswerStatistics()

    @property
    def store(self) -> StoreStatistics:
        """What became of questions to the store."""
        return self._records.statistics()

    async def close(self) -> None:
        """End what is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        """The head of an answer, the origin's or one that is kept. Raises OriginError."""
        request = forwarded.request
        self._note_login(forwarded)
        if request.method not in READS or forwarded.body is not None:
            response = await self._ask(forwarded)
            if request.method not in _SAFE and response.status < 400:
                await self._changed(request.url, response.headers)
            return response
        waited = leads = False
        while True:
            looked = await self._records.find(request.url, request.headers)
            answer = next(iter(looked.answers), None)
            if answer is not None and (given := await self._given(answer, forwarded)) is not None:
                self.statistics.waited += waited
                if leads:
                    self._begin(self._records.done(request.url))
                return given
            if "only-if-cached" in CacheControl.of(request.headers):
                return _nothing_kept()
            shares = self._may_share(forwarded)
            if waited or leads or looked.unshared or not shares:
                break
            waited = await self._another(request.url)
            leads = not waited  # since the look whoever was first may have ended
        if not shares:
            return await self._ask(forwarded)
        return await self._lead(forwarded, answer)

    def _may_share(self, forwarded: ForwardedRequest) -> bool:
        request = forwarded.request
        login = (forwarded.device, origin_of(request.url))
        return login not in self._logins and may_share(request.method, request.headers, body=False)

    def _note_login(self, forwarded: ForwardedRequest) -> None:
        if logs_connection_in(forwarded.request.headers):
            login = (forwarded.device, origin_of(forwarded.request.url))
            self._logins[login] = None
            self._logins.move_to_end(login)
            if len(self._logins) > LOGINS:
                self._logins.popitem(last=False)

    async def _given(
        self, answer: KeptAnswer, forwarded: ForwardedRequest
    ) -> OriginResponse | None:
        """Give that answer, if it will do and is still there."""
        asked, now = forwarded.request.headers, self._clock()
        if not may_be_given(asked, answer.kept.headers):
            return None
        while_asking = answer.kept.stale_for("stale-while-revalidate")
        if not will_do(answer.kept, asked, now=now, late=while_asking):
            return None
        given = await self._of(answer, forwarded)
        if given is not None:
            self.statistics.given += 1
            if answer.kept.fresh(now) <= 0 and while_asking and self._may_share(forwarded):
                self._renew_later(answer, forwarded.request)
        return given

    def _renew_later(self, old: KeptAnswer, request: OriginRequest) -> None:
        """Ask the origin while what is stale is given (RFC 5861, 3), once at a time."""
        if request.url in self._under_way:
            return
        plain = without(request.headers, (*CONDITIONS, "cache-control", "pragma"))
        asking = OriginRequest("GET", request.url, plain)

        async def renew() -> None:
            with contextlib.suppress(OriginError):
                response = await self._lead(ForwardedRequest(asking), old)
                came = 0
                async for chunk in response.body:
                    came += len(chunk)
                    if came > MAX_BODY:  # nobody reads it, and it is not kept
                        break
                response.close()

        self._begin(renew())

    async def _of(self, answer: KeptAnswer, forwarded: ForwardedRequest) -> OriginResponse | None:
        """Answer with it; None: its origin has to."""
        asked = forwarded.request.headers
        bodiless = forwarded.request.method == "HEAD"
        found = part(answer.kept, answer.size, asked, now=self._clock(), whole=bodiless)
        body = await self._records.body(answer) if found is not None else None
        if found is None or body is None:
            return None
        content = b"" if bodiless else body[found.start : found.end]
        self.statistics.bytes_given += len(content)
        reason = answer.reason if found.status == answer.kept.status else ""
        return OriginResponse(
            found.status,
            reason,
            found.headers,
            _chunks(content, forwarded.count),
            len(content),
            lambda: None,
        )

    async def _another(self, url: str) -> bool:
        """Wait while somebody else asks for the same, for a moment; whether anybody did."""
        here = self._under_way.get(url)
        if here is not None:
            self._waiting[url] += 1
            try:
                await asyncio.wait((here,), timeout=WAIT)
            finally:
                self._waiting -= Counter((url,))
            return True
        if await self._records.lead(url, seconds=2 * WAIT):
            return False
        for _ in range(round(WAIT / LOOK)):
            if not await self._records.led(url):
                break
            await asyncio.sleep(LOOK)
        return True

    async def _lead(self, forwarded: ForwardedRequest, old: KeptAnswer | None) -> OriginResponse:
        """Ask the origin, for others too."""
        url = forwarded.request.url
        settled = asyncio.get_running_loop().create_future()
        if url not in self._under_way:
            self._under_way[url] = settled
        try:
            return await self._asked(forwarded, old, lambda: self._settle(url, settled))
        except BaseException:
            self._settle(url, settled)
            raise

    def _settle(self, url: str, settled: asyncio.Future[None]) -> None:
        if settled.done():
            return
        settled.set_result(None)
        if self._under_way.get(url) is settled:
            del self._under_way[url]
        self._begin(self._records.done(url))

    async def _asked(
        self, forwarded: ForwardedRequest, old: KeptAnswer | None, settle: Callable[[], None]
    ) -> OriginResponse:
        """`settle` is called once it's known whether the answer is kept."""
        request, began = forwarded.request, self._clock()
        asked = forwarded
        if old is not None and not is_conditional(request.headers) and old.kept.validators:
            headers = [*request.headers, *old.kept.validators]
            asked = replace(forwarded, request=replace(request, headers=headers))
        try:
            response = await self._ask(asked)
        except OriginError:
            given = await self._stale(old, forwarded) if old is not None else None
            if given is None:
                raise
            settle()
            return given
        if response.status == 304 and old is not None:
            sure = asked is not forwarded or names_entity(response.headers)
            if sure and same_entity(old.kept, response.headers):
                given = await self._renewed(old, response, forwarded, began)
                settle()
                return given
            if asked is not forwarded:  # of something else than it was asked
                response.close()
                return await self._asked(forwarded, None, settle)
        if response.status in _FAILURES and old is not None:
            given = await self._stale(old, forwarded)
            if given is not None:
                response.close()
                settle()
                return given
        kept = AnswerHead(response.status, response.headers, began, self._clock())
        long = response.length is not None and response.length > MAX_BODY
        if long or not _may_be_kept(request, kept):
            self._begin(self._records.unshared(request.url), settle)
            return response
        return self._pulled(forwarded, response, kept, settle)

    def _pulled(
        self,
        forwarded: ForwardedRequest,
        response: OriginResponse,
        kept: AnswerHead,
        settle: Callable[[], None],
    ) -> OriginResponse:
        """The answer, as it comes, and kept once it's whole."""
        request = forwarded.request

        def whole(data: bytes | None) -> None:
            if data is None or response.trailers():
                self._begin(self._records.unshared(request.url), settle)
                return
            self.statistics.kept += 1
            keeping = self._records.keep(
                request.url, request.headers, kept, response.reason, data, now=self._clock()
            )
            self._begin(keeping, settle)

        pulled = PulledBody(
            response.body,
            self._room,
            settled=whole,
            wanted=lambda: self._waiting[request.url] > 0,
        )

        async def run() -> None:
            try:
                await pulled.run()
            finally:
                response.close()

        pulling = self._begin(run())

        def close() -> None:
            if not pulled.close():
                pulling.cancel()

        return replace(response, body=pulled.read(), close=close)

    async def _renewed(
        self, old: KeptAnswer, response: OriginResponse, forwarded: ForwardedRequest, began: float
    ) -> OriginResponse:
        """Its origin has found it unchanged."""
        request, now = forwarded.request, self._clock()
        kept = freshened(old.kept, response.headers, asked=began, now=now)
        new = replace(old, kept=kept)
        self.statistics.unchanged += 1
        if _may_be_kept(request, kept):
            await self._records.renew(request.url, request.headers, new, now=now)
        elif not from_anybody(response.headers) or not worth_keeping(kept, now):
            await self._records.forget(request.url)
        if is_conditional(request.headers):
            return response  # its client has the body
        response.close()
        return await self._of(new, forwarded) or await self._ask(forwarded)

    async def _stale(self, old: KeptAnswer, forwarded: ForwardedRequest) -> OriginResponse | None:
        """Stale, where its origin allows that when it can't answer (RFC 5861, 4)."""
        stale = -old.kept.fresh(self._clock())
        if stale >= old.kept.stale_for("stale-if-error"):
            return None
        return await self._of(old, forwarded)

    async def _changed(self, url: str, answered: Fields) -> None:
        """Something has changed there, and where the answer says (RFC 9111, 4.4)."""
        await self._records.forget(url)
        for field in ("location", "content-location"):
            other = _joined(url, header(answered, field))
            if other and origin_of(other) == origin_of(url):
                await self._records.forget(other)

    async def _ask(self, forwarded: ForwardedRequest) -> OriginResponse:
        self.statistics.asked += 1
        return await self._origin.fetch(forwarded)

    def _begin(
        self, work: Coroutine[Any, Any, None], after: Callable[[], None] | None = None
    ) -> asyncio.Task[None]:
        """Work that nobody waits for."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if after is not None:
            task.add_done_callback(lambda _: after())
        return task


def _may_be_kept(request: OriginRequest, kept: AnswerHead) -> bool:
    """Whether an answer that has just come is of use to others, and theirs to have."""
    apart = from_anybody(kept.headers) and kept_apart(request.headers, kept.headers)
    return apart and worth_keeping(kept, kept.answered)


async def _chunks(data: bytes, count: Callable[[int], None]) -> AsyncIterator[bytes]:
    for at in range(0, len(data), CHUNK):
        chunk = data[at : at + CHUNK]
        count(len(chunk))
        yield chunk


def _nothing_kept() -> OriginResponse:
    """RFC 9111, 5.2.1.7."""
    headers: Headers = [("content-length", "0"), ("cache-control", "no-store")]
    return OriginResponse(504, "Gateway Timeout", headers, _chunks(b"", lambda _: None), 0, _leave)


def _leave() -> None:
    pass


def _joined(url: str, other: str) -> str:
    try:
        return urljoin(url, other) if other else ""
    except ValueError:
        return ""
