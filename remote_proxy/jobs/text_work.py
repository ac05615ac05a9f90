"""One text on its way through the coder: by itself, or against a text that its device has.

Decides which, and gathers the text for the device's next visit. Dense coding leaves the event loop
free. What comes up coded is undone here, too. Must not know: the origin, where the coded bytes go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Final

from coding.delta import DeltaEncoder
from coding.dictionary import Dictionary, TextGathering
from remote_proxy.jobs.device_texts import SessionTexts
from remote_proxy.jobs.job import Job
from remote_proxy.origin.client import OriginResponse
from remote_proxy.reach.failures import Failure, OriginError
from transcoders.text import DENSE, FAST, TextDecoder, TextEncoder, TextError
from transcoders.work.workers import Workers
from wire.abilities import MAX_CODED, Takes
from wire.fields import Headers, header

SAMPLE: Final = 32768
"""Bytes of a text by which it is found out whether another page's text makes it shorter: what is
new in it takes fewer bytes by itself."""
ALIKE: Final = frozenset(("text/html", "text/css", "text/javascript", "application/javascript"))
"""Media types of which one text may be like another's address; in streams of events, say, whoever
waits for the head must not wait for the first bytes."""
WORTH: Final = 0.9
"""Share of its bytes by itself that it must take no more than."""


class TextWork:
    """Codes one text as it comes."""

    def __init__(
        self,
        job: Job,
        media: str,
        *,
        texts: SessionTexts,
        coding: Workers,
        quality: int,
        whose: str,
    ) -> None:
        """`quality`: brotli's, which says how densely it is coded in any case. `whose`: the device,
        in the coders' line."""
        self._job = job
        self._media = media
        self._texts = texts
        self._coding = coding
        self._quality = quality
        self._whose = whose
        self._encoder: TextEncoder | DeltaEncoder = TextEncoder(quality=quality)
        self._gathering: TextGathering | None = None
        self.dictionary: Dictionary | None = None
        """What it is coded against."""

    @property
    def name(self) -> str:
        """The coding, as the head says it."""
        return "br" if self.dictionary is None else "zstd"

    async def begin(
        self, response: OriginResponse, headers: Headers, body: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """Choose how it is coded; the body, of which a first part may have been looked at."""
        if self._texts.keeps(self._job, response.status, headers):
            self._gathering = TextGathering()
        found = []
        if response.status == 200:
            await self._texts.gathered(self._job.document)
            found = self._texts.nearest(self._job, self._media)
        near = [(one, text) for one in found if (text := one.text()) is not None]
        if not near:
            return body
        if near[0][0].url == self._job.request.url:
            self._against(*near[0])
            return body
        if self._media not in ALIKE:
            return body
        first = await anext(body, b"")
        best = _best(first[:SAMPLE], [text for _, text in near])
        if best is not None:
            self._against(*near[best])
        return _again(first, body)

    def _against(self, dictionary: Dictionary, text: bytes) -> None:
        self.dictionary = dictionary
        self._encoder = DeltaEncoder(text, quality=self._quality)

    def pass_by(self, piece: bytes) -> None:
        """These bytes of it go to the device, or went there before."""
        if self._gathering is not None:
            self._gathering.add(piece)

    async def encode(self, piece: bytes) -> bytes:
        """Coded bytes, enough to decode all of the piece."""
        if self._quality >= DENSE:
            return await self._coding.run(partial(self._encoder.encode, piece), whose=self._whose)
        await asyncio.sleep(0)  # a parser may have been slow; others get their turn
        return self._encoder.encode(piece)

    def finish(self) -> bytes:
        """The end of the coded text, which is kept."""
        if self._gathering is not None:
            url, owner = self._texts.whose(self._job)
            text = self._gathering.finish(owner, url, media=self._media, page="")
            if text is not None:
                self._texts.keep(text)
        return self._encoder.finish()


def _best(sample: bytes, dictionaries: Sequence[bytes]) -> int | None:
    """Against which a text that begins so is shortest; None: it is as short by itself."""
    alone = len(TextEncoder(quality=FAST).encode(sample))
    sizes = [len(DeltaEncoder(one, quality=FAST).encode(sample)) for one in dictionaries]
    least = min(sizes)
    return sizes.index(least) if least < WORTH * alone else None


async def _again(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


def carried(job: Job) -> AsyncIterator[bytes] | None:
    """What the link carries of a request's body, as its client has it; None: it has none. Raises
    OriginError."""
    if job.upload is None:
        return None
    if not job.request.takes & Takes.CODED:
        return job.upload.read()
    length = header(job.request.headers, "content-length")
    if not length.isdecimal() or int(length) > MAX_CODED:
        raise OriginError(Failure.PROTOCOL, "a coded upload says no length that may be")
    return decoded(job.upload.read(), int(length))


async def decoded(body: AsyncIterator[bytes], length: int) -> AsyncIterator[bytes]:
    """The client's own bytes, so many, of a body that has crossed the link coded (Takes.CODED), in
    pieces of some 64 KB, however many a few bytes stand for. Raises OriginError."""
    decoder = TextDecoder(max_bytes=length)
    try:
        async for chunk in body:
            for piece in decoder.steps(chunk):
                yield piece
    except TextError as error:
        raise OriginError(Failure.PROTOCOL, f"the upload is damaged: {error}") from error
    if not decoder.finished:
        raise OriginError(Failure.PROTOCOL, "the upload ended before its text did")
