"""A request says by these what is here already: of an answer that was cut, in a browser's cache."""

from __future__ import annotations

from typing import Annotated

import msgspec

from wire.package import Held
from wire.skeleton import Part


class Continuation(msgspec.Struct, frozen=True, array_like=True):
    """What is here already of a component that an earlier session was bringing."""

    received: int
    """Bytes of the component, decoded; only what follows is wanted."""
    digest: bytes = b""
    """SHA-256 of those bytes: if the new response does not begin with them, it fails."""
    etag: str = ""
    """Strong validator by which the origin may be asked for the rest alone; empty: none."""
    known: bytes = b""
    """Of a document: CRC-32, 4 bytes each, of the URLs that were promised, not to be again."""
    part: Part | None = None
    """What it was in its skeleton. A promise keeps its even id."""
    accept: str = ""
    """Of a promise: the `Accept` with which its document was asked for."""
    held: Held | None = None
    """Of a document that comes in parts, of which `received` says nothing."""
    level: str = ""
    """Of a picture that was stopped at a coarser one: the level that is wanted now, whatever the
    plan says; empty: it goes on as before."""
    anew: bool = False
    """It was coded against a text that is here no longer: it is wanted once more, by itself."""


_Pixels = Annotated[int, msgspec.Meta(ge=1, le=65535)]


class Window(msgspec.Struct, frozen=True, array_like=True):
    """Where a browser shows its pages."""

    width: _Pixels
    """CSS pixels."""
    height: _Pixels
    density: _Pixels
    """Device pixels for a hundred CSS pixels."""


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """What the browser that asks for a document is believed to have of its parts, and to be."""

    fresh: bytes = b""
    """Names of what it will not ask for: not to be promised."""
    stale: bytes = b""
    """Names of what it will ask about: to be promised, but of it the head alone is to be sent until
    a Hold lets the rest go."""
    window: Window | None = None
    """By which it chooses among pictures of several sizes; None: not known."""
