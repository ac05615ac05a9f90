"""A script tag as the first thing in the head of an HTML byte stream, however it is cut. Pure.

Follows the tokenizer and the tree builder up to "in head" (HTML standard, 13.2.5 and 13.2.6.4.1 to
4.4) and leaves every other byte as it is. Must not know: documents, policies, what the script does.

The charset prescan reads the first 1,024 bytes of a page whose header names no charset: our tag
moves them by its own length, about 60 bytes.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from html import escape
from typing import Final

LIMIT: Final = 65536
"""Bytes of one comment or tag before the head; a page with a longer one is left alone."""
TOKENS: Final = 1000
"""Comments and tags before the head, at some 1.5 us each; a page with more is left alone."""

_SPACE: Final = re.compile(rb"[\t\n\f\r ]*")
_EMPTY_COMMENT: Final = re.compile(rb"<!---?>")
_COMMENT_END: Final = re.compile(rb"--!?>")
_CLOSE: Final = re.compile(rb">")
_NAME_END: Final = re.compile(rb"[\t\n\f\r />]")

_NAME: Final = rb"[^\t\n\f\r />][^\t\n\f\r />=]*+[\t\n\f\r ]*+"
_VALUE: Final = (
    rb"[\t\n\f\r ]*+(?:\"[^\"]*+\"|'[^']*+'|(?=[^\t\n\f\r >\"'])[^\t\n\f\r >]++(?=[\t\n\f\r >]))"
)
_WHOLE: Final = re.compile(rb"(?:[\t\n\f\r /]++|%b(?:(?=[^\t\n\f\r =])|=%b))*" % (_NAME, _VALUE))
"""Attributes that are complete, all at a step; what is cut is read state by state."""
_GREATER: Final = ord(">")
_EQUALS: Final = ord("=")
_UTF8_BOM: Final = b"\xef\xbb\xbf"


def script_tag(source: str, *, nonce: str | None = None) -> bytes:
    """The tag; `nonce` where the page's content security policy wants one."""
    extra = f' nonce="{escape(nonce)}"' if nonce else ""
    return f'<script src="{escape(source)}"{extra}></script>'.encode()


def injectable(content_type: str) -> bool:
    """Whether a body of this media type is HTML in an encoding that writes ASCII as ASCII."""
    essence, _, parameters = content_type.lower().partition(";")
    charset = parameters.partition("charset=")[2].strip(" \"'")
    return essence.strip() == "text/html" and not charset.startswith(
        ("utf-16", "utf-32", "utf-7", "ucs-2", "utf16", "unicode", "iso-10646")
    )


