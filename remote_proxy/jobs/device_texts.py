"""Keeps the texts that each device was sent, for its next visits, and what it says it still has.

Devices share the memory; none has more than a part of it, and those that have been away for longest
lose theirs first. A device names what it has when it asks for a page; only that is coded against,
and only what the same origin sent for the same credentials. What another remote sent it is asked
for there. Must not know: how texts are coded, where other remotes keep them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from typing import Final, Protocol
from urllib.parse import urldefrag

from coding.dictionary import NAME, Dictionary, clears, may_keep
from coding.owner import TextOwner, owner_of
from coding.text_shelf import MAX_OFFERED, TextShelf
from remote_proxy.jobs.job import Job
from wire.fields import Headers

SHARE: Final = 4
"""One device keeps at most the whole by this."""
MAX_NAMED: Final = 4 * MAX_OFFERED
"""Names remembered of one document; more are not heard."""
MAX_DOCUMENTS: Final = 512
"""Documents of which names are remembered; the oldest are forgotten."""


PATIENCE: Final = 0.5
"""Seconds that a text whose head is here waits for what other remotes have."""
MAX_SOUGHT: Final = 1024
"""Names of which one session remembers that it has looked for them."""


class TextsElsewhere(Protocol):
    """What other remotes were told, of devices that are known by their certificates' digests."""

    def keep(self, device: str, text: Dictionary) -> None: ...

    def forget(self, device: str, names: Iterable[bytes]) -> None: ...

    async def find(self, device: str, names: Collection[bytes]) -> list[Dictionary]: ...

    async def close(self) -> None: ...


class DeviceTexts:
    """The texts of all devices."""

    def __init__(self, max_bytes: int = 0, *, elsewhere: TextsElsewhere | None = None) -> None:
        """`max_bytes`: of all, packed; 0: none are kept. `elsewhere`: what the other remotes
        have; None: there are none."""
        self.max_bytes = max_bytes
        self.elsewhere = elsewhere
        self._shelves: OrderedDict[str, TextShelf] = OrderedDict()
        self._seeking: set[asyncio.Task[None]] = set()

    @property
    def used(self) -> int:
        """Bytes that all that is kept takes."""
        return sum(shelf.bytes for shelf in self._shelves.values())

    def of(self, device: str) -> TextShelf:
        """The device's; it is here now."""
        shelf = self._shelves.setdefault(device, TextShelf(max_bytes=self.max_bytes // SHARE))
        self._shelves.move_to_end(device)
        return shelf

    def keep(self, device: str, text: Dictionary) -> None:
        """One more of that device's."""
        self.of(device).keep(text)
        while self.used > self.max_bytes and len(self._shelves) > 1:
            self._shelves.popitem(last=False)

    def seek(self, device: str, proven: str, names: Collection[bytes]) -> asyncio.Task[None]:
        """Bring those of its texts here that are elsewhere. `proven`: its certificate's digest."""
        task = asyncio.create_task(self._bring(device, proven, names))
        self._seeking.add(task)
        task.add_done_callback(self._seeking.discard)
        return task

    async def _bring(self, device: str, proven: str, names: Collection[bytes]) -> None:
        assert self.elsewhere is not None
        for text in await self.elsewhere.find(proven, names):
            self.keep(device, text)

    async def close(self) -> None:
        """End what is under way."""
        for task in list(self._seeking):
            task.cancel()
        await asyncio.gather(*self._seeking, return_exceptions=True)
        if self.elsewhere is not None:
            await self.elsewhere.close()


class SessionTexts:
    """Knows the texts of one session's device, and which of them it has named."""

    def __init__(
        self,
        texts: DeviceTexts,
        device: Callable[[], str],
        *,
        wanted: Callable[[], bool],
        proven: str = "",
    ) -> None:
        """`wanted`: whether the device keeps texts itself. `proven`: its certificate's digest; "":
        it has shown none, and other remotes are not told of it."""
        self._texts = texts
        self._device = device
        self._wanted = wanted
        self._proven = proven
        self._named: OrderedDict[int, frozenset[bytes]] = OrderedDict()
        self._sought = frozenset[bytes]()
        self._coming: dict[int, asyncio.Task[None]] = {}
        """Those looks elsewhere for documents that have not ended."""

    @property
    def names_held(self) -> int:
        """How many names are remembered."""
        return sum(map(len, self._named.values()))

    def named(self, document: int, names: bytes) -> None:
        """The device has these, and its document may use them."""
        if not names:
            return
        said = {names[at : at + NAME] for at in range(0, len(names), NAME)}
        before = self._named.get(document, frozenset())
        if len(before) < MAX_NAMED:
            heard = frozenset(sorted(said)[:MAX_NAMED])
            self._named[document] = before | heard
            self._seek(document, heard)
        while len(self._named) > MAX_DOCUMENTS:
            self._named.popitem(last=False)

    def _seek(self, document: int, names: frozenset[bytes]) -> None:
        if self._texts.elsewhere is None or not self._proven:
            return
        device = self._device()
        lacking = names - self._sought - {text.name for text in self._texts.of(device)}
        if not lacking:
            return
        known = self._sought if len(self._sought) < MAX_SOUGHT else frozenset[bytes]()
        self._sought = known | lacking
        task = self._texts.seek(device, self._proven, sorted(lacking))
        self._coming[document] = task
        task.add_done_callback(lambda _: self._ended(document, task))

    def _ended(self, document: int, task: asyncio.Task[None]) -> None:
        if self._coming.get(document) is task:
            del self._coming[document]

    async def gathered(self, document: int) -> None:
        """Wait until what it named is here, if other remotes have it, for a moment at most."""
        task = self._coming.get(document)
        if task is not None:
            await asyncio.wait([task], timeout=PATIENCE)

    def close_document(self, document: int) -> None:
        """Nothing more of it will be asked for."""
        self._named.pop(document, None)

    def nearest(self, job: Job, media: str) -> list[Dictionary]:
        """Find what the answer to a request may best be coded against, the likest first."""
        names = self._named.get(job.document)
        if not names or job.request.method != "GET" or job.resume is not None:
            return []
        shelf = self._texts.of(self._device())
        return shelf.nearest(_url(job), media, _owner(job), names=names)

    def keeps(self, job: Job, status: int, headers: Headers) -> bool:
        """Whether the text of an answer is to be kept. One that clears what came before does."""
        owner = _owner(job)
        if clears(headers):
            self._forget(owner.origin)
        kept = self._texts.max_bytes > 0 and self._wanted()
        return kept and may_keep(job.request, status, headers)

    def keep(self, text: Dictionary) -> None:
        """The device is sent it to the end."""
        self._texts.keep(self._device(), text)
        if self._texts.elsewhere is not None and self._proven:
            self._texts.elsewhere.keep(self._proven, text)

    def _forget(self, origin: str) -> None:
        shelf = self._texts.of(self._device())
        names = [one.name for one in shelf if one.owner.origin == origin]
        shelf.forget(lambda one: one.owner.origin == origin)
        if self._texts.elsewhere is not None and self._proven:
            self._texts.elsewhere.forget(self._proven, names)

    @staticmethod
    def whose(job: Job) -> tuple[str, TextOwner]:
        """By what a text is kept: its address and its owner."""
        return _url(job), _owner(job)


def _url(job: Job) -> str:
    return urldefrag(job.request.url).url


def _owner(job: Job) -> TextOwner:
    return owner_of(job.request.url, job.request.headers)
