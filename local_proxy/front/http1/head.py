"""Checks a request head before h11 may read it, and makes the core's request of it. Pure.

h11 reads generously: it joins folded lines, takes bare line feeds, lets Transfer-Encoding win over
Content-Length. A proxy must not, since whoever stands beside it may read the same bytes
otherwise (request smuggling: RFC 9112, 5.2, 6.1, 11.2). Must not know: sockets, the core.
"""

from __future__ import annotations

import re
from typing import Final

import h11

from local_proxy.http.model import Request
from local_proxy.http.request_rules import (
    _AUTHORITY,
    LENGTH,
    MAX_HEAD,
    RefusedRequest,
    absolute_url,
    disguised,
    end_to_end,
    takes_trailers,
)
from wire.abilities import Takes
from wire.messages import MAX_URL

MAX_METHOD: Final = 64
"""Bytes."""

_LINE: Final = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+) ([\x21-\x7e]+) HTTP/([0-9])\.([0-9])")
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BARE: Final = re.compile(rb"\r(?!\n)|(?<!\r)\n")
_BARE_LF: Final = re.compile(rb"(?<!\r)\n")
_METHODS: Final = frozenset(
    (b"CONNECT", b"DELETE", b"GET", b"HEAD", b"OPTIONS", b"POST", b"PUT", b"TRACE")
)
"""Methods with rules of their own (RFC 9110, 9.3). In lower case they are other methods (9.1), but
too many servers take them for these."""
_BODILESS: Final = (b"CONNECT", b"TRACE")
"""RFC 9110, 9.3.6 and 9.3.8."""


def head_end(buffer: bytearray, *, searched: int) -> int:
    """Where the head ends, -1 while it doesn't; `searched` bytes had no end in them.

    Raises Refused (414, 431) when it is too long already.
    """
    end = buffer.find(b"\r\n\r\n", max(0, searched - 3))
    if (end if end >= 0 else len(buffer)) > MAX_HEAD:
        line_end = buffer.find(b"\r\n")
        if line_end < 0 or line_end > MAX_URL + 64:  # 64: a method and a version, generously
            raise RefusedRequest(414, f"The address is longer than {MAX_URL} bytes.")
        raise RefusedRequest(431, f"The request's header is longer than {MAX_HEAD} bytes.")
    if end < 0 and _BARE_LF.search(buffer, max(0, searched - 1)):
        raise RefusedRequest(400, "The request's lines end in a bare line feed.")
    return end + 4 if end >= 0 else -1


def check_head(head: bytes) -> None:
    """Refuse whatever two parsers could read in two ways. Raises Refused."""
    if _BARE.search(head) or _CONTROL.search(head):
        raise RefusedRequest(400, "The request's header contains control characters.")
    line, *fields = head[:-4].split(b"\r\n")
    match = _LINE.fullmatch(line)
    if match is None:
        raise RefusedRequest(400, "The request line is malformed.")
    method, target, major, minor = match.groups()
    if len(target) > MAX_URL:
        raise RefusedRequest(414, f"The address is longer than {MAX_URL} bytes.")
    if major != b"1" or minor not in b"01":
        raise RefusedRequest(505, "This proxy speaks HTTP/1.0 and HTTP/1.1 here.")
    if len(method) > MAX_METHOD or (method not in _METHODS and method.upper() in _METHODS):
        raise RefusedRequest(501, "The request's method is unknown; methods are in upper case.")
    if _check_framing(fields, http10=minor == b"0") and method in _BODILESS:
        raise RefusedRequest(400, f"A {method.decode()} request has no body.")


def _check_framing(fields: list[bytes], *, http10: bool) -> bool:
    """Whether the request announces a body."""
    lengths, codings = [], []
    for field in fields:
        if field[:1] in (b" ", b"\t"):
            raise RefusedRequest(400, "The request's header has a folded line.")
        name, _, value = field.partition(b":")
        if disguised(name):
            raise RefusedRequest(
                400, f"The request's field {name.decode('latin-1')} could be taken for another."
            )
        if name.lower() == b"content-length":
            lengths.append(value.strip(b" \t"))
        elif name.lower() == b"transfer-encoding":
            codings.append(value)
        elif name.lower() == b"host":
            _check_host(value.strip(b" \t"))
        elif name.lower() == b"expect" and value.strip(b" \t").lower() != b"100-continue":
            raise RefusedRequest(417, "The request expects something else than 100-continue.")
    if len(lengths) > 1 or len(codings) > 1 or (lengths and codings):
        raise RefusedRequest(400, "The request gives its length more than once.")
    if lengths and not LENGTH.fullmatch(lengths[0]):
        raise RefusedRequest(400, "The request's Content-Length is not a plain number.")
    if codings and http10:
        raise RefusedRequest(400, "An HTTP/1.0 request has a Transfer-Encoding.")
    return bool(codings) or any(int(length) for length in lengths)


def _check_host(value: bytes) -> None:
    """One that is malformed is refused even where the target overrules it (RFC 9112, 3.2)."""
    if value and _AUTHORITY.fullmatch(value.decode("latin-1")) is None:
        raise RefusedRequest(400, "The request's Host is not one.")


def to_request(event: h11.Request, *, origin: str | None = None) -> Request:
    """The request for the core, without its body. Raises Refused.

    `origin`: what the connection is to, inside TLS; requests to any other are misdirected.
    """
    headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in event.headers]
    host = next((value for name, value in headers if name == "host"), "")
    target = event.target.decode("ascii")
    if origin is None:
        url = absolute_url(target, host)
    else:
        url = absolute_url(target, host or origin[8:], scheme="https")
        if not url.startswith(origin + "/"):  # RFC 9110, 15.5.20
            raise RefusedRequest(421, f"This connection is to {origin} and to no other.")
    authority = url.split("/", 3)[2]
    kept = [(n, v) for n, v in end_to_end(headers) if n not in ("host", "expect")]
    # The target names the host, whatever the field says (RFC 9112, 3.2.2).
    # Interim responses are for HTTP/2 alone: old clients take one for the answer (RFC 8297, 3).
    takes = (
        Takes.TRAILERS
        if event.http_version == b"1.1" and takes_trailers(headers)
        else Takes.NOTHING
    )
    return Request(event.method.decode("ascii"), url, [("host", authority), *kept], takes=takes)
