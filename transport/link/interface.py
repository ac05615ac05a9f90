"""The one interface between a session and whatever carries its bytes over the slow link.

A link pulls: when it can take bytes, it asks its outbox for one frame, so that what goes next is
chosen at the last moment (HATS, section 3.2.3). It pushes what arrives into its inbox. Frames of
one link arrive whole, in order and once, or the link closes.

Frames cross from one connection to the next where a link has several, one after the other.

REPORT and QUANTUM frames are the link's own business: sessions see neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from monitor.estimate import BandwidthEstimate
from monitor.samples import TransportSample
from transport.link.quantum import Chunks
from wire.frames import Control, Data


class LinkError(Exception):
    """Why there is no link: refused, reset, timed out, or the peer broke the protocol."""


class PeerFault(LinkError):
    """The peer broke the protocol: to ask it the same again would end the same way."""


class LinkExpired(LinkError):
    """The link has waited for a connection as long as it was told to."""


class OtherVersion(LinkError):
    """The ends speak no common version of the protocol: one of them must be updated."""

    def __init__(self, reason: str, *, update_peer: bool) -> None:
        """`update_peer`: the other end is the older one; else this end is."""
        super().__init__(reason)
        self.update_peer = update_peer


class NotTrusted(LinkError):
    """One end does not know the other: only people can change that, not another attempt."""


class WrongPeer(NotTrusted):
    """Somebody else answers at the peer's address, as hotspots do before one has signed in."""


@dataclass(frozen=True, slots=True)
class PathStatistics:
    """One of several paths that carry a link together."""

    name: str
    """Of the interface."""
    number: int
    """No later path of the connection has it again."""
    carried: int
    """Bytes of the link's stream that came over it first."""
    rate: float
    """Bytes/second that it has delivered lately; 0: not known."""
    round_trip: float
    """Seconds, smoothed."""
    answers: bool
    """The remote has answered what went over it last."""
    quickest: bool
    """What goes up, and what comes after a rest, takes this one."""
    spare: bool = False
    """It carries nothing while another one answers."""


@dataclass(frozen=True, slots=True)
class LinkStatistics:
    """An immutable snapshot. Bytes count frames with their headers, both directions apart."""

    sent: int
    received: int
    under_way: int
    """Bytes sent that the peer has not reported yet."""
    cap: float
    """Bytes that the gate lets be under way now."""
    min_delay: float | None
    """Seconds from sending a byte to the report that covers it, at its lowest; None: unknown."""
    delay: float | None
    """The same, latest."""
    outgoing: BandwidthEstimate | None
    incoming: BandwidthEstimate | None
    available: BandwidthEstimate | None = None
    """What others leave of the path, our own share included; None: nobody measures it."""
    shared: bool = False
    """Others keep the queue of the line full that way, as far as this end knows."""
    seen: float = 0.0
    """Bytes/second that the link has carried on this connection, however long ago; 0: not known."""
    replayed: int = 0
    """Bytes sent once more because a connection broke under them."""
    padding_sent: int = 0
    """Bytes that were nobody's, without headers (transport/stream/probe.py), among those sent."""
    padding_received: int = 0
    crossed: int = 0
    """Bytes of all packets of its connections, both ways, with all headers; 0: nobody counts."""
    connected: bool = True
    """Something carries bytes now; if not, the link waits for a new connection."""
    transport: str = "tcp"
    """What carries bytes now, or did last: "tcp", "atp-tcp", "udp", "paths"."""
    chunks: Chunks = field(default_factory=Chunks)
    """What bytes go out in, which says how large a quantum suits a rate."""
    facts: TransportSample | None = None
    """What TCP says of the present connection, for people; None: UDP carries bytes, or nothing."""
    paths: tuple[PathStatistics, ...] = ()
    """Those of the present connection, for people, where it has several."""

    @property
    def round_trip(self) -> float:
        """Seconds until what is said now is answered, by the longest of several paths; 0: not
        known."""
        trips = (path.round_trip for path in self.paths if path.answers)
        return max(self.delay or self.min_delay or 0.0, *trips, 0.0)


class Outbox(Protocol):
    """Where a link gets what it sends."""

    def next_frame(self, *, now: float, urgent: bool) -> Data | Control | None:
        """At most one quantum, chosen now; None when there is nothing.

        `urgent`: the gate is closed, so only what may overtake it (small control messages).
        """

    @property
    def quantum(self) -> int:
        """Bytes of a full quantum at present; announced to the peer by the link."""


@runtime_checkable
class ApartOutbox(Outbox, Protocol):
    """One whose frames may go in any order: each says where it stands. All lists are in the order
    of saying, and data of at most so many bytes."""

    @property
    def apart(self) -> bool:
        """The peer can read them so."""

    def part(self) -> list[tuple[int, int]] | None:
        """From now on they do. Components of which some has gone in order, and not all, and how
        many bytes; None: they can't yet."""

    def next_said(self, *, now: float) -> list[Data | Control]:
        """What is to be said now: messages alone."""

    def next_near(self, *, now: float, most: int) -> list[Data | Control]:
        """What goes next, with what introduces it."""

    def next_far(
        self, *, now: float, most: int, behind: int, ends: bool = False
    ) -> list[Data | Control]:
        """What goes next of what stands behind the first so many bytes. `ends`: the last bytes of a
        component may go before those before them."""

    def dropped(self) -> list[int]:
        """Components of which something has gone and no more will, since this was last asked."""


class Inbox(Protocol):
    """Where a link delivers what it receives. Must not block and must not raise."""

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None: ...

    def link_closed(self, error: LinkError | None) -> None:
        """Called once, last. None: either side closed it on purpose."""


class Link(Protocol):
    """A running connection to the peer."""

    def start(
        self, outbox: Outbox, inbox: Inbox, *, competes: Callable[[], bool] = lambda: True
    ) -> None:
        """Begin to pull and to deliver. Called once, from the event loop.

        `competes`: asked now and then; while it says yes, other programs that keep the line's queue
        full are given way to no more than TCP does, else all of them.
        """

    def wake(self) -> None:
        """The outbox has something to send that it lacked before."""

    def close(self, error: LinkError | None = None) -> None:
        """Stop at once; the inbox hears of it."""

    def statistics(self) -> LinkStatistics: ...
