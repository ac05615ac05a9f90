"""Sends requests' bodies up the link at the pace of its credit, texts among them coded.

The way up is the slower one of most links, and scripts say a lot: questions of some kilobytes of
JSON, reports of tens. A text is coded as those that come down are (transcoders/text.py), each
chunk so that the remote proxy has all of it; the origin gets the client's own bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from local_proxy.link.session import LocalSession
from transcoders.formats.sniff import essence
from transcoders.text import FAST, TextEncoder, compressible, quality_for
from transport.sending.outgoing import Outgoing
from wire.abilities import MAX_CODED
from wire.fields import Headers, header

LEAST: Final = 200
"""Bytes of a body that is coded: of less nothing is saved. The loop codes 30 MB a second."""
SMALL: Final = 16 << 10
"""Bytes that are coded densely on a slow link in 7 ms, and of a form with files in it: of a larger
one most is files."""
_FORM: Final = "application/x-www-form-urlencoded"
_FORM_WITH_FILES: Final = "multipart/form-data"


def is_worth_coding(headers: Headers) -> bool:
    """Whether the body of a request with these fields is a text that nobody has coded yet."""
    if header(headers, "content-encoding", "identity").strip().lower() != "identity":
        return False
    length, kind = _length(headers), header(headers, "content-type")
    if not LEAST <= length <= MAX_CODED:
        return False
    if essence(kind) == _FORM_WITH_FILES:
        return length <= SMALL
    return compressible(kind) or essence(kind) == _FORM


class RequestBodies:
    """Holds the tasks that send them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._tasks)

    def send(
        self,
        body: AsyncIterator[bytes],
        session: LocalSession,
        component: int,
        *,
        headers: Headers,
        coded: bool,
    ) -> None:
        """Begin to send the body of a request with these fields. `coded`: the remote knows."""
        coder = TextEncoder(quality=_quality(headers, session.rate_up)) if coded else None
        up = session.upload(component)
        task = asyncio.ensure_future(_upload(body, up, session, coder))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _upload(
    body: AsyncIterator[bytes], up: Outgoing, session: LocalSession, coder: TextEncoder | None
) -> None:
    """One that breaks off is cut, so that the origin does not take it for whole; its client is
    answered by the front, which knows what was wrong with it."""
    try:
        async for chunk in body:
            up.write(chunk if coder is None else coder.encode(chunk))
            await up.room()
            if up.closed:  # nobody wants the rest, of which there may be no end
                return
    except Exception as error:
        session.cut_upload(up.component, str(error))
    else:
        if coder is not None:
            up.write(coder.finish())
        up.finish()


def _quality(headers: Headers, rate: float | None) -> int:
    return quality_for(rate) if _length(headers) <= SMALL else FAST


def _length(headers: Headers) -> int:
    """Bytes that the fields announce; 0: they announce none."""
    length = header(headers, "content-length")
    return int(length) if length.isdecimal() else 0
