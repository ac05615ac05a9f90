"""The recipe of a picture: what makes the origin's very bytes of another form of it.

Pure. Must not know processes, components.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Final

import msgspec

from malformed import MALFORMED
from transcoders.exact.jpeg_writer import JpegWriter
from transcoders.exact.png_writer import PngWriter
from transcoders.picture import Unfit

MAX_BYTES: Final = 8 << 20
"""Of what has a recipe, and of a recipe: it may hold all of a file's metadata."""
_DIGEST: Final = 8


class Otherwise(Unfit):
    """What was made by a recipe is not the origin's bytes: these tools write otherwise."""


class Recipe(msgspec.Struct, frozen=True, array_like=True):
    """By which the file was written, `jpeg` or `png`, and how to tell that it came out right."""

    size: int
    digest: bytes
    """The beginning of the SHA-256 of the file: zlib and jpegtran may write otherwise elsewhere."""
    jpeg: JpegWriter | None = None
    png: PngWriter | None = None

    @classmethod
    def of(
        cls, data: bytes, *, jpeg: JpegWriter | None = None, png: PngWriter | None = None
    ) -> Recipe:
        """The recipe that makes `data`."""
        return cls(len(data), _digest(data), jpeg, png)

    def check(self, made: bytes) -> bytes:
        """What was made by it, if it is what it should be. Raises Otherwise."""
        if len(made) != self.size or _digest(made) != self.digest:
            raise Otherwise("other bytes than the origin's")
        return made

    def encoded(self) -> bytes:
        """The bytes that cross the link."""
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
        return deflater.compress(_encoder.encode(self)) + deflater.flush()

    @classmethod
    def decoded(cls, data: bytes) -> Recipe:
        """Raises Unfit for what is none."""
        inflater = zlib.decompressobj(-15)
        try:
            recipe = _decoder.decode(inflater.decompress(data, MAX_BYTES))
        except (zlib.error, *MALFORMED) as error:
            raise Unfit(str(error)) from error
        if not 0 < recipe.size <= MAX_BYTES or (recipe.jpeg is None) == (recipe.png is None):
            raise Unfit("a recipe of nothing")
        return recipe


_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Recipe)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:_DIGEST]
