"""The interface of a connection: a link has one at a time, which carries bytes in order and once.

Three kinds: over TCP (transport/tcp/connection.py), over UDP (transport/udp/connection.py), over
several paths at once (transport/multipath/). Before a link has it, whoever makes it talks on it
with `send` and `receive`; then `start` gives it to the link, which is asked for bytes as they can
go and told of those that come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from transport.link.interface import LinkError
from transport.link.quantum import Chunks
from transport.link.records import ProvenPeer


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """What a connection knows itself to have arrived, so that the peer need not report it."""

    size: int
    """Bytes since the last one."""
    in_order: int
    """Bytes of the link's stream that the peer has without a gap, since the connection began."""
    first_sent_at: float
    """When the first of `size` was sent, the last one: seconds on the loop's clock."""
    sent_at: float
    arrived_at: float
    """When the last one arrived, on the receiver's clock, seconds."""


class Carried(Protocol):
    """A link, as its connection knows it. Any of these may end with the connection closed."""

    @property
    def searching(self) -> bool:
        """Nothing is known of the path yet: chunks are to go apart, for each arrival tells."""

    def next_bytes(self) -> bytes | None:
        """What goes now: all of it will, in order. None: nothing may or wants to go."""

    def next_time(self) -> float | None:
        """When to ask again though nothing happened."""

    def heard(self, data: bytes, *, age: float = 0.0) -> None:
        """Bytes of the peer's stream, of which the kernel has had the newest for `age` seconds."""

    def delivered(self, news: DeliveryReport) -> None:
        """Bytes have arrived over there."""

    def lost(self, sent_at: float) -> None:
        """What was sent then is lost, as far as the connection itself knows."""

    def ended(self, error: LinkError | None) -> None:
        """The peer's bytes have ended; `error`: without its farewell."""

    def failed(self, error: Exception) -> None:
        """Nothing more crosses: the connection broke, or the peer did what it must not."""


@runtime_checkable
class ApartCarried(Carried, Protocol):
    """One whose bytes may lose their order: cells of one size, each filled when its path is asked
    for it, and read when it comes."""

    @property
    def resumed(self) -> bool:
        """It has had another connection before."""

    def part(self, at: int, size: int) -> bytes | None:
        """The last bytes that have an order, behind so many; with them cells of that size are full.
        None: all have an order. To be asked again later."""

    def next_cell(self, size: int, *, place: int, behind: int, ends: bool) -> bytes | None:
        """A cell, chosen now, for these bytes of the stream, counted from where the order ended.

        `behind`: bytes that others will have brought by the time that this one could; 0: it goes by
        the quickest path. `ends`: the last bytes of a component may go before what others are to
        bring of it. None: nothing is to go this way now.
        """

    def padded(self, size: int, *, place: int) -> None:
        """A cell with nothing in it goes for these bytes of the stream."""

    def heard_cells(self, cells: Sequence[bytes]) -> None:
        """Cells of the peer's, which have not come before."""


class Connection(Protocol):
    """Made, and not closed yet."""

    reports: bool
    """The ends must report to each other what has come; False: `Carried.delivered` tells."""

    asked: bool
    """The peer asks for what goes: the link is asked for bytes when it may send them, and needs no
    gate. False: the gate decides how much is under way."""

    prompt: bool
    """The peer acknowledges what comes at once, whatever it is: `ask` and `overdue` tell within
    moments whether this still carries anything."""

    @property
    def kind(self) -> str:
        """ "tcp", "atp-tcp", "udp", "paths": for people."""

    @property
    def peer(self) -> ProvenPeer | None:
        """Who is at the other end; None where nobody had to prove it."""

    @property
    def local_address(self) -> str | None:
        """The one on this machine that it stands and falls with; None: it has none."""

    @property
    def chunks(self) -> Chunks:
        """What goes out together."""

    @property
    def arriving(self) -> int:
        """Bytes that have come behind the last ones heard and can't be read yet."""

    @property
    def crossed(self) -> int:
        """Bytes of all its packets so far, both ways, with the headers of IP and what is above, as
        whoever bills for the line counts them; 0: nobody counts. Of one that is closed, too."""

    async def send(self, data: bytes) -> None:
        """Send all of it. Raises LinkError, OSError."""

    async def receive(self, most: int) -> bytes:
        """At most so many bytes of what the peer says; none at its end. Raises LinkError, OSError.

        What came with them is kept for the next call, or for the link.
        """

    def prepare(self, congestion: str | None) -> None:
        """Have this congestion control, where that is to be chosen. Raises LinkError."""

    def start(self, carried: Carried) -> None:
        """Makes it that link's connection from now on."""

    def wake(self) -> None:
        """The link may have something to send that it lacked before."""

    def pace(self, rate: float, *, sure: bool) -> None:
        """The path carries so many bytes/second; not `sure`: at least, and perhaps many more."""

    def network_changed(self) -> None:
        """This machine's addresses are not what they were."""

    def overdue(self, times: float) -> bool:
        """A sign of the peer is so late that another connection is worth a try; with `times` as
        much patience as usual. False where silence tells nothing that soon."""

    def unanswered(self) -> float:
        """Seconds for which the peer owes a sign and none has come; 0: it owes none, or this kind
        of connection does not tell."""

    def ask(self) -> None:
        """Have the peer give a sign of life, unless one is due already; else do nothing."""

    def drain(self) -> None:
        """Hand over what is here and was not heard yet: the peer has been told that it came."""

    def finish(self, words: bytes) -> None:
        """Say these last words, as far as they go without waiting, and farewell; close."""

    def close(self) -> None:
        """At once, without a word."""
