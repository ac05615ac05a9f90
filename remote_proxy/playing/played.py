"""Knows of one session's sound and films at which rate each is played, once that has been read.

A browser asks for a film in ranges, whose later ones have no header, and for segments whose length
in seconds their playlist tells; so what was read is remembered by address, within bounds. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final

from remote_proxy.playing.containers import ENOUGH, rate_of
from remote_proxy.playing.manifests import Manifest, PlayedAddress
from remote_proxy.playing.playlists import Playlist
from transcoders.text import MANIFESTS, PLAYLISTS
from wire.fields import Headers, header
from wire.skeleton import Kind

REMEMBERED: Final = 4096
"""Addresses of films and segments."""
PATTERNS: Final = 128
"""Representations of manifests whose segments differ in their numbers."""
MARGIN: Final = 1.25
"""Times its mean rate that a film has: what moves takes more, and what is ahead of the picture
shown makes up for a link that stops."""
DELAY: Final = 2.0
"""Seconds that it may be behind for texts: players begin with so much in hand."""


class PlayedRates:
    """The rates of one session."""

    def __init__(self) -> None:
        self._rates: OrderedDict[bytes, float] = OrderedDict()
        self._seconds: OrderedDict[bytes, float] = OrderedDict()
        """Of segments. Both by digests: a playlist may have long addresses and many."""
        self._patterns: OrderedDict[str, tuple[re.Pattern[str], float]] = OrderedDict()
        """Of segments that manifests name by templates, by these."""

    def playlist(self, url: str, content_type: str) -> Playlist | Manifest | None:
        """Who is to read the response; None: it is neither playlist nor manifest."""
        if content_type in MANIFESTS:
            return Manifest(url)
        return Playlist(url) if content_type in PLAYLISTS else None

    def read(self, playlist: Playlist | Manifest) -> Iterator[None]:
        """All of it has passed. One step for each address: a stranger's list may be long."""
        if isinstance(playlist, Manifest):
            for found in playlist.addresses():
                self._read(found)
                yield
            return
        for address, seconds in playlist.segments():
            _put(self._seconds, address, seconds)
            yield

    def _read(self, found: PlayedAddress) -> None:
        """A manifest's rate has its margin in it."""
        rate = found.rate / MARGIN
        if not found.counts:
            _put(self._rates, found.address, rate)
            return
        self._patterns[found.address] = found.pattern(), rate
        self._patterns.move_to_end(found.address)
        if len(self._patterns) > PATTERNS:
            self._patterns.popitem(last=False)

    def listen(
        self, url: str, kind: Kind, headers: Headers, *, wanted: Callable[[float], None]
    ) -> PlayedFile | None:
        """Who is to see the response pass, and says once which rate, bytes/second, it is `wanted`
        at; None: it is not played, or that is known."""
        if kind is not Kind.MEDIA:
            return None
        total = total_of(headers)
        rate = self._rates.get(_name(url))
        seconds = self._seconds.get(_name(url))
        if rate is None and seconds and total:
            rate = total / seconds
        if rate is None:
            matching = (rate for one, rate in self._patterns.values() if one.fullmatch(url))
            rate = next(matching, None)
        if rate is None:
            return PlayedFile(total, lambda found: wanted(self._found(url, found)))
        wanted(MARGIN * rate)
        return None

    def _found(self, url: str, rate: float) -> float:
        _put(self._rates, url, rate)
        return MARGIN * rate


class PlayedFile:
    """One response, of which the beginning is looked at."""

    def __init__(self, total: int | None, found: Callable[[float], None]) -> None:
        self._total = total
        self._found = found
        self._head = bytearray()
        self._looked = 0

    def feed(self, piece: bytes) -> bool:
        """Bytes of it have passed; whether it is worth to show the next ones."""
        self._head += piece[: ENOUGH - len(self._head)]
        if len(self._head) < 2 * self._looked and len(self._head) < ENOUGH:
            return True  # the whole is read at most twice, however small the pieces are
        self._looked = len(self._head)
        rate = rate_of(bytes(self._head), total=self._total)
        if rate is not None:
            self._found(rate)
        return rate is None and len(self._head) < ENOUGH


def total_of(headers: Headers) -> int | None:
    """Bytes of the whole file, of which a range may be asked for (RFC 9110, 14.4)."""
    _, _, total = header(headers, "content-range").partition("/")
    if not total:
        total = header(headers, "content-length")
    return int(total) if total.isdecimal() and len(total) < 16 else None


def _name(url: str) -> bytes:
    return hashlib.blake2b(url.encode("utf-8", "replace"), digest_size=16).digest()


def _put(known: OrderedDict[bytes, float], url: str, value: float) -> None:
    name = _name(url)
    known[name] = value
    known.move_to_end(name)
    if len(known) > REMEMBERED:
        known.popitem(last=False)
