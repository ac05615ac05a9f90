"""Errors in documents. Whichever it is, the document passes through as the file that it is."""

from __future__ import annotations


class Unreadable(Exception):
    """It can't be sent in parts; the reason is for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NeedsMore(Exception):
    """The end of the file that was given is too short."""

    def __init__(self, start: int) -> None:
        super().__init__(f"all from byte {start} on is needed")
        self.start = start
        """Offset, bytes, from which on all is needed."""
