"""HTTP/2 field sections as requests, and responses as field sections. Pure.

h2 is told not to check fields, since it would end the connection for what concerns one stream
(RFC 9113, 8.1.1). What is let in here is safe to be written in HTTP/1.1 by whoever comes after.
Must not know: streams, sockets, the core.
"""

from __future__ import annotations

import re
from typing import Final

from local_proxy.front.http2.priority import parse_priority
from local_proxy.http.error_page import error_page
from local_proxy.http.model import ClientUrgency, Request, Response
from local_proxy.http.request_rules import (
    LENGTH,
    MAX_HEAD,
    RefusedRequest,
    absolute_url,
    disguised,
    end_to_end,
    split_authority,
    takes_trailers,
)
from local_proxy.http.responses import bodyless, keeps_length
from wire.abilities import Takes
from wire.fields import Headers
from wire.messages import MAX_URL

EncodedFields = list[tuple[bytes, bytes]]

FIELD_OVERHEAD: Final = 4
"""Bytes that a field takes in HTTP/1.1 beside name and value, so that limits are the same."""
_NAME: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9a-z]+")
_VALUE: Final = re.compile(rb"(?![ \t])[^\x00-\x08\x0a-\x1f\x7f]*(?<![ \t])")
_TARGET: Final = re.compile(rb"[\x21-\x7e]+")
_METHOD: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_REQUEST: Final = frozenset((b":method", b":scheme", b":authority", b":path"))
_CONNECT: Final = frozenset((b":method", b":authority"))
_FORBIDDEN: Final = frozenset(
    (b"connection", b"proxy-connection", b"keep-alive", b"transfer-encoding", b"upgrade")
)
"""Connection-specific fields (RFC 9113, 8.2.2); te is checked apart."""
_CONSUMED: Final = frozenset(("host", "expect", "priority", "cookie"))
"""EncodedFields that are handed on in another form, or that were said to us alone."""


class Malformed(Exception):
    """The stream is reset (PROTOCOL_ERROR), the connection goes on."""


def to_request(fields: EncodedFields, *, origin: str | None = None) -> Request:
    """The request for the core, without its body. Raises Malformed or Refused.

    `origin`: the only one that this connection was made for (https://host[:port]); None: any.
    """
    pseudo, regular = _split(fields)
    if pseudo.keys() - {b":authority"} != _REQUEST - {b":authority"} or not pseudo[b":path"]:
        raise Malformed("pseudo-fields are missing")
    target = pseudo[b":path"]
    _check_size(fields, target)
    authority = _authority(pseudo, regular)
    if not target.startswith(b"/"):
        raise RefusedRequest(400, "The request's address is neither a path nor an http URL.")
    scheme = pseudo[b":scheme"].decode("latin-1").lower()
    if scheme not in ("http", "https"):
        raise RefusedRequest(400, "The request's scheme is neither http nor https.")
    url = absolute_url(f"{scheme}://{authority}{target.decode('ascii')}", authority)
    if origin is not None and "/".join(url.split("/", 3)[:3]) != origin:
        raise RefusedRequest(421, "This connection was made for another host.")
    headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in regular]
    kept = [(name, value) for name, value in end_to_end(headers) if name not in _CONSUMED]
    if cookies := [value for name, value in headers if name == "cookie"]:
        kept.append(("cookie", "; ".join(cookies)))  # HTTP/2 may cut it (RFC 9113, 8.2.3)
    priority = parse_priority(", ".join(value for name, value in headers if name == "priority"))
    return Request(
        pseudo[b":method"].decode("ascii"),
        url,
        [("host", url.split("/", 3)[2]), *kept],
        multiplexed=True,
        urgency=ClientUrgency(priority.urgency),
        takes=Takes.HINTS | (Takes.TRAILERS if takes_trailers(headers) else Takes.NOTHING),
    )


def connect_target(fields: EncodedFields) -> tuple[str, int] | None:
    """Host and port of a CONNECT; None: it is another method. Raises Malformed or Refused."""
    if (b":method", b"CONNECT") not in fields:
        return None
    pseudo, _ = _split(fields)
    if pseudo.keys() != _CONNECT:  # RFC 9113, 8.5; extended CONNECT: websocket.py
        raise Malformed("a CONNECT names its authority and nothing else")
    _check_size(fields, b"")
    return split_authority(pseudo[b":authority"].decode("latin-1"))


