"""Long control messages deflated (RFC 1951): skeletons are lists of addresses that look alike.

A preset dictionary has what the first address can't yet be copied from. Pure; bounded both ways.
Source: RFC 1951; zlib's preset dictionaries (RFC 1950, 2.2).
"""

from __future__ import annotations

import zlib
from typing import Final

from wire import messages as m
from wire.errors import PeerError

LEAST: Final = 160
"""Bytes below which a message is left as it is."""
WORTH: Final = 0.9
"""Share of the message's bytes above which it is left as it is."""
_WINDOW: Final = -15
"""Raw deflate, 32 KiB."""
_DICTIONARY: Final = b"".join(
    (
        b".gif.svg.webp.woff2.avif.js.css.png.jpg",
        b"/media//fonts//uploads//wp-content//scripts//styles//js//css//assets//static//images//img/",
        b"http://cdn.static.images.img.media.https://www.",
        b".net/.org/.com/",
        b"\xa4font\xa5other\xa6script\xa8deferred\xa5style\xa8blocking\xa5image\xaabackground",
        b"\xa5image\xa7element",
    )
)
"""Words of skeletons as MessagePack has them, the likeliest last."""


def packed(encoded: bytes) -> bytes:
    """The encoded message, as a Packed one where that is shorter."""
    if len(encoded) < LEAST:
        return encoded
    deflate = zlib.compressobj(9, zlib.DEFLATED, _WINDOW, zdict=_DICTIONARY)
    shorter = m.encode(m.Packed(deflate.compress(encoded) + deflate.flush()))
    return shorter if len(shorter) <= WORTH * len(encoded) else encoded


def unpacked(message: m.Packed) -> m.Message:
    """The message in it. Raises PeerError if there is none, or none that fits a frame."""
    inflate = zlib.decompressobj(_WINDOW, zdict=_DICTIONARY)
    try:
        encoded = inflate.decompress(message.data, m.MAX_MESSAGE + 1)
    except zlib.error as error:
        raise PeerError(f"malformed packed message: {error}") from error
    if len(encoded) > m.MAX_MESSAGE or not inflate.eof or inflate.unused_data:
        raise PeerError("a packed message is too long, or not all there")
    found = m.decode(encoded)
    if isinstance(found, m.Packed):
        raise PeerError("a packed message in a packed one")
    return found
