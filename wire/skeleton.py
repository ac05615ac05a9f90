"""A document's skeleton: the components that it needs (HATS, section 2).

The remote proxy sends skeletons to the local one, where policies and promises read them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class Kind(StrEnum):
    """What a component is, as far as its order on the link depends on it."""

    TEXT = "text"
    STYLE = "style"
    SCRIPT = "script"
    FONT = "font"
    IMAGE = "image"
    MEDIA = "media"
    OTHER = "other"


class Use(StrEnum):
    """How the document uses a component; decides which way an export driver may refine it."""

    DOCUMENT = "document"
    """A page, or the page of an iframe."""
    ELEMENT = "element"
    """The `src` or `srcset` of an <img>: can be swapped in place."""
    BACKGROUND = "background"
    """A CSS url(), a poster, an icon: can't be reached by a script."""
    BLOCKING = "blocking"
    """A style sheet or a script that holds rendering or parsing up."""
    DEFERRED = "deferred"
    """A script that holds nothing up: async, defer, module."""
    OTHER = "other"


LEVELS: Final = ("low", "medium", "high", "original")
"""Names of fidelity levels, coarse to fine. `original` is the origin's own pixels or bytes."""


class Level(msgspec.Struct, frozen=True, array_like=True):
    """A fidelity level: a range of the component's bytes that, with `suffix`, is a whole file.

    Subsetting: `start` is 0 and each level is a longer prefix. Versioning: a level starts where an
    extra version begins.
    """

    name: str
    start: int
    end: int
    content_type: str
    suffix: bytes = b""
    """What must follow the range to make it a valid file: JPEG's end marker."""
    width: int = 0
    height: int = 0
    """Pixels to which the device enlarges it: the range is a sketch (messages.SKETCH) and
    `content_type` that of the enlarged file. 0: it is a file as it is."""

    @property
    def sketch(self) -> bool:
        """It is to be enlarged before anybody gets it."""
        return self.width > 0


class Part(msgspec.Struct, frozen=True, array_like=True):
    """One component of a skeleton, before any byte of it has come."""

    component: int
    url: str
    kind: Kind
    use: Use
    order: int
    """Position in the document, from 0."""
    width: int = 0
    """CSS pixels in the layout, 0: unknown."""
    height: int = 0
