"""Rules that fronts of every HTTP version have for requests: sizes, addresses, fields of one hop.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from wire.fields import Headers, of_connection

MAX_HEAD: Final = 65536
"""Bytes of request line and fields together; answered 431 above."""
LENGTH: Final = re.compile(rb"0{1,18}|[1-9][0-9]{0,17}")
"""A Content-Length that nobody can read in two ways: 010 is 8 to who takes it for octal."""
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~-]+)(?::([0-9]{0,5}))?")
_ABSOLUTE: Final = re.compile(r"(https?|wss?)://([^/?#]*)([^#]*)", re.IGNORECASE)
_PLAIN: Final = {"ws": "http", "wss": "https"}
"""What a WebSocket's scheme means before the switch (RFC 6455, 3); some clients write it."""
_DEFAULT_PORT: Final = {"http": 80, "https": 443}
HOP_BY_HOP: Final = frozenset(
    {
        *("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding"),
        *("upgrade", "http2-settings", "proxy-authenticate", "proxy-authorization"),
    }
)
"""Fields between two neighbours only (RFC 9110, 7.6.1 and 11.7)."""
_SPELLINGS: Final = bytes(
    byte if chr(byte).isalnum() and byte < 0x80 else ord("-") for byte in range(256)
)
_DISGUISED: Final = frozenset(
    name.encode() for name in (*HOP_BY_HOP, "content-length") if "-" in name
)
_NEVER_NAMED: Final = frozenset(("host", "content-length", "content-type", "cache-control"))
"""Fields that `Connection` may not name away (RFC 9110, 7.6.1)."""


class RefusedRequest(Exception):
    """The client's fault: `status` is what it is answered, then the connection closes."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def disguised(name: bytes) -> bool:
    """Whether some servers take this for a field of framing or of one connection: CGI and its kin
    make an underscore of whatever is neither letter nor digit (RFC 3875, 4.1.18)."""
    name = name.lower()
    plain = name.translate(_SPELLINGS)
    return plain != name and plain in _DISGUISED


def takes_trailers(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the client reads fields behind a body (RFC 9110, 10.1.4)."""
    said = ",".join(value for name, value in headers if name == "te").lower().split(",")
    return "trailers" in (word.strip() for word in said)


def end_to_end(headers: Iterable[tuple[str, str]]) -> Headers:
    """The fields that go further than the next hop (RFC 9110, 7.6.1)."""
    fields = [(name.lower(), value) for name, value in headers]
    dropped = HOP_BY_HOP | (of_connection(fields) - _NEVER_NAMED)
    return [
        (name, value)
        for name, value in fields
        if name not in dropped and not disguised(name.encode("latin-1", "replace"))
    ]


def absolute_url(target: str, host: str, *, scheme: str = "http") -> str:
    """Absolute or origin form as an absolute URL, host in lower case, without default port."""
    if target.startswith("/"):
        authority, rest = host, target.split("#", 1)[0]
    elif match := _ABSOLUTE.match(target):
        scheme, authority, rest = match[1].lower(), match[2], match[3]
        scheme = _PLAIN.get(scheme, scheme)
    else:
        raise RefusedRequest(400, "The request's address is neither a path nor an http URL.")
    name, port = split_authority(authority, default_port=_DEFAULT_PORT[scheme])
    shown = name if port == _DEFAULT_PORT[scheme] else f"{name}:{port}"
    return f"{scheme}://{shown}{rest if rest.startswith('/') else '/' + rest}"


def split_authority(authority: str, *, default_port: int | None = None) -> tuple[str, int]:
    """Host (lower case, IPv6 in brackets) and port. Raises Refused; user names are refused too."""
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise RefusedRequest(400, "The request names no valid host.")
    port = int(match[2]) if match[2] else default_port
    if port is None or not 0 < port < 65536:
        raise RefusedRequest(400, "The request names no valid port.")
    return match[1].lower(), port
