"""An answer's trailers: read beside aiohttp, which drops them, and sifted. Pure.

Follows the chunks' framing without judging it, which is aiohttp's part: at the first byte that is
not as it should be it gives up, and there are no trailers. Sources: RFC 9112, 7.1; RFC 9110, 6.5.1.
"""

from __future__ import annotations

import re
from typing import Final

from web.chunked import ChunkedLines, LineTooLong
from wire.fields import Headers

MAX_BYTES: Final = 16384
"""Of all trailers together: nobody has a use for more."""
_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_FIELD: Final = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\x20-\x7e\x80-\xff\t]*)\r\n")
_NEVER: Final = frozenset(
    (
        # framing and routing; of one connection alone
        *("connection", "content-length", "host", "keep-alive", "te", "trailer", "upgrade"),
        *("proxy-connection", "transfer-encoding", "http2-settings", "alt-svc", "via"),
        # who somebody is
        *("authorization", "cookie", "set-cookie", "www-authenticate", "authentication-info"),
        *("proxy-authenticate", "proxy-authorization", "proxy-authentication-info"),
        # what becomes of the answer, and what its bytes are
        *("age", "cache-control", "clear-site-data", "content-encoding", "content-location"),
        *("content-disposition", "content-range", "content-type", "date", "expires", "location"),
        *("max-forwards", "pragma", "range", "refresh", "retry-after", "vary", "warning"),
        # what a page may do
        *("content-security-policy", "content-security-policy-report-only", "link", "nel"),
        *("permissions-policy", "referrer-policy", "report-to", "reporting-endpoints"),
        *("strict-transport-security", "x-content-type-options", "x-frame-options"),
    )
)
"""Fields that mean nothing behind a body, or should not (RFC 9110, 6.5.1)."""
_NEVER_BEGIN: Final = ("access-control-", "cross-origin-", "if-", "sec-", "accept")


def may_trail(name: str) -> bool:
    """Whether a field of this name, in lower case, may be passed on behind a body."""
    return name not in _NEVER and not name.startswith(_NEVER_BEGIN)


class TrailerReader:
    """Sees the bytes of one chunked body as they come."""

    def __init__(self) -> None:
        self.fields: Headers = []
        """Those that may be passed on, in lower case; empty until the body has ended."""
        self._lines = ChunkedLines(self._read)
        self._found: Headers = []
        self._trailing = False
        self._room = MAX_BYTES

    @property
    def over(self) -> bool:
        """Nothing more is read: the body has ended, or is not as it should be."""
        return self._lines.over

    def feed(self, data: bytes) -> None:
        """The next bytes, framing included."""
        try:
            self._lines.feed(data)
        except LineTooLong:
            self._lines.over = True

    def _read(self, line: bytes) -> None:
        self._lines.over = not (self._field(line) if self._trailing else self._size(line))

    def _size(self, line: bytes) -> bool:
        match = _SIZE.fullmatch(line)
        if match is None:
            return False
        size = int(match[1], 16)
        self._trailing = not size
        self._lines.left = size + 2 if size else 0  # CR LF behind the chunk
        return True

    def _field(self, line: bytes) -> bool:
        """Whether more may follow."""
        if line == b"\r\n":
            self.fields = self._found
            return False
        match = _FIELD.fullmatch(line)
        self._room -= len(line)
        if match is None or self._room < 0:
            return False
        name = match[1].decode("ascii").lower()
        if may_trail(name):
            self._found.append((name, match[2].strip(b" \t").decode("latin-1")))
        return True