def content_length(fields: EncodedFields) -> int | None:
    """Bytes of the body, if the client says so. Raises Malformed."""
    lengths = {value for name, value in fields if name == b"content-length"}
    if not lengths:
        return None
    if len(lengths) > 1 or not LENGTH.fullmatch(next(iter(lengths))):
        raise Malformed("content-length is not a plain number")
    return int(next(iter(lengths)))


def user_agent(fields: EncodedFields) -> str:
    """Who asks, in its own words."""
    return b", ".join(value for name, value in fields if name == b"user-agent").decode("latin-1")


def expects_continue(fields: EncodedFields) -> bool:
    """Whether the client waits for word before it sends the body (RFC 9110, 10.1.1)."""
    return any(name == b"expect" and value.lower() == b"100-continue" for name, value in fields)


def check_trailers(fields: EncodedFields) -> None:
    """Checks a request's trailers, which are dropped (RFC 9110, 6.5.1). Raises Malformed."""
    pseudo, _ = _split(fields)
    if pseudo:
        raise Malformed("a pseudo-field among the trailers")


def response_fields(response: Response, method: str) -> EncodedFields:
    """The head as it is written. Raises ValueError if the server's fields can't be."""
    headers: Headers = []
    for name, value in end_to_end(response.headers):
        if name == "content-length" and not keeps_length(response, method):
            continue
        headers.append((name, value.strip(" \t")))
    length = len(response.body) if isinstance(response.body, bytes) else response.length
    if length is not None and not bodyless(response, method):
        headers.append(("content-length", str(length)))
    return [(b":status", b"%d" % response.status), *_encoded(headers)]


def head_fields(status: int, headers: Headers) -> EncodedFields:
    """A head that says nothing of a body. Raises ValueError if the server's fields can't be
    written."""
    return [(b":status", b"%d" % status), *_encoded(end_to_end(headers))]


def trailer_fields(headers: Headers) -> EncodedFields:
    """A response's trailers as they are written. Raises ValueError if they can't be."""
    return _encoded(end_to_end(headers))


def _encoded(headers: Headers) -> EncodedFields:
    fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    for field, content in fields:
        if not _NAME.fullmatch(field) or not _VALUE.fullmatch(content):
            raise ValueError(f"field {field!r}")
    return fields


def unwritable() -> Response:
    """What stands for a response whose fields can't be written."""
    return error_page(502, "The server's answer has a malformed header.")


def _split(fields: EncodedFields) -> tuple[dict[bytes, bytes], EncodedFields]:
    """Pseudo-fields and the others, each well-formed (RFC 9113, 8.2, 8.3)."""
    pseudo: dict[bytes, bytes] = {}
    regular: EncodedFields = []
    for name, value in fields:
        if not _VALUE.fullmatch(value):
            raise Malformed("a field's value has forbidden characters")
        if name.startswith(b":"):
            if regular or name in pseudo or name not in _REQUEST:
                raise Malformed("a pseudo-field is unknown, repeated or out of place")
            pseudo[name] = value
            continue
        if not _NAME.fullmatch(name):
            raise Malformed("a field's name has forbidden characters")
        if name in _FORBIDDEN or (name == b"te" and value.lower() != b"trailers"):
            raise Malformed("a connection-specific field")
        if disguised(name):
            raise Malformed("a field that could be taken for a connection-specific one")
        regular.append((name, value))
    if not _METHOD.fullmatch(pseudo.get(b":method", b"GET")):
        raise Malformed("the method is not a token")
    if not _TARGET.fullmatch(pseudo.get(b":path", b"/")):
        raise Malformed("the path is empty or has forbidden characters")
    return pseudo, regular


def _check_size(fields: EncodedFields, target: bytes) -> None:
    if len(target) > MAX_URL:
        raise RefusedRequest(414, f"The address is longer than {MAX_URL} bytes.")
    if sum(len(name) + len(value) + FIELD_OVERHEAD for name, value in fields) > MAX_HEAD:
        raise RefusedRequest(431, f"The request's header is longer than {MAX_HEAD} bytes.")


def _authority(pseudo: dict[bytes, bytes], regular: EncodedFields) -> str:
    """RFC 9113, 8.3.1: host may stand for :authority, and must not contradict it."""
    hosts = {value.lower() for name, value in regular if name == b"host"}
    authority = pseudo.get(b":authority")
    if authority is None:
        if len(hosts) != 1:
            raise Malformed("the request names no host, or several")
        authority = next(iter(hosts))
    elif hosts and hosts != {authority.lower()}:
        raise Malformed("host contradicts :authority")
    if b"@" in authority:
        raise Malformed("user names in :authority")
    return authority.decode("latin-1")
