"""The rest of a response whose beginning the local proxy has from an earlier session.

The response is fetched anew; bytes that are there already are compared by their digest and not
sent. One that begins otherwise is another response: mixing the two would be worse than an error.
Source: RFC 9110, 13.1.5 (If-Range) and 14.2. Pure.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from remote_proxy.reach.failures import Failure, OriginError
from wire.continuation import Continuation
from wire.fields import Headers, header

_CONTENT_RANGE: Final = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


def conditional(headers: Headers, resume: Continuation | None) -> Headers:
    """Request headers that ask for the rest alone, where a validator allows it."""
    if resume is None or not resume.etag or not resume.received:
        return headers
    kept = [(n, v) for n, v in headers if n not in ("range", "if-range", "accept-encoding")]
    return [
        *kept,
        ("accept-encoding", "identity"),
        ("range", f"bytes={resume.received}-"),
        ("if-range", resume.etag),
    ]


def begins_there(status: int, headers: Headers, resume: Continuation) -> bool:
    """Whether the origin sends the rest alone."""
    matched = _CONTENT_RANGE.fullmatch(header(headers, "content-range"))
    return status == 206 and matched is not None and int(matched[1]) == resume.received


class Rest:
    """Passes on what follows the bytes that are there already."""

    def __init__(self, resume: Continuation | None) -> None:
        """None: nothing is there, all passes."""
        self.skip = resume.received if resume is not None else 0
        """Bytes still to be compared and dropped."""
        self._expected = resume.digest if resume is not None else b""
        self._digest = hashlib.sha256()

    @property
    def begun(self) -> bool:
        """Whether something of it is there that has not been compared."""
        return self.skip > 0

    def begins(self, data: bytes) -> bool:
        """Whether `data` begins with what is there, of which nothing was compared so far."""
        return hashlib.sha256(data[: self.skip]).digest() == self._expected

    def after(self, data: bytes) -> bytes:
        """What of `data` is to be sent. Raises OriginError if the response is another one."""
        if not self.skip:
            return data
        known = data[: self.skip]
        self._digest.update(known)
        self.skip -= len(known)
        if not self.skip and self._digest.digest() != self._expected:
            raise _changed()
        return data[len(known) :]

    def end(self) -> None:
        """The response is complete. Raises OriginError if it is shorter than what is there."""
        if self.skip:
            raise _changed()


def _changed() -> OriginError:
    text = "the response has changed since its first part was sent"
    return OriginError(Failure.PROTOCOL, text)
