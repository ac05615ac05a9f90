"""Checks a chunked request body before h11 may read it. Pure (RFC 9112, 7.1).

h11 takes trailers that end in bare line feeds, control characters in chunk extensions, and sizes
that no machine holds. Whoever stands beside this proxy may read such bytes otherwise, so they are
refused, as in head.py. Must not know: sockets, h11, what the body says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from local_proxy.http.request_rules import RefusedRequest
from web.chunked import ChunkedLines, LineTooLong

MAX_ASIDE: Final = 16384
"""Bytes of all extensions and trailers of one body: nobody has a use for more."""

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,20})(;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_TRAILER: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n")
_NEVER_TRAILERS: Final = (b"content-length", b"host", b"transfer-encoding")
"""Framing and routing (RFC 9110, 6.5.1). All other trailers are read and left behind."""


class ChunkCheck:
    """Sees the bytes of one body as they come, and whatever stands behind it."""

    def __init__(self, *, limit: int) -> None:
        """`limit`: bytes of the body, without framing."""
        self._lines = ChunkedLines(self._line)
        self._room = limit
        self._aside = MAX_ASIDE
        self._read: Callable[[bytes], None] = self._size

    @property
    def finished(self) -> bool:
        """The body's end has come; later bytes belong to the next request."""
        return self._lines.over

    def feed(self, data: bytes) -> None:
        """The next bytes. Raises Refused (400, 413) at the first that has no one meaning."""
        try:
            self._lines.feed(data)
        except LineTooLong as error:
            raise RefusedRequest(
                400, "The request's body has a chunk with too long a head."
            ) from error

    def _line(self, line: bytes) -> None:
        self._read(line)  # whatever is expected now

    def _size(self, line: bytes) -> None:
        match = _SIZE.fullmatch(line)
        if match is None:
            raise RefusedRequest(400, "The request's body has a malformed chunk size.")
        self._count_aside(len(match[2] or b""))
        size = self._lines.left = int(match[1], 16)
        self._room -= size
        if self._room < 0:
            raise RefusedRequest(413, "The request's body is larger than this proxy allows.")
        self._read = self._end_of_chunk if size else self._trailer

    def _end_of_chunk(self, line: bytes) -> None:
        if line != b"\r\n":
            raise RefusedRequest(
                400, "The request's body has a chunk that does not end with its size."
            )
        self._read = self._size

    def _trailer(self, line: bytes) -> None:
        if line == b"\r\n":
            self._lines.over = True
        elif _TRAILER.fullmatch(line) is None or line.split(b":")[0].lower() in _NEVER_TRAILERS:
            raise RefusedRequest(400, "The request's body has a malformed trailer.")
        self._count_aside(len(line))

    def _count_aside(self, size: int) -> None:
        self._aside -= size
        if self._aside < 0:
            raise RefusedRequest(400, "The request's body says too much beside its bytes.")
