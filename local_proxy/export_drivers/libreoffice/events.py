"""Events of a document that is shown, for those who report it to people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class EventKind(StrEnum):
    """Past tense, as events are."""

    STARTED = "started"
    """LibreOffice is there, and the document is known."""
    OPENED = "opened"
    """The first page can be read."""
    TEXT = "text"
    """All text can be read."""
    EDITABLE = "editable"
    """And edited: notes, properties and the like are here too."""
    COARSE = "coarse"
    """One more picture is shown coarse."""
    PICTURE = "picture"
    """One more picture is as it is in the original."""
    COMPLETE = "complete"
    """What is shown is the original. `text` says where that lies if the person has edited."""
    EDITED = "edited"
    PAGE = "page"
    FOCUS = "focus"
    """The window came to the front (`on`), or went behind others."""
    HELD = "held"
    """A command of the person's, to save or to print, waits for pictures."""
    STORED = "stored"
    """The person has saved or exported it."""
    FAILED = "failed"
    """No more will come; `text` says why. What is shown stays."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Event:
    """One of them."""

    kind: EventKind
    at: float
    """Seconds since the document was to be shown."""
    pictures: int = 0
    """Of those, how many are as in the original."""
    of: int = 0
    """Pictures the document has."""
    page: int = 0
    on: bool = False
    text: str = ""