class Injector:
    """Passes a body on, with the tag in its place; a body that isn't HTML passes unchanged.

    The place is the same however the body is cut, and no byte is looked at more often than a few
    times, however small the pieces are.
    """

    def __init__(self, tag: bytes) -> None:
        self._tag = tag
        self._held = bytearray()
        """From the first byte of the token that is not complete."""
        self._searched = 0
        """Bytes of that token in which its end is not."""
        self._attributes: _Attributes | None = None
        """Of that token, once its name is known to be one that is passed over."""
        self._left = TOKENS
        self._began = False
        self._markup = False
        """Something before the head has shown that this is HTML."""
        self.decided = False
        """Nothing is held back any more."""
        self.injected = False

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the body; what may go on now."""
        if self.decided:
            return data
        held, at = self._held, 0
        held += data
        while not self.decided:
            if self._began and (space := _SPACE.match(held, at)):
                at = space.end()
            size = self._token(held, at)
            if size is None and len(held) - at <= LIMIT:
                passed = bytes(held[:at])
                del held[:at]
                return passed
            at += size or 0
            self._searched, self._attributes = 0, None
            self._left -= 1
            self.decided |= size is None or not self._left
        tag = self._tag if self.injected else b""
        passed = b"".join((held[:at], tag, held[at:]))
        self._held = bytearray()
        return passed

    def end(self) -> bytes:
        """What was held back, when the body is over."""
        self.decided = True
        rest, self._held = self._held, bytearray()
        return bytes(rest)

    def _token(self, data: bytearray, at: int) -> int | None:
        """Bytes to let pass before looking on, None until more have come; decides when the place
        is found or there is none."""
        if not self._began:
            return self._begin(bytes(data[at : at + 4]))
        head = bytes(data[at : at + 4])
        if head and head[:1] != b"<":
            return self._decide(inject=self._markup)
        if len(head) < 2:
            return None
        if head[1:2] in b"!?":
            return self._declaration(data, at, head)
        if head[1:2] == b"/":
            return self._end_tag(data, at, head)
        if head[1:2].isalpha():
            return self._start_tag(data, at)
        return self._decide(inject=self._markup)

    def _begin(self, head: bytes) -> int | None:
        if len(head) < 4:
            return None
        if b"\x00" in head or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self._decide(inject=False)
        self._began = True
        return 3 if head.startswith(_UTF8_BOM) else 0

    def _declaration(self, data: bytearray, at: int, head: bytes) -> int | None:
        if head != b"<!--" and b"<!--".startswith(head):
            return None
        self._markup = self._markup or head[1:2] == b"!"
        if head != b"<!--":
            return self._behind(_CLOSE, data, at, first=2)
        shortest = _EMPTY_COMMENT.match(data, at)
        return shortest.end() - at if shortest else self._behind(_COMMENT_END, data, at, first=4)

    def _end_tag(self, data: bytearray, at: int, head: bytes) -> int | None:
        if len(head) < 3:
            return None
        if head[2:3].isalpha():
            return self._decide(inject=True)
        return self._behind(_CLOSE, data, at, first=2)  # a bogus comment

    def _behind(
        self, pattern: re.Pattern[bytes], data: bytearray, at: int, *, first: int
    ) -> int | None:
        """Bytes of the token to the end of the pattern, which is 4 bytes long at most."""
        begin = at + max(first, self._searched - 3)
        found = pattern.search(data, begin, at + LIMIT + 1)
        self._searched = len(data) - at
        return found.end() - at if found else None

    def _start_tag(self, data: bytearray, at: int) -> int | None:
        stop = min(len(data), at + LIMIT + 1)
        if self._attributes is None:
            found = _NAME_END.search(data, at + max(1, self._searched), stop)
            self._searched = stop - at
            if found is None:
                return None
            name = bytes(data[at + 1 : found.start()]).lower()
            if name not in (b"html", b"head"):
                return self._decide(inject=True)
            self._attributes = _Attributes(found.start() - at)
        if not self._attributes.read(data, at, stop):
            return None
        self._markup = True
        head = bytes(data[at + 1 : at + 5]).lower() == b"head"
        size = self._attributes.size
        return self._decide(inject=True, size=size) if head else size

    def _decide(self, *, inject: bool, size: int = 0) -> int:
        self.decided, self.injected = True, inject
        return size


class _State(Enum):
    """Where in a start tag the reader is, behind the tag's name."""

    BETWEEN = auto()
    NAME = auto()
    BEHIND = auto()
    """Behind a name, whose value may still come."""
    BEFORE_VALUE = auto()
    DOUBLE = auto()
    SINGLE = auto()
    UNQUOTED = auto()


_ENDS: Final = {
    _State.BETWEEN: re.compile(rb"[^\t\n\f\r /]"),
    _State.NAME: re.compile(rb"[\t\n\f\r />=]"),
    _State.BEHIND: re.compile(rb"[^\t\n\f\r ]"),
    _State.BEFORE_VALUE: re.compile(rb"[^\t\n\f\r ]"),
    _State.DOUBLE: re.compile(rb'"'),
    _State.SINGLE: re.compile(rb"'"),
    _State.UNQUOTED: re.compile(rb"[\t\n\f\r >]"),
}
"""The byte that ends each state."""
_QUOTES: Final = {ord('"'): _State.DOUBLE, ord("'"): _State.SINGLE}


class _Attributes:
    """Finds where a start tag ends: quotes count in values only. Goes on where it stopped."""

    def __init__(self, size: int) -> None:
        """`size`: bytes of the tag to the end of its name."""
        self.size = size
        """Bytes of the tag that have been read."""
        self._state = _State.BETWEEN

    def read(self, data: bytearray, at: int, stop: int) -> bool:
        """Whether the tag that begins at `at` ends before `stop`."""
        place = at + self.size
        while place < stop:
            if self._state is _State.BETWEEN:
                whole = _WHOLE.match(data, place, stop)
                assert whole is not None
                place = whole.end()
            found = _ENDS[self._state].search(data, place, stop)
            if found is None:
                place = stop
                break
            place = found.start()
            if self._state is _State.BETWEEN and data[place] == _GREATER:
                self.size = place + 1 - at
                return True
            place += self._step(data[place])
        self.size = place - at
        return False

    def _step(self, byte: int) -> bool:
        """Enter the state that follows where this byte ends one; whether the byte is read."""
        match self._state:
            case _State.BETWEEN:
                self._state, read = _State.NAME, True  # a first "=" belongs to the name
            case _State.NAME | _State.BEHIND if byte == _EQUALS:
                self._state, read = _State.BEFORE_VALUE, True
            case _State.NAME:
                self._state, read = _State.BEHIND, False
            case _State.BEFORE_VALUE:
                read = byte in _QUOTES
                self._state = _QUOTES.get(byte, _State.UNQUOTED)
            case other:
                self._state, read = _State.BETWEEN, other in _QUOTES.values()
        return read
