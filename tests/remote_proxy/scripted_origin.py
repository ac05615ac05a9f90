"""An origin that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from remote_proxy.caching.answers import SharedAnswers
from remote_proxy.caching.records import AnswerRecords
from remote_proxy.origin.client import ForwardedRequest, OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.store.memory import MemoryStore
from remote_proxy.store.store import Store
from wire.fields import Headers
from wire.origin_request import OriginRequest

URL = "https://a.example/x"
NOW = 1_800_000_000.0


@dataclass
class Said:
    """One answer."""

    status: int = 200
    headers: Headers = field(default_factory=list)
    body: bytes = b"body"
    head_after: float = 0.0
    """Seconds."""
    body_after: float = 0.0
    breaks: bool = False
    """After its body."""
    chunked: bool = False
    trailers: Headers = field(default_factory=list)


Answering = Callable[[ForwardedRequest], Said]


class ScriptedOrigin:
    def __init__(self, answer: Answering | Said) -> None:
        self.answer = answer
        self.asked: list[OriginRequest] = []
        self.down = False

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        self.asked.append(forwarded.request)
        if self.down:
            raise OriginError(Failure.RESET, "it is down")
        said = self.answer if isinstance(self.answer, Said) else self.answer(forwarded)
        await asyncio.sleep(said.head_after)
        bodiless = said.status in (204, 304) or forwarded.request.method == "HEAD"
        length = 0 if bodiless else None if said.chunked else len(said.body)

        async def body() -> AsyncIterator[bytes]:
            await asyncio.sleep(said.body_after)
            if not bodiless:
                forwarded.count(len(said.body))
                yield said.body
            if said.breaks:
                raise OriginError(Failure.RESET, "it broke off")

        headers = list(said.headers)
        return OriginResponse(
            said.status, "Said", headers, body(), length, lambda: None, lambda: said.trailers
        )


class World:
    """Devices behind one cache, with a wall clock of their own."""

    def __init__(self, answer: Answering | Said, store: Store | None = None) -> None:
        self.now = NOW
        self.origin = ScriptedOrigin(answer)
        self.store = store or MemoryStore(64 << 20)
        self.answers = self.remote()

    def remote(self) -> SharedAnswers:
        """One more remote proxy, with the same store."""
        records = AnswerRecords(self.store, allowed="")
        return SharedAnswers(self.origin, records, clock=lambda: self.now)

    async def get(
        self,
        *fields: tuple[str, str],
        url: str = URL,
        method: str = "GET",
        remote: SharedAnswers | None = None,
        device: str = "",
        count: Callable[[int], None] = lambda _: None,
    ) -> tuple[OriginResponse, bytes]:
        """All of an answer. What is kept of it is, when this returns."""
        request = OriginRequest(method, url, list(fields))
        forwarded = ForwardedRequest(request, device=device, count=count)
        response = await (remote or self.answers).fetch(forwarded)
        try:
            body = b"".join([chunk async for chunk in response.body])
        finally:
            response.close()
        for _ in range(20):
            await asyncio.sleep(0)
        return response, body

    @property
    def times(self) -> int:
        """How often the origin was asked."""
        return len(self.origin.asked)
