"""Keeps answers as a store has them: under an address their heads, each with the name of its body.

One body that several addresses have is kept once. What can't be read counts as nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from malformed import MALFORMED
from remote_proxy.store.store import Store, StoreStatistics, name
from web.caching.freshness import AnswerHead
from web.caching.sharing import chosen_by, varying
from wire.fields import Fields

VARIANTS: Final = 8
"""Answers of one address, which their requests chose; the oldest go."""
UNCHANGED: Final = 7 * 86_400.0
"""Seconds for which what is stale is kept, for its origin may find it unchanged."""
MOST: Final = 90 * 86_400.0
"""Seconds for which anything is."""
UNSHARED: Final = 60.0
"""Seconds for which it is remembered that what an address answers can't be shared, so that nobody
waits for another's answer."""


class _Record(msgspec.Struct, array_like=True, frozen=True):
    """One answer's head."""

    status: int
    reason: str
    headers: list[tuple[str, str]]
    chosen: list[tuple[str, str]]
    asked: float
    answered: float
    body: bytes
    size: int


_READER: Final = msgspec.msgpack.Decoder(list[_Record])
_WRITER: Final = msgspec.msgpack.Encoder()


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer that is kept. Its body is in the store, if it has not been lost."""

    kept: AnswerHead
    reason: str
    body: bytes
    """Names it."""
    size: int


@dataclass(frozen=True, slots=True)
class Looked:
    """All that is known of one address."""

    answers: tuple[KeptAnswer, ...]
    """Of these that the request's fields choose, the latest first."""
    unshared: bool
    """What it answered lately could not be shared."""


class AnswerRecords:
    """The answers of a store, for whoever has the same `allowed` addresses."""

    def __init__(self, store: Store, *, allowed: str) -> None:
        """`allowed`: what may be reached, in words: who may reach less gets nothing of more."""
        self._store = store
        self._allowed = allowed

    def statistics(self) -> StoreStatistics:
        """What became of questions to the store."""
        return self._store.statistics()

    async def find(self, url: str, asked: Fields) -> Looked:
        """What is kept of that address, for a request that says so."""
        records = await self._records(url)
        if records is None:
            return Looked((), unshared=False)
        chosen = [
            one
            for one in records
            if chosen_by(asked, tuple(field for field, _ in one.chosen)) == tuple(one.chosen)
        ]
        chosen.sort(key=lambda one: one.answered, reverse=True)
        return Looked(tuple(_answer(one) for one in chosen), unshared=not records)

    async def body(self, answer: KeptAnswer) -> bytes | None:
        """All of it; None: it has been lost."""
        if not answer.size:
            return b""
        found = await self._store.get(answer.body)
        return found if found is not None and len(found) == answer.size else None

    async def keep(
        self, url: str, asked: Fields, kept: AnswerHead, reason: str, body: bytes, *, now: float
    ) -> None:
        """An answer to that request, beside others of its address. `now`: by the wall clock."""
        digest = name("body", body)
        if body:
            await self._store.put(digest, body, seconds=_seconds(kept, now))
        await self._put(url, asked, KeptAnswer(kept, reason, digest, len(body)), now)

    async def renew(self, url: str, asked: Fields, answer: KeptAnswer, *, now: float) -> None:
        """Its origin has found it unchanged. The body is kept for longer, too."""
        if answer.size and (body := await self._store.get(answer.body)) is not None:
            await self._store.put(answer.body, body, seconds=_seconds(answer.kept, now))
        await self._put(url, asked, answer, now)

    async def unshared(self, url: str) -> None:
        """What it answers can't be shared, for now."""
        key = self._key(url)
        if await self._store.get(key) is None:
            await self._store.put(key, _WRITER.encode([]), seconds=UNSHARED)

    async def forget(self, url: str) -> None:
        """Something has changed there."""
        await self._store.forget(self._key(url))

    async def lead(self, url: str, *, seconds: float) -> bool:
        """Whether to ask its origin; else another remote does just now."""
        return await self._store.claim(self._key(url), seconds=seconds)

    async def led(self, url: str) -> bool:
        """Whether another is at it still."""
        return await self._store.claimed(self._key(url))

    async def done(self, url: str) -> None:
        """Whoever waited for the answer may look now."""
        await self._store.release(self._key(url))

    async def _put(self, url: str, asked: Fields, answer: KeptAnswer, now: float) -> None:
        kept = answer.kept
        chosen = chosen_by(asked, varying(kept.headers))
        record = _Record(
            kept.status,
            answer.reason,
            list(kept.headers),
            list(chosen),
            kept.asked,
            kept.answered,
            answer.body,
            answer.size,
        )
        others = [one for one in await self._records(url) or () if one.chosen != record.chosen]
        others.sort(key=lambda one: one.answered)
        value = _WRITER.encode([*others[-(VARIANTS - 1) :], record])
        longest = max(_seconds(_kept(one), now) for one in (*others, record))
        await self._store.put(self._key(url), value, seconds=longest)

    async def _records(self, url: str) -> list[_Record] | None:
        value = await self._store.get(self._key(url))
        if value is None:
            return None
        try:
            return _READER.decode(value)
        except MALFORMED:
            return None

    def _key(self, url: str) -> bytes:
        return name("answers 1", self._allowed, url.partition("#")[0])


def _seconds(kept: AnswerHead, now: float) -> float:
    late = max(kept.stale_for("stale-if-error"), kept.stale_for("stale-while-revalidate"))
    more = UNCHANGED if kept.validators else min(late, UNCHANGED)
    return min(max(0.0, kept.fresh(now)) + more, MOST)


def _kept(record: _Record) -> AnswerHead:
    return AnswerHead(record.status, record.headers, record.asked, record.answered)


def _answer(record: _Record) -> KeptAnswer:
    return KeptAnswer(_kept(record), record.reason, record.body, record.size)
