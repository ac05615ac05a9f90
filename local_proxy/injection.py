"""A script tag as the first thing in the head of an HTML byte stream, however it is cut. Pure.

Follows the tokenizer and the tree builder up to "in head" (HTML standard, 13.2.5 and 13.2.6.4.1 to
4.4) and leaves every other byte as it is. Must not know: documents, policies, what the script does.

The charset prescan reads the first 1,024 bytes of a page whose header names no charset: our tag
moves them by its own length, about 60 bytes.
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

LIMIT: Final = 65536
"""Bytes of one comment or tag before the head; a page with a longer one is left alone."""

_SPACE: Final = re.compile(rb"[\t\n\f\r ]*")
_COMMENT: Final = re.compile(rb"<!--(?:-?>|.*?(?:-->|--!>))", re.DOTALL)
_NAME: Final = re.compile(rb"<([A-Za-z][^\t\n\f\r />]*)(?=[\t\n\f\r />])")
_BETWEEN: Final = re.compile(rb"[\t\n\f\r /]+")
_ATTRIBUTE: Final = re.compile(rb"=?[^\t\n\f\r />=]*(?:[\t\n\f\r ]*=[\t\n\f\r ]*)?")
_UNQUOTED: Final = re.compile(rb"[^\t\n\f\r >]*")
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


class _Unfinished(Exception):
    """The token at the end of the bytes is not complete."""


class Injector:
    """Passes a body on, with the tag in its place; a body that isn't HTML passes unchanged."""

    def __init__(self, tag: bytes) -> None:
        self._tag = tag
        self._held = b""
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
        self._held += data
        passed = b""
        try:
            while not self.decided:
                size = self._token(self._held)
                passed, self._held = passed + self._held[:size], self._held[size:]
        except _Unfinished:
            if len(self._held) <= LIMIT:
                return passed
            self.decided = True
        if self.injected:
            passed += self._tag
        rest, self._held = self._held, b""
        return passed + rest

    def end(self) -> bytes:
        """What was held back, when the body is over."""
        self.decided = True
        rest, self._held = self._held, b""
        return rest

    def _token(self, data: bytes) -> int:
        """Bytes to let pass before looking on; decides when the place is found or there is none."""
        if not self._began:
            return self._begin(data)
        space = _SPACE.match(data)
        assert space is not None
        if space.end():
            return space.end()
        if len(data) < 2:
            if data and data != b"<":
                return self._decide(inject=self._markup)
            raise _Unfinished
        if data[:1] != b"<":
            return self._decide(inject=self._markup)
        if data[1:2] in b"!?":
            return self._declaration(data)
        if data[1:2] == b"/":
            return self._end_tag(data)
        return self._start_tag(data) if data[1:2].isalpha() else self._decide(inject=self._markup)

    def _begin(self, data: bytes) -> int:
        if _UTF8_BOM.startswith(data[:3]) and len(data) < 3:
            raise _Unfinished
        if b"\x00" in data[:4] or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return self._decide(inject=False)
        if len(data) < 4 and not data.isascii():
            raise _Unfinished
        self._began = True
        return 3 if data.startswith(_UTF8_BOM) else 0

    def _declaration(self, data: bytes) -> int:
        if data.startswith(b"<!--"):
            comment = _COMMENT.match(data)
            end = comment.end() if comment else 0
        elif b"<!--".startswith(data):
            raise _Unfinished
        else:
            end = data.find(b">") + 1
        if not end:
            raise _Unfinished
        self._markup = self._markup or data[1:2] == b"!"
        return end

    def _end_tag(self, data: bytes) -> int:
        if len(data) < 3:
            raise _Unfinished
        if data[2:3].isalpha():
            return self._decide(inject=True)
        end = data.find(b">") + 1  # a bogus comment
        if not end:
            raise _Unfinished
        return end

    def _start_tag(self, data: bytes) -> int:
        name = _NAME.match(data)
        if name is None:
            raise _Unfinished
        if name[1].lower() not in (b"html", b"head"):
            return self._decide(inject=True)
        end = _tag_end(data, name.end())
        self._markup = True
        return self._decide(inject=True, size=end) if name[1].lower() == b"head" else end

    def _decide(self, *, inject: bool, size: int = 0) -> int:
        self.decided, self.injected = True, inject
        return size


def _tag_end(data: bytes, at: int) -> int:
    """Where a start tag ends whose name ends at `at`: quotes count in values only."""
    while at < len(data):
        if data[at : at + 1] == b">":
            return at + 1
        between = _BETWEEN.match(data, at)
        if between:
            at = between.end()
            continue
        attribute = _ATTRIBUTE.match(data, at)
        assert attribute is not None
        at = attribute.end()
        if b"=" not in attribute[0][1:]:
            continue
        if (quote := data[at : at + 1]) in (b'"', b"'"):
            at = data.find(quote, at + 1) + 1
            if not at:
                break
        else:
            unquoted = _UNQUOTED.match(data, at)
            assert unquoted is not None
            at = unquoted.end()
    raise _Unfinished
