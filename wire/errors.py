"""Errors of the wire, named by who must act (h11's division).

`PeerError`: the other proxy said something the protocol does not allow; the session ends.
`LocalError`: our own code asked for something the protocol does not allow; a bug of ours.
"""

from __future__ import annotations


class WireError(Exception):
    """Base of this package's errors."""


class PeerError(WireError):
    """The peer broke the protocol: an unknown frame, a limit exceeded, a malformed message."""


class LocalError(WireError):
    """Our side asked for what the protocol cannot say: an id out of range, an oversized frame."""
