"""Chooses the congestion control of a link's TCP: one that forgets nothing, where the usual would.

The gate decides how much of a link is under way (transport/gate/controller.py). TCP's own window
says less than that where it knows less: after a pause it begins anew with ten segments (RFC 5681,
4.1), by satellite three round trips of .6 s for a page; and it halves for each lost packet, though
no queue was full. BBR does neither, but keeps its round trips: every ten seconds it has next to
nothing under way for .2 s, and a long path it fills more slowly.

    begins, and what goes on for long       the usual control
    after a pause, for some seconds         BBR, where there is a window worth keeping
    while packets are lost from no queue    BBR, begun again before it stops to measure

It can be changed on a connection in use; the window stays as it is (tcp(7), TCP_CONGESTION).
Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from monitor.tcp_view import TcpInfo

KEEPS: Final = "bbr"
ALLOW: Final = "modprobe tcp_bbr; sysctl net.ipv4.tcp_allowed_congestion_control='reno cubic bbr'"
"""Gives it to who is not root (net/ipv4, ip-sysctl.rst)."""
PAUSE: Final = 0.2
"""Seconds without a byte: the least retransmission timeout of Linux, after which a window counts as
old."""
LONG: Final = 3.0
"""Seconds of use, with no such pause, from which on the usual control does better."""
LOSSY: Final = 10.0
"""Seconds for which a loss from no queue says that there will be others."""
ANEW: Final = 8.0
"""Seconds under BBR until it begins again: it stops to measure after 10."""
WORTH: Final = 20
"""Segments that are worth keeping, of the window and of what the path holds: twice what any
connection begins with."""
_QUEUE: Final = 0.25
"""Of the least round trip,"""
_LEAST_QUEUE: Final = 0.010
"""or seconds, if that is more: a round trip longer by that has a queue in it."""


class KeptWindow:
    """Says what one connection's control should be. Seconds on the caller's clock."""

    def __init__(self, usual: str) -> None:
        """`usual`: the control that it begins with."""
        self.usual = usual
        self._sent_at = float("inf")
        self._since = float("-inf")
        """When what goes now began to, after a pause; a new connection has none behind it."""
        self._lossy_until = float("-inf")
        self._kept_since: float | None = None
        """When BBR began, last; None: it is the usual control."""
        self._most = 0.0
        """Bytes/second that have been delivered at most."""

    def changes(self, now: float, view: Callable[[], TcpInfo | None]) -> tuple[str, ...]:
        """Bytes are about to go: the controls to set before that, one after the other. `view`: what
        the kernel knows of the connection, which is asked after a pause."""
        if now > self._sent_at + PAUSE and (known := view()) is not None:
            self._since = now if self._worth_keeping(known) else float("-inf")
        self._sent_at = now
        if now >= self._lossy_until and now > self._since + LONG:
            if self._kept_since is None:
                return ()
            self._kept_since = None
            return (self.usual,)
        if self._kept_since is None:
            self._kept_since = now
            return (KEEPS,)
        if now > self._kept_since + ANEW:
            self._kept_since = now
            return (self.usual, KEEPS)
        return ()

    def seen(self, view: TcpInfo) -> None:
        """The kernel was asked: what it knows."""
        self._most = max(self._most, view.delivery_rate)

    def lost(self, now: float, view: TcpInfo) -> None:
        """The kernel has repaired a loss; what it knows of its round trips then."""
        if view.rtt < view.min_rtt + max(_QUEUE * view.min_rtt, _LEAST_QUEUE):
            self._lossy_until = now + LOSSY

    def _worth_keeping(self, view: TcpInfo) -> bool:
        holds = self._most * view.min_rtt
        return view.window_segments > WORTH and holds > WORTH * view.segment_size
