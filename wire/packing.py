"""Skeletons deflated (RFC 1951): lists of addresses that look alike, a third of their bytes.

A preset dictionary has what the first address can't yet be copied from. Nothing else is deflated,
and a skeleton's header block stays outside: next to what a page chooses, the length would tell of
its cookies (CRIME; RFC 7541, 7.1). A page's addresses are next to its own text already, in its
HTML. Pure; bounded both ways. Source: RFC 1951; preset dictionaries: RFC 1950, 2.2.
"""

from __future__ import annotations

import zlib
from typing import Final

from msgspec import structs

from wire import messages as m
from wire.errors import PeerError

LEAST: Final = 160
"""Bytes below which a skeleton is left as it is."""
WORTH: Final = 0.9
"""Share of its bytes above which it is left as it is."""
_WINDOW: Final = -15
"""Raw deflate, 32 KiB."""
DICTIONARY: Final = b"".join(
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


def packed(message: m.Message) -> m.Message:
    """A skeleton or package as a Packed message where that is shorter; any other as it is."""
    if not isinstance(message, m.Skeleton | m.Package):
        return message
    headers = message.headers if isinstance(message, m.Skeleton) else b""
    encoded = m.encode(structs.replace(message, headers=b"") if headers else message)
    if len(encoded) < LEAST:
        return message
    deflate = zlib.compressobj(9, zlib.DEFLATED, _WINDOW, zdict=DICTIONARY)
    data = deflate.compress(encoded) + deflate.flush()
    return m.Packed(data, headers) if len(data) <= WORTH * len(encoded) else message


def unpacked(message: m.Packed) -> m.Skeleton | m.Package:
    """What is in it. Raises PeerError if that is neither, or does not fit a frame."""
    inflate = zlib.decompressobj(_WINDOW, zdict=DICTIONARY)
    try:
        encoded = inflate.decompress(message.data, m.MAX_MESSAGE + 1)
    except zlib.error as error:
        raise PeerError(f"malformed packed message: {error}") from error
    if len(encoded) > m.MAX_MESSAGE or not inflate.eof or inflate.unused_data:
        raise PeerError("a packed message is too long, or not all there")
    found = m.decode(encoded)
    if isinstance(found, m.Package) and not message.headers:
        return found
    if not isinstance(found, m.Skeleton) or found.headers:
        raise PeerError(f"{type(found).__name__} in a packed message")
    return structs.replace(found, headers=message.headers)
