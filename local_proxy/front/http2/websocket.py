"""A WebSocket on an HTTP/2 stream: an extended CONNECT as the request that HTTP/1.1 would make.

The key and its answer, which HTTP/2 does without, are ours to make and to check, since servers are
asked in HTTP/1.1 (RFC 8441, 5; RFC 6455, 4). Must not know: streams, sockets, the core.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Final

from local_proxy.front.http1.upgrade import PROTOCOL, Switched
from local_proxy.front.http2.head import EncodedFields, Malformed, to_request
from local_proxy.http.error_page import error_page
from local_proxy.http.model import Request, Response
from local_proxy.http.request_rules import RefusedRequest
from wire.fields import Headers, header

_NAME: Final = b":protocol"
_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, 1.3."""
_OURS: Final = ("sec-websocket-key", "sec-websocket-accept")


def asks(fields: EncodedFields) -> bool:
    """Whether this is an extended CONNECT, of whatever protocol (RFC 8441, 4)."""
    return (b":method", b"CONNECT") in fields and any(name == _NAME for name, _ in fields)


def leaves_fields_out(program: str) -> bool:
    """Whether it asks for a WebSocket on HTTP/2 without its cookies and without saying from where.

    Firefox 153 does, which servers refuse or take for a stranger. Where it may not, it
    makes a connection of HTTP/1.1, with all fields. `program`: its User-Agent.
    """
    return "Gecko/" in program


def to_websocket(fields: EncodedFields, *, origin: str | None, key: bytes) -> Request:
    """The request for the switch. Raises Malformed or Refused. `key`: 16 random bytes."""
    protocols = [value for name, value in fields if name == _NAME]
    if len(protocols) != 1 or not any(name == b":authority" for name, _ in fields):
        raise Malformed("an extended CONNECT names one protocol, and where")
    as_get = [
        (name, b"GET" if name == b":method" else value) for name, value in fields if name != _NAME
    ]
    request = to_request(as_get, origin=origin)
    if protocols[0] != PROTOCOL.encode():
        raise RefusedRequest(501, "Of other protocols than HTTP only WebSocket is spoken here.")
    kept = [(n, v) for n, v in request.headers if n not in _OURS]
    ours = ("sec-websocket-key", base64.b64encode(key).decode())
    return replace(request, headers=[*kept, ours])


def agreed(answer: Switched, *, key: bytes) -> Headers | None:
    """Fields of the 200 that stands for the server's 101; None: it has not answered our key."""
    said = base64.b64encode(key).decode() + _GUID
    due = base64.b64encode(hashlib.sha1(said.encode(), usedforsecurity=False).digest()).decode()
    if header(answer.headers, "sec-websocket-accept").strip() != due:
        return None
    return [(n, v) for n, v in answer.headers if n not in (*_OURS, "content-length")]


def no_socket(answer: Response) -> Response:
    """What says that there is none: the server's answer, but any 2xx would say the contrary."""
    if 200 <= answer.status < 300:
        return error_page(502, "The server did not switch to WebSocket.")
    return answer
