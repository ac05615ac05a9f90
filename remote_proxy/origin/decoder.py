"""Content codings undone while a body streams: for text that an import driver or a coder reads.

Nothing else is decoded: what is not understood passes as it came. Bounded against bombs in what a
step may put out, in all, and in proportion. Sources: RFC 9110, 8.4; RFC 1950-1952; RFC 7932;
RFC 8878 and RFC 9659 (window of zstd on the web).
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final, Protocol

import brotli
import zstandard

from remote_proxy.reach.failures import Failure, OriginError
from wire.fields import Headers

MAX_DECODED: Final = 256 << 20
"""Bytes of one decoded body."""
MAX_RATIO: Final = 1_000
"""Decoded to coded bytes, once FREE_DECODED is passed: what a page of blanks may reach."""
FREE_DECODED: Final = 8 << 20
"""Bytes that may come out before the ratio counts."""
ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"
"""What to ask for when the response is to be decoded here."""

_STEP: Final = 64 << 10
"""Bytes put out at a time."""
_ZSTD_SLICE: Final = 256
"""Bytes put in at a time: a block of 4 bytes may stand for 128 KB, and zstandard has no bound."""
_ZSTD_WINDOW: Final = 8 << 20
_MAX_CODINGS: Final = 3


class _Decoder(Protocol):
    def feed(self, data: bytes) -> Iterator[bytes]: ...


def codings(headers: Headers) -> list[str]:
    """The content codings in the order in which they were applied."""
    named = [
        coding.strip().lower()
        for name, value in headers
        if name == "content-encoding"
        for coding in value.split(",")
    ]
    return [coding for coding in named if coding not in ("", "identity")]


def decode(
    headers: Headers, body: AsyncIterator[bytes], *, max_bytes: int = MAX_DECODED,
    max_ratio: float = MAX_RATIO,
) -> tuple[Headers, AsyncIterator[bytes]]:  # fmt: skip
    """Headers and body without the coding; both untouched if it is none, or one not known.

    The body raises OriginError (PROTOCOL) when the coding is broken or a bomb. Where a message ends
    as it said and its coding does not, there is what could be decoded: browsers show that, too.
    """
    applied = codings(headers)
    if not applied or len(applied) > _MAX_CODINGS or any(one not in _DECODERS for one in applied):
        return headers, body
    dropped = ("content-encoding", "content-length")
    kept = [(name, value) for name, value in headers if name not in dropped]
    for coding in reversed(applied):
        body = _decoded(body, coding, max_bytes, max_ratio)
    return kept, body


async def _decoded(
    body: AsyncIterator[bytes], coding: str, max_bytes: int, max_ratio: float
) -> AsyncIterator[bytes]:
    decoder = _DECODERS[coding]()
    coded = decoded = 0
    try:
        async for chunk in body:
            coded += len(chunk)
            for piece in decoder.feed(chunk):
                decoded += len(piece)
                if decoded > max_bytes or decoded > max(FREE_DECODED, coded * max_ratio):
                    raise OriginError(Failure.PROTOCOL, "the response unpacks to far too much")
                yield piece
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise OriginError(Failure.PROTOCOL, f"the response is not valid {coding}") from error


class _Zlib:
    """gzip (any number of members) and deflate (with and without zlib's header)."""

    def __init__(self, *, gzip: bool) -> None:
        self._gzip = gzip
        self._held = b""
        self._object: zlib._Decompress | None = None
        self._members = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        data, self._held = self._held + data, b""
        while data:
            if self._object is None:
                if len(data) < 2:
                    self._held = data
                    return
                if self._members and (not self._gzip or data[:2] != b"\x1f\x8b"):
                    return  # Padding after the last member: browsers pass over it too.
                self._object = zlib.decompressobj(self._window(data))
            piece = self._object.decompress(data, _STEP)
            if piece:
                yield piece
            if self._object.eof:
                data, self._object = self._object.unused_data, None
                self._members += 1
            else:
                data = self._object.unconsumed_tail
                if not data and len(piece) == _STEP:
                    yield from self._rest(self._object)

    @staticmethod
    def _rest(decompressor: zlib._Decompress) -> Iterator[bytes]:
        """What is inside still though all input is taken."""
        while piece := decompressor.decompress(b"", _STEP):
            yield piece

    def _window(self, data: bytes) -> int:
        if self._gzip:
            return 16 + zlib.MAX_WBITS
        header = data[0] & 0x0F == 8 and (data[0] << 8 | data[1]) % 31 == 0
        return zlib.MAX_WBITS if header else -zlib.MAX_WBITS


class _Brotli:
    def __init__(self) -> None:
        self._object = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        while True:
            piece = self._object.process(data, output_buffer_limit=_STEP)
            data = b""
            if not piece:
                return
            yield piece
            if self._object.is_finished():
                return


class _Zstd:
    """Any number of frames."""

    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._object = self._context.decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _ZSTD_SLICE):
            rest = data[at : at + _ZSTD_SLICE]
            while rest:
                if self._object.eof:
                    self._object = self._context.decompressobj()
                piece = self._object.decompress(rest)
                rest = self._object.unused_data if self._object.eof else b""
                if piece:
                    yield piece


_DECODERS: Final[Mapping[str, Callable[[], _Decoder]]] = {
    "gzip": lambda: _Zlib(gzip=True),
    "x-gzip": lambda: _Zlib(gzip=True),
    "deflate": lambda: _Zlib(gzip=False),
    "br": _Brotli,
    "zstd": _Zstd,
}
