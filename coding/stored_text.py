"""Writes a kept text as bytes, and reads it again, for places where others can have changed it.

Pure.
"""

from __future__ import annotations

from typing import Final

import msgspec

from coding.delta import MAX_DICTIONARY
from coding.dictionary import LEAST, NAME, Dictionary
from coding.owner import TextOwner
from malformed import MALFORMED


class _Form(msgspec.Struct, array_like=True, frozen=True):
    digest: bytes
    origin: str
    credentials: bytes
    url: str
    media: str
    size: int
    packed: bytes


_READER: Final = msgspec.msgpack.Decoder(_Form)
_WRITER: Final = msgspec.msgpack.Encoder()
_DIGEST: Final = 32


def stored(text: Dictionary) -> bytes:
    """The bytes, in which the place on the device and the page that used it are not."""
    owner = text.owner
    return _WRITER.encode(
        _Form(
            digest=text.digest,
            origin=owner.origin,
            credentials=owner.credentials,
            url=text.url,
            media=text.media,
            size=text.size,
            packed=text.packed,
        )
    )


def restored(data: bytes, *, name: bytes) -> Dictionary | None:
    """The text; None: the bytes are none, or one of another name. `Dictionary.text` looks at the
    rest."""
    try:
        form = _READER.decode(data)
    except MALFORMED:
        return None
    if form.digest[:NAME] != name or len(form.digest) != _DIGEST:
        return None
    if not LEAST <= form.size <= MAX_DICTIONARY:
        return None
    owner = TextOwner(form.origin, form.credentials)
    return Dictionary(form.digest, owner, form.url, form.media, "", form.packed, form.size)
