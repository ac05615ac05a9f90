"""Keeps the texts that each device was sent, for its next visits, and what it says it still has.

Devices share the memory; none has more than a part of it, and those that have been away for longest
lose theirs first. A device names what it has when it asks for a page; only that is coded against,
and only what the same origin sent for the same credentials. Must not know: how texts are coded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final
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


class DeviceTexts:
    """The texts of all devices."""

    def __init__(self, max_bytes: int = 0) -> None:
        """`max_bytes`: of all, packed; 0: none are kept."""
        self.max_bytes = max_bytes
        self._shelves: OrderedDict[str, TextShelf] = OrderedDict()

    @property
    def bytes(self) -> int:
        """All that is kept takes so many."""
        return sum(shelf.bytes for shelf in self._shelves.values())

    def of(self, device: str) -> TextShelf:
        """The device's; it is here now."""
        shelf = self._shelves.setdefault(device, TextShelf(max_bytes=self.max_bytes // SHARE))
        self._shelves.move_to_end(device)
        return shelf

    def keep(self, device: str, text: Dictionary) -> None:
        """One more of that device's."""
        self.of(device).keep(text)
        while self.bytes > self.max_bytes and len(self._shelves) > 1:
            self._shelves.popitem(last=False)


class SessionTexts:
    """Knows the texts of one session's device, and which of them it has named."""

    def __init__(
        self, texts: DeviceTexts, device: Callable[[], str], *, wanted: Callable[[], bool]
    ) -> None:
        """`wanted`: whether the device keeps texts itself."""
        self._texts = texts
        self._device = device
        self._wanted = wanted
        self._named: OrderedDict[int, frozenset[bytes]] = OrderedDict()

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
            self._named[document] = before | frozenset(sorted(said)[:MAX_NAMED])
        while len(self._named) > MAX_DOCUMENTS:
            self._named.popitem(last=False)

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
            self._texts.of(self._device()).forget(lambda one: one.owner.origin == owner.origin)
        kept = self._texts.max_bytes > 0 and self._wanted()
        return kept and may_keep(job.request, status, headers)

    def keep(self, text: Dictionary) -> None:
        """The device is sent it to the end."""
        self._texts.keep(self._device(), text)

    @staticmethod
    def whose(job: Job) -> tuple[str, TextOwner]:
        """By what a text is kept: its address and its owner."""
        return _url(job), _owner(job)


def _url(job: Job) -> str:
    return urldefrag(job.request.url).url


def _owner(job: Job) -> TextOwner:
    return owner_of(job.request.url, job.request.headers)
