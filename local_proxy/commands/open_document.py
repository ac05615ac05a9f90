"""`sluice open`: a document by its address, with what has come of it so far, for a terminal."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from local_proxy.commands.document_client import (
    FollowedSource,
    FollowedWhole,
    OpenFailed,
    following,
)
from local_proxy.commands.status import NoAnswer
from local_proxy.documents.file_names import file_name, is_document
from office.source import Source


class OpenWith(Protocol):
    """Shows a document while it comes; returns when the person has closed it."""

    def __call__(
        self, coming: asyncio.Future[Source | None], *, like: str
    ) -> Coroutine[Any, Any, None]:
        """`coming`: the document, once it is known; None: it does not come in parts. `like`: the
        file name that its address has."""


async def run(
    host: str,
    port: int,
    url: str,
    *,
    into: Path | None,
    out: Callable[[str], None],
    open_with: OpenWith | None = None,
    state: Path | None = None,
) -> int:
    """Fetch it, say how far it is, show it by `open_with`, keep it at `into`; the exit code.

    `into` None: in the working directory, under its own name. `state`: the local proxy's folder.
    """
    began = time.monotonic()

    def say(text: str) -> None:
        out(f"{time.monotonic() - began:6.1f} s  {text}")

    try:
        async with (
            _shown(open_with, url) as showing,
            following(host, port, url, state=state) as document,
        ):
            progress = DocumentProgress(document, say)
            unwatch = document.watch(progress.look)
            progress.look()
            await showing(document)
            unwatch()
            if document.failure:
                raise OpenFailed(document.failure)
            if document.complete:
                out(f"kept as {keep(document.path, into or Path(document.name))}")
    except (NoAnswer, OpenFailed, OSError) as error:
        out(f"sluice: {error}")
        return 1
    return 0


@asynccontextmanager
async def _shown(
    open_with: OpenWith | None, url: str
) -> AsyncIterator[Callable[[FollowedSource | FollowedWhole], Awaitable[None]]]:
    """What shows a document starts while that is being asked for, where its address looks like one.

    Gives what waits until a person has closed it, or it is here where nothing shows it.
    """
    like = file_name(url, [], None)
    coming: asyncio.Future[Source | None] = asyncio.get_running_loop().create_future()
    task: asyncio.Task[None] | None = None
    if open_with is not None and is_document(like):
        task = asyncio.create_task(open_with(coming, like=like))

    async def shown(document: FollowedSource | FollowedWhole) -> None:
        nonlocal task
        source = document if isinstance(document, FollowedSource) else None
        coming.set_result(source)
        if task is None and open_with is not None and source is not None:
            task = asyncio.create_task(open_with(coming, like=source.name))
        await (task if task is not None and source is not None else document.ended())

    try:
        yield shown
    finally:
        if task is not None and not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class DocumentProgress:
    """What is worth a line, each once."""

    def __init__(
        self, document: FollowedSource | FollowedWhole, say: Callable[[str], None]
    ) -> None:
        self._document = document
        self._say = say
        self._said: set[str] = set()
        self._pictures = -1

    def look(self) -> None:
        """After anything has changed."""
        document = self._document
        if isinstance(document, FollowedSource):
            self._parts(document)
        elif document.length is not None:
            self._once(f"{document.name}: comes whole, {document.length} bytes")
        if document.complete:
            self._once(f"complete, SHA-256 {document.sha256}")

    def _parts(self, source: FollowedSource) -> None:
        pages = source.outline.pages
        self._once(f"{source.name}: {source.length} bytes, {len(pages)} pages")
        ready = [all(map(source.present, page.entries)) for page in pages]
        if ready[0]:
            self._once("text of page 1")
        if all(ready):
            self._once("text of all pages")
        media = source.outline.media
        fine = sum(source.present(one.entry) for one in media)
        coarse = sum(
            source.present(one.entry) or source.low(one.entry) is not None for one in media
        )
        if media and coarse == len(media):
            self._once(f"all {len(media)} pictures coarse")
        if media and fine > self._pictures >= 0:
            self._say(f"pictures {fine}/{len(media)}")
        self._pictures = fine

    def _once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)


def keep(path: Path, into: Path) -> Path:
    """Copy it, and never over another file."""
    target = into
    number = 1
    while True:
        try:
            # Made, not opened: a link that somebody has put there in advance is not followed.
            with target.open("xb") as copy, path.open("rb") as original:
                shutil.copyfileobj(original, copy)
        except FileExistsError:
            target = into.with_stem(f"{into.stem} ({number})")
            number += 1
        else:
            return target
