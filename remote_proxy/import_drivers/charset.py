"""Bytes of a page or style sheet to text, in the charset that a browser would choose.

Order (WHATWG HTML, 13.2.3.2; CSS Syntax, 3.2): byte order mark, HTTP header, `<meta>` or
`@charset` within the first 1024 bytes, the referring document's, then UTF-8 if the first bytes
are, else windows-1252. A wrong guess spoils letters, never markup: every charset kept here has
ASCII where ASCII is (UTF-16 only by byte order mark or header).
"""

from __future__ import annotations

import codecs
import re
from typing import Final

import webencodings

PRESCAN: Final = 1024
"""Bytes that a browser waits for, and looks at, before it guesses."""

_META: Final = re.compile(
    rb"<meta[\s/][^>]{0,512}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:\-]+)", re.IGNORECASE
)
_COMMENT: Final = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_AT_CHARSET: Final = re.compile(rb'@charset "([^"]{1,40})";')
_PARAMETER: Final = re.compile(r";\s*charset\s*=\s*[\"']?([^\"';\s]+)", re.IGNORECASE)
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def from_content_type(content_type: str) -> str | None:
    """Python's name of the charset parameter, None if there is none that is known."""
    matched = _PARAMETER.search(content_type)
    return _lookup(matched[1]) if matched else None


class Decoder:
    """Incremental decoding of one text. Never raises; bad bytes become U+FFFD."""

    def __init__(self, *, declared: str | None = None, fallback: str | None = None) -> None:
        """`declared`: by the HTTP header. `fallback`: the referring document's, for CSS."""
        self._declared = declared
        self._fallback = fallback
        self._held = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self.encoding = declared or fallback or "utf-8"
        """Python's name of the charset; final once text has come out."""

    def feed(self, data: bytes) -> str:
        """The text so far decided; empty while the charset is still open."""
        if self._decoder is not None:
            return self._decoder.decode(data)
        self._held += data
        if not self._decide(final=False):
            return ""
        return self._start()

    def close(self) -> str:
        """Decodes what remains."""
        text = ""
        if self._decoder is None:
            self._decide(final=True)
            text = self._start()
        assert self._decoder is not None
        return text + self._decoder.decode(b"", True)

    def _start(self) -> str:
        self._decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        held, self._held = self._held, b""
        return self._decoder.decode(held)

    def _decide(self, *, final: bool) -> bool:
        held = self._held
        if len(held) < 3 and not final:
            return False
        for bom, name in _BOMS:
            if held.startswith(bom):
                self.encoding, self._held = name, held[len(bom) :]
                return True
        if self._declared:
            return True
        named = self._prescan(held[:PRESCAN])
        if named:
            self.encoding = named
            return True
        if len(held) < PRESCAN and not final:
            return False
        self.encoding = self._fallback or _guess(held)
        return True

    def _prescan(self, head: bytes) -> str | None:
        matched = _AT_CHARSET.match(head) or _META.search(_COMMENT.sub(b"", head))
        name = _lookup(matched[1].decode("ascii", "replace")) if matched else None
        # Bytes that could be searched for ASCII are not UTF-16, whatever they say.
        return "utf-8" if name and name.startswith("utf-16") else name


def _lookup(label: str) -> str | None:
    found = webencodings.lookup(label)
    if found is None:
        return None
    name = found.codec_info.name
    return "cp1252" if found.name == "x-user-defined" else name


def _guess(head: bytes) -> str:
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"
