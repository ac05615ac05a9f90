"""The record of a request, one value from the front that read it to the client that fetches it.

Between the two proxies it travels as a Request message; it becomes one here and is read from one
here, by the names of its fields. So a new attribute goes into this record and into that message,
and everything between carries it. Pure.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import Self

from wire.abilities import Takes
from wire.applications import Application
from wire.continuation import Continuation, Kept
from wire.fields import Headers
from wire.messages import Request, Treatment


@dataclass(frozen=True, slots=True)
class OriginRequest:
    """A request without its body, and how its response may be brought."""

    method: str
    url: str
    """Absolute: scheme://host[:port]/path[?query], never a fragment; of a CONNECT, host:port."""
    headers: Headers
    """In order, names in lower case, without hop-by-hop fields."""
    _: KW_ONLY
    has_body: bool = False
    levels: bool = False
    """Whoever asks can show a picture coarse before it is fine."""
    tls: bool = False
    """Of a CONNECT: the remote proxy makes TLS with the server, the tunnel carries its inside."""
    treatment: Treatment = Treatment.ADAPTED
    """Of a document: it holds for all that is promised of it."""
    takes: Takes = Takes.NOTHING
    """What the client takes besides the response's head and body."""
    kept: Kept | None = None
    """Of a document: what its browser is believed to have of its parts."""
    application: Application = Application.BROWSER
    """Whose it is."""
    dictionaries: bytes = b""
    """Names of texts that are here, against which the answer may be coded."""

    @classmethod
    def of(cls, message: Request, headers: Headers) -> Self:
        """The request that a message carries; `headers`: its block, decoded."""
        names = (one.name for one in fields(cls) if one.name not in ("headers", "takes"))
        said = {name: getattr(message, name) for name in names}
        return cls(**said, headers=headers, takes=Takes(message.takes))

    def message(self, component: int, document: int, resume: Continuation | None = None) -> Request:
        """What crosses the link, but for the fields: the session codes those when it sends."""
        names = (one.name for one in fields(OriginRequest) if one.name != "headers")
        said = {name: getattr(self, name) for name in names}
        said |= {"takes": int(self.takes), "headers": b""}
        return Request(component=component, document=document, resume=resume, **said)

    @property
    def repeatable(self) -> bool:
        """Whether asking once more, perhaps another remote, can do no harm (RFC 9110, 9.2.1)."""
        safe = self.method in ("GET", "HEAD") and not self.has_body
        return safe and not self.takes & Takes.PREFLIGHT
