"""The dialling end of a link that outlives its connections.

A connection that breaks is replaced by another; the stream of frames goes on to the byte, so the
session above sees a pause and nothing else. A connection that is silent though bytes are under
way gets a rival: whichever moves first carries the link on, and a rival that comes second is
dropped (TCP's own retries are minutes apart after a long outage). Who knows that the network has
changed says `network_changed`.

Over UDP an end hears at once whether its datagrams arrive, so that a network which begins to block
them is found out within a second or two, and the rival is dialled over TCP. While something is
expected the peer is asked for a sign of life; a link at rest is left alone.

The other end is transport/stream/accepting_end.py.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from math import inf
from typing import Final, Protocol

import structlog

from transport.link.connection import Connection
from transport.link.interface import LinkError, LinkExpired, NotTrusted, WrongPeer
from transport.stream import preamble
from transport.stream.preamble import Preamble, What
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from transport.tcp.sockets import reason
from wire.errors import PeerError

BACKOFF: Final = (0.0, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts; the last one repeats."""
SILENCE: Final = 8.0
"""Seconds without a sign of the peer, while it owes one, after which a rival is dialled. Above
what jitter, a lost packet and its retry make of a link with round trips of 2 s."""
LOOK: Final = 1.0
"""Seconds between two looks at the silence while a sign of the peer is due. A link at rest is not
looked at: whatever could fall silent begins with bytes."""
CLOSE_LOOK: Final = 0.2
"""The same while something is under way on a connection that tells at once."""
QUIET: Final = 0.5
"""Seconds without news, while something is expected, after which such a peer is asked whether it is
there; as long again until it is asked once more. A question and its answer are 130 bytes."""
SLOW_ANSWER: Final = 30.0
"""Seconds without news after which an answer that is expected counts as a long time in coming (an
event stream, a poll that waits): then the session's own heartbeat is enough."""
MOST_ALARMS: Final = 3
"""Each silence that ended by itself makes who watches more patient, at least twice as much and as
much as it took, up to `SILENCE`."""
ATTEMPT: Final = 20.0
"""Seconds for one attempt, from dialling to the peer's preamble."""
_log = structlog.get_logger("sluice.link")

Dial = Callable[[], Awaitable[Connection]]


class Better(Protocol):
    """A way that links should take, and can't always."""

    def due_in(self) -> float:
        """Seconds until it may be tried; infinite while the link is on it."""

    async def dial_udp(self) -> Connection:
        """By that way or not at all. Raises LinkError, OSError."""

    async def dial_tcp(self) -> Connection:
        """By the other way. Raises LinkError, OSError."""

    def blocked(self, seconds: float) -> None:
        """For so long it brought no answer, where the other way did at once."""

    def network_changed(self) -> None:
        """Another network may have it."""


