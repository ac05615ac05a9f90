"""Errors of the wire, named by who must act (h11's division).

`PeerError`: the other proxy said something the protocol does not allow; the session ends.
`LocalError`: our own code asked for something the protocol does not allow; a bug of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_MOST_NAMED: Final = 8
"""Versions of a peer that a message names."""


class WireError(Exception):
    """Base of this package's errors."""


class PeerError(WireError):
    """The peer broke the protocol: an unknown frame, a limit exceeded, a malformed message."""


class NoCommonVersion(PeerError):
    """The ends speak no version of the protocol that the other does: one must be updated."""

    def __init__(self, *, ours: Sequence[int], theirs: Sequence[int]) -> None:
        """Neither is empty."""
        self.ours = ", ".join(map(str, ours))
        self.theirs = ", ".join(map(str, theirs[:_MOST_NAMED]))
        self.peer_is_older = max(theirs) < max(ours)
        """It is the peer that must be updated; else this end."""
        super().__init__(f"no common protocol version: ours {self.ours}, theirs {self.theirs}")


class LocalError(WireError):
    """Our side asked for what the protocol cannot say: an id out of range, an oversized frame."""
