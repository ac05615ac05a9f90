"""The denser form of some bytes: a picture in them by what takes fewer, and how to make them again.

Rows of PNGs, and what was deflated by zlib, are condensed as LZMA2. A JPEG's scans are for jpegtran
(coder.py); here they are a file with something in front and behind.

Pure. Must not know processes, components.
"""

from __future__ import annotations

import hashlib
import lzma
from enum import IntEnum
from typing import Final

import msgspec

from malformed import MALFORMED
from transcoders.exact.rows import SIGNATURE, Rows, split
from transcoders.exact.zlib_settings import MAX_PLAIN, ZlibSettings, inflated, settings_of
from transcoders.picture import Unfit

JPEG: Final = b"\xff\xd8\xff"
MAX_BYTES: Final = 8 << 20
"""Of what may have such a form."""
_FILTERS: Final = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 22, "pb": 0}]
"""4 MB of a device's memory. Rows of pixels have no words of four bytes."""
_HEADER_SIZE: Final = 4
_DIGEST: Final = 8


class BodyKind(IntEnum):
    """What is in the form's body."""

    PLAIN = 0
    ROWS = 1
    SCANS = 2
    """A JPEG, coded otherwise."""


class Header(msgspec.Struct, frozen=True, array_like=True):
    """How the bytes are made again."""

    kind: BodyKind
    before: bytes
    after: bytes
    digest: bytes
    """The beginning of the SHA-256 of them all: zlib and jpegtran may write otherwise elsewhere."""
    outer: ZlibSettings | None = None
    """How what is between them was deflated; None: it was not."""
    rows: Rows | None = None
    how: int = 0
    """Of SCANS: how jpegtran is called."""


class Form(msgspec.Struct, frozen=True):
    """Header and body; a body of SCANS is for jpegtran."""

    header: Header
    body: bytes

    def encoded(self) -> bytes:
        """The bytes that cross the link."""
        head = _encoder.encode(self.header)
        return len(head).to_bytes(_HEADER_SIZE, "big") + head + self.body

    @classmethod
    def decoded(cls, data: bytes) -> Form:
        """Raises Unfit for what is none."""
        size = int.from_bytes(data[:_HEADER_SIZE], "big")
        try:
            header = _decoder.decode(data[_HEADER_SIZE : _HEADER_SIZE + size])
        except MALFORMED as error:
            raise Unfit(str(error)) from error
        return cls(header, data[_HEADER_SIZE + size :])

    def content(self) -> bytes:
        """What the picture's file is; of SCANS it is for jpegtran to say. Raises Unfit."""
        if self.header.kind is BodyKind.PLAIN:
            return _expanded(self.body)
        if self.header.rows is None:
            raise Unfit("rows of no picture")
        return self.header.rows.png(_expanded(self.body))

    def around(self, content: bytes) -> bytes:
        """The bytes again, with their picture in them. Raises Unfit: they are others."""
        header = self.header
        inner = header.outer.deflated(content) if header.outer is not None else content
        made = header.before + inner + header.after
        if _digest(made) != header.digest:
            raise Unfit("other bytes than those it was made of")
        return made


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Header)


def opened(data: bytes, *, start: int, length: int, deflated: bool) -> tuple[Header, bytes]:
    """What is in `length` bytes from `start` on, and what makes the bytes of it again.

    Raises Unfit: they could not be made again, or there is nothing to gain.
    """
    inner = data[start : start + length]
    if len(data) > MAX_BYTES or len(inner) < length:
        raise Unfit("too much, or too little")
    content, outer = inner, None
    if deflated:
        content = inflated(inner, window=-15)
        outer = settings_of(content, inner, header=False)
    kind = BodyKind.SCANS if content.startswith(JPEG) else BodyKind.PLAIN
    return Header(kind, data[:start], data[start + length :], _digest(data), outer), content


def packed(header: Header, content: bytes) -> Form:
    """The form of anything but a JPEG. Raises Unfit."""
    if content.startswith(SIGNATURE):
        rows, pixels = split(content)
        header = msgspec.structs.replace(header, kind=BodyKind.ROWS, rows=rows)
        return Form(header, _condensed(pixels))
    if header.outer is None:
        raise Unfit("nothing is known of what is in it")
    return Form(header, _condensed(content))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_DIGEST]


def _condensed(data: bytes) -> bytes:
    return lzma.compress(data, format=lzma.FORMAT_RAW, filters=_FILTERS)


def _expanded(data: bytes) -> bytes:
    expander = lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=_FILTERS)
    try:
        found = expander.decompress(data, MAX_PLAIN)
    except lzma.LZMAError as error:
        raise Unfit(str(error)) from error
    if not expander.eof or expander.unused_data:
        raise Unfit("more than anything may be, or something behind it")
    return found