class LastingLink:
    """Keeps one link supplied with connections. `link` is what sessions use."""

    def __init__(
        self,
        dial: Dial,
        *,
        congestion: str | None,
        patience: float,
        on_change: Callable[[LinkError | None], None],
        better: Better | None = None,
        expecting: Callable[[], bool] = lambda: False,
    ) -> None:
        """`dial` makes connections; `patience`: seconds without one until the link closes.

        `on_change` hears why the link has no connection, at the loss and after each attempt that
        failed, and None when it has one again. `better` knows of a better way than the one that
        the link may be on. `expecting`: whether bytes of the peer should be coming.
        """
        self._dial = dial
        self._better = better
        self._on_change = on_change
        self._expecting = expecting
        self._alarms = 0
        """Silences of the present connection that ended by themselves."""
        self._in_vain = 0
        """So many alarms would have spared the rivals that did not get through in this silence."""
        self._asked_at = float("-inf")
        self._congestion = congestion
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._token = preamble.NO_TOKEN
        self._hurry = asyncio.Event()
        self._resting = False
        self._roused = False
        """Something moved while it rested, and nobody has looked since."""
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.Timeout | None = None
        """Of the attempt that is under way."""
        self.link: StreamLink
        """Set by `open`."""
        self.round_trip = inf
        """Seconds from the preamble to its answer, when it was last exchanged: as far as the peer
        itself is, whatever stands between."""

    async def open(self) -> StreamLink:
        """The first connection. Raises LinkError."""
        connection, answer = await self._attempt(Preamble(What.OPEN))
        self._token = answer.token
        try:
            self.link = StreamLink(
                connection, congestion=self._congestion, on_lost=self._lost, on_use=self._used
            )
        except LinkError:
            connection.close()
            raise
        self._task = self._loop.create_task(self._keep(), name="lasting link")
        return self.link

    def network_changed(self, gone: str) -> None:
        """Try now rather than later. `gone`: an address that this machine has lost, or ""."""
        if self._better is not None:
            self._better.network_changed()
        if self._task is not None:
            self.link.network_changed()
            if gone and self.link.local_address == gone:
                self.link.lose(LinkError(f"this device no longer has the address {gone}"))
        if gone and self._deadline is not None and not self._deadline.expired():
            # Nobody knows yet from which address it dials, and a lost one is never answered: to
            # begin again costs a round trip at most.
            self._deadline.reschedule(self._loop.time())
        self._hurry.set()

    # -- the task ------------------------------------------------------------------------------

    def _lost(self, error: LinkError | None) -> None:
        if error is not None:
            _log.info("the link's connection broke, another is made", reason=str(error))
            self._hurry.set()
            self._on_change(error)
        elif self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def _used(self) -> None:
        """Notes that something moves on the link."""
        if self._resting:
            self._resting, self._roused = False, True
            self._hurry.set()

    async def _keep(self) -> None:
        """Until the link is closed: watch its connection, replace it when need be."""
        while not self.link.closed:
            # Who only receives owes nothing at any time, and is not to rest between two reads.
            self._resting = self._at_rest() and not self._roused
            self._roused = False
            await self._pause(self._until_look())
            self._resting = False
            if self.link.closed:
                return
            if self._in_vain and self._moves():
                self._alarms, self._in_vain = self._in_vain, 0
            if not self.link.connected:
                await self._reconnect()
            elif self._silent():
                await self._rival()
            elif self._expecting():
                self._ask()
            elif self._better is not None and self._better.due_in() <= 0 and self._may_change():
                await self._go_on(self._better.dial_udp)

    async def _reconnect(self) -> None:
        """New connections until one carries the link on, or patience is over."""
        since = self._loop.time()
        attempts = 0
        while not self.link.connected and not self.link.closed:
            error = await self._go_on()
            if error is None:
                return
            if forbids(error):  # more attempts would not change that
                self.link.close(error)
                return
            if self._loop.time() - since > self._patience:
                self.link.close(LinkExpired(f"no connection for {self._patience:g} s: {error}"))
                return
            attempts += 1
            self._on_change(error)
            await self._pause(BACKOFF[min(attempts, len(BACKOFF) - 1)])

    async def _rival(self) -> None:
        """One attempt beside a silent connection; beside one over UDP it goes over TCP."""
        better = self._better if self.link.overdue(1.0) else None
        since = self._loop.time() - self.link.unanswered()
        _log.info("the link is silent, another connection is tried")
        error = await self._go_on(better.dial_tcp if better is not None else None, beside=True)
        if error is not None:
            more = range(self._alarms + 1, MOST_ALARMS)
            enough = (alarms for alarms in more if not self.link.overdue(1 << alarms))
            self._in_vain = max(self._in_vain, next(enough, MOST_ALARMS))
        elif better is not None and self.link.connected:
            better.blocked(self._loop.time() - since)

    def _silent(self) -> bool:
        return self.link.silent() > SILENCE or self.link.overdue(1 << self._alarms)

    def _moves(self) -> bool:
        return self.link.connected and not self._silent()

    def _until_look(self) -> float:
        """Seconds until the next look at the silence, or at what a link at rest may do."""
        if self._resting:
            if self._better is None or self._expecting():
                return inf
            return max(LOOK, self._better.due_in())
        busy = self.link.prompt and (self._expects_soon() or self.link.unanswered() > 0.0)
        return CLOSE_LOOK if busy else LOOK

    def _at_rest(self) -> bool:
        """Nothing is due of the peer, so there is no silence until something moves."""
        asks = self.link.prompt and self._expects_soon()
        return self.link.connected and not (self.link.owed or asks or self._in_vain)

    def _expects_soon(self) -> bool:
        return self._expecting() and self.link.quiet() < SLOW_ANSWER

    def _ask(self) -> None:
        """See to it that a sign of the peer is due while its bytes are awaited."""
        now = self._loop.time()
        if self._expects_soon() and min(self.link.quiet(), now - self._asked_at) >= QUIET:
            self._asked_at = now
            self.link.ask()

    def _may_change(self) -> bool:
        """It is on the lesser way, with nothing under way that would be sent twice on another."""
        statistics = self.link.statistics()
        return statistics.transport == "tcp" and not statistics.under_way

    async def _go_on(self, dial: Dial | None = None, *, beside: bool = False) -> LinkError | None:
        """One attempt to carry the link on, by another way if one is given; why it failed.

        `beside`: only while the connection that there is does not move.
        """
        try:
            connection, answer = await self._attempt(None, dial, beside=beside)
        except LinkError as error:
            return error
        if self.link.closed:
            connection.close()
        elif answer.what is not What.RESUME:
            connection.close()
            self.link.close(LinkError("the remote proxy has been restarted"))
        else:
            with contextlib.suppress(LinkError):  # it has closed itself and said why
                self.link.resume(connection, answer.received)
                self._alarms, self._in_vain = 0, 0
                _log.info("the link goes on over another connection")
                self._on_change(None)
        return None

    async def _attempt(
        self, opening: Preamble | None, dial: Dial | None = None, *, beside: bool = False
    ) -> tuple[Connection, Preamble]:
        """A connection on which preambles were exchanged. `opening` None: resume.

        `dial`: another way than the usual one. Raises LinkError.
        """
        began = self._loop.time()
        try:
            async with asyncio.timeout(ATTEMPT) as deadline:
                self._deadline = deadline
                connection = await (dial or self._dial)()
                try:
                    if beside and self._moves():
                        # A late retry got through while the rival shook hands: to change over now
                        # would send again what is about to arrive.
                        raise LinkError("the connection that was silent moves again")
                    if opening is None:
                        # What is here is settled now: the connection before gets no more say.
                        opening = Preamble(What.RESUME, self._token, self.link.release())
                    asked = self._loop.time()
                    await connection.send(opening.encode())
                    answer = await read_preamble(connection)
                    self.round_trip = self._loop.time() - asked
                    return connection, answer
                except BaseException:
                    connection.close()
                    raise
        except TimeoutError as error:
            late = (deadline.when() or 0.0) >= began + ATTEMPT
            why = f"no answer within {ATTEMPT:g} s" if late else "the network changed meanwhile"
            raise LinkError(why) from error
        except PeerError as error:
            raise LinkError(str(error)) from error
        except OSError as error:
            raise LinkError(reason(error)) from error
        finally:
            self._deadline = None

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until somebody says hurry."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds if seconds < inf else None):
                await self._hurry.wait()
        self._hurry.clear()


def forbids(error: LinkError | OSError | None) -> bool:
    """Whether only people can change what went wrong. A stranger's answer passes by itself."""
    return isinstance(error, NotTrusted) and not isinstance(error, WrongPeer)


async def in_segments(connection: TcpConnection) -> TcpConnection:
    """From here on it has segments of one size, both ways. Raises LinkError, OSError."""
    try:
        await connection.send(Preamble(What.SEGMENTS).encode())
    except BaseException:
        connection.close()
        raise
    connection.segment_stream()
    return connection


async def read_preamble(connection: Connection) -> Preamble:
    """The peer's preamble. Raises PeerError, LinkError, OSError."""
    data = b""
    while len(data) < preamble.SIZE:
        more = await connection.receive(preamble.SIZE - len(data))
        if not more:
            raise ConnectionResetError(
                "the connection ended before its preamble: does the other end run this version?"
            )
        data += more
        if data[0] not in tuple(What):
            raise preamble.unknown(data[0])
    return preamble.decode(data)
