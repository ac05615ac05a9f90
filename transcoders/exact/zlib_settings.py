"""How a deflate stream was made, so that it can be made again: zlib's few settings.

Most writers use zlib with a level and little else (RFC 1951 leaves it to them). What another
compressor wrote has no settings. Which zlib is on the device is not known here: `sample` tells two
that write alike.

Pure. Must not know what is in a stream.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from transcoders.picture import Unfit

MAX_PLAIN: Final = 32 << 20
"""Bytes that a stream may be of."""
_PROBE: Final = 1 << 16
"""Bytes given to a compressor at a time, until it has written something to compare: its blocks are
of 16,384 symbols, which may stand for 50 KB or for megabytes."""
_TOLD: Final = 16
"""Bytes written that tell."""
_LEVELS: Final = ((1,), (2, 3, 4, 5), (6,), (9, 7, 8))
"""By what zlib's header says of the level (RFC 1950, FLEVEL)."""
_MEMORIES: Final = (8, 9)
_STRATEGIES: Final = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED)


class ZlibSettings(msgspec.Struct, frozen=True, array_like=True):
    """What zlib was called with."""

    level: int
    window: int
    """As zlib has it: negative without a header."""
    memory: int
    strategy: int

    def deflated(self, plain: bytes) -> bytes:
        """The stream. Raises Unfit for what zlib does not take."""
        try:
            compressor = self._compressor()
        except ValueError as error:
            raise Unfit(str(error)) from error
        return compressor.compress(plain) + compressor.flush()

    def begins(self, plain: bytes, stream: bytes) -> bool:
        """Whether the stream may have been made so; costs a part of making it."""
        compressor, made = self._compressor(), b""
        for at in range(0, len(plain), _PROBE):
            made += compressor.compress(plain[at : at + _PROBE])
            if len(made) >= _TOLD:
                return stream.startswith(made)
        return stream == made + compressor.flush()

    def _compressor(self) -> zlib._Compress:
        return zlib.compressobj(self.level, zlib.DEFLATED, self.window, self.memory, self.strategy)


def inflated(stream: bytes, *, window: int) -> bytes:
    """What it is of. Raises Unfit for a stream that is damaged, too long, or followed by more."""
    inflater = zlib.decompressobj(window)
    try:
        plain = inflater.decompress(stream, MAX_PLAIN)
    except zlib.error as error:
        raise Unfit(str(error)) from error
    if not inflater.eof or inflater.unused_data:
        raise Unfit("a stream that does not end where it should")
    return plain


def likely(stream: bytes) -> bool:
    """Whether a stream with zlib's header most likely has settings. Raises Unfit: damaged."""
    plain = inflated(stream, window=15)
    return any(one.begins(plain, stream) for one in _candidates(stream, header=True))


def settings_of(plain: bytes, stream: bytes, *, header: bool) -> ZlibSettings:
    """How the stream was made of it. `header`: it has zlib's. Raises Unfit: in no way known."""
    for settings in _candidates(stream, header=header):
        if settings.begins(plain, stream) and settings.deflated(plain) == stream:
            return settings
    raise Unfit("no settings of zlib make this stream")


def _candidates(stream: bytes, *, header: bool) -> Iterator[ZlibSettings]:
    window = -15
    levels: tuple[int, ...] = (6, 9, 1, 5, 8, 7, 4, 3, 2)
    if header:
        window, levels = (stream[0] >> 4) + 8, _LEVELS[stream[1] >> 6]
        if not 9 <= window <= 15:
            return
    for level in levels:
        for strategy in _STRATEGIES:
            for memory in _MEMORIES:
                yield ZlibSettings(level, window, memory, strategy)


def sample() -> bytes:
    """A digest of what zlib makes here of something: equal where it writes alike."""
    plain = b"".join(b"%d," % (n * n % 9973) for n in range(12_000))
    digest = hashlib.sha256()
    for level in range(1, 10):
        for strategy in _STRATEGIES:
            digest.update(ZlibSettings(level, 15, 8, strategy).deflated(plain))
    return digest.digest()
