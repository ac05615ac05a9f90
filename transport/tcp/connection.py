"""A connected TCP socket, and what protects its bytes: a link's connection over TCP.

An asyncio transport would buffer what was chosen, so there is none: `add_writer` on the socket,
TCP_NOTSENT_LOWAT so that the kernel asks only when it has next to nothing unsent, and the quantum
chosen inside the callback (measured: 118 ms where a transport's buffer gave 484 ms).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Final

from monitor.sensors.loss_events import LossEvents
from monitor.tcp_view import TcpInfo
from transport.link import kernel_stamps
from transport.link.connection import Carried
from transport.link.interface import LinkError
from transport.link.quantum import Chunks, chunks_of
from transport.link.records import Plain, ProvenPeer, Records
from transport.tcp import tcp_info
from transport.tcp.kept_window import KEEPS, KeptWindow
from transport.tcp.orderly_end import OrderlyEnd
from transport.tcp.segmented import Segmented
from transport.tcp.sockets import (
    control,
    may_change,
    prepare,
    reason,
    segment,
    set_control,
    takes_bytes,
)
from wire.errors import PeerError

_READ: Final = 65_536
"""Bytes read per callback."""
_AT_ONCE: Final = 4
"""Times that bytes go in one round of the loop, at most, before the kernel's poll is asked."""
_TOGETHER: Final = 4096
"""Bytes from which on no further chunk goes with them in one call of the kernel. Where the loop was
late, several small ones may go at once, and the call costs more than all that chooses them."""
_LOSSES: Final = 0.02
"""Seconds at least from one look for losses to the next: a short round trip."""
KEEPALIVE_IDLE: Final = 600
"""Seconds of silence before the kernel asks whether the peer is there; peers ask sooner."""


class TcpConnection:
    """Owns its socket, which does not block. Implements transport.link.connection.Connection."""

    reports = True
    asked = False
    prompt = False

    def __init__(self, connected: socket.socket, records: Records | None = None) -> None:
        """`records`: plain unless given."""
        self.socket = connected
        self.records: Records = records or Plain()
        self._loop = asyncio.get_running_loop()
        self._early = b""
        """What has come and was not received."""
        self._carried: Carried | None = None
        self._remainder = b""
        """Of a chunk that the kernel took in part."""
        self._writing = False
        """It is about to ask for what goes next."""
        self._polled = False
        """... when the kernel says that it takes bytes."""
        self._hearing = False
        """The link is told what came; what it wants to say waits for the end of that."""
        self._window: KeptWindow | None = None
        """None: the congestion control is what it is."""
        self._losses = LossEvents()
        self._look_at = 0.0
        """When to look for some again."""
        self._timer: asyncio.TimerHandle | None = None
        self._crossed = 0
        """As it was when it was closed."""

    # -- before a link has it ------------------------------------------------------------------

    @property
    def peer(self) -> ProvenPeer | None:
        return self.records.peer

    @property
    def local_address(self) -> str | None:
        return str(self.socket.getsockname()[0])

    @property
    def chunks(self) -> Chunks:
        if isinstance(self.records, Segmented):
            return self.records.chunks
        return chunks_of(record=self.records.overhead, segment=segment(self.socket))

    @property
    def arriving(self) -> int:
        return self.records.arriving

    @property
    def crossed(self) -> int:
        info = tcp_info.read(self.socket) if self.socket.fileno() >= 0 else None
        return self._crossed if info is None else info.crossed

    @property
    def kind(self) -> str:
        return "atp-tcp" if isinstance(self.records, Segmented) else "tcp"

    def segment_stream(self) -> None:
        """From here on, both ways, in segments of one size (transport/tcp/segmented.py)."""
        early, self._early = self._early, b""
        self.records = Segmented(self.records, early)

    async def send(self, data: bytes) -> None:
        await self._loop.sock_sendall(self.socket, self.records.protect(data))

    async def receive(self, most: int) -> bytes:
        data = b""  # first what came with the handshake
        while True:
            plain, reply = self.records.unprotect(data)
            self._early += plain
            if reply:
                await self._loop.sock_sendall(self.socket, reply)
            if self._early:
                break
            data = await self._loop.sock_recv(self.socket, most)
            if not data:
                self.records.ended()
                return b""
        data, self._early = self._early[:most], self._early[most:]
        return data

    def prepare(self, congestion: str | None) -> None:
        prepare(self.socket, congestion)
        usual = control(self.socket)
        if congestion == "" and usual != KEEPS and may_change(KEEPS, usual):
            self._window = KeptWindow(usual)

    def keep_alive(self) -> None:
        """Have the kernel find out when a silent peer is gone for good."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with contextlib.suppress(OSError, AttributeError):  # not Linux: its own default
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_IDLE)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 60)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 5)

    # -- a link's ------------------------------------------------------------------------------

    def start(self, carried: Carried) -> None:
        self._carried = carried
        kernel_stamps.ask(self.socket)
        self._loop.add_reader(self.socket, self._readable)
        self._loop.call_soon(self._hear_early)
        self.wake()

    def wake(self) -> None:
        if self._writing or self._carried is None:
            return
        self._writing = True
        if not self._hearing:  # else it goes once all that came has been heard
            self._loop.call_soon(self._begin_writing)

    def pace(self, rate: float, *, sure: bool) -> None:
        """The kernel knows."""

    def network_changed(self) -> None:
        """An address that is gone ends it; one that has come changes nothing."""

    def overdue(self, times: float) -> bool:
        """The kernel alone knows what it sends again, and says nothing for minutes."""
        return False

    def unanswered(self) -> float:
        return 0.0

    def ask(self) -> None:
        """Who uses the link asks with a frame."""

    def drain(self) -> None:
        """What the kernel has was not counted."""

    def finish(self, words: bytes) -> None:
        # A peer that misses it finds out when it asks.
        with contextlib.suppress(OSError, LinkError):
            last = self.records.protect(words)
            self.socket.send(self._remainder + last + self.records.farewell())
        self._let_go()
        OrderlyEnd(self.socket, self._loop)

    def close(self) -> None:
        self._let_go()
        self.socket.close()

    def _let_go(self) -> None:
        """Nothing is written or heard any more."""
        self._crossed = self.crossed
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._carried is not None:
            self._carried = None
            self._loop.remove_reader(self.socket)
            self._loop.remove_writer(self.socket)

    # -- for people ----------------------------------------------------------------------------

    def tcp_info(self) -> TcpInfo | None:
        """The kernel's view."""
        return tcp_info.read(self.socket)

    def __repr__(self) -> str:
        return f"<TcpConnection {self.socket.fileno()}>"

    # -- the socket ----------------------------------------------------------------------------

    def _begin_writing(self) -> None:
        """A chunk or two, which is what a report allows, without asking the kernel's poll."""
        for _ in range(_AT_ONCE):
            if self._carried is None or not self._writing:
                return
            if not takes_bytes(self.socket):
                break
            self._writable()
        if self._carried is not None and self._writing:
            self._polled = True
            self._loop.add_writer(self.socket, self._writable)

    def _writable(self) -> None:
        """The kernel takes bytes: a chunk or some small ones, chosen now."""
        assert self._carried is not None
        data, more = self._remainder, True
        most = 1 if self._carried.searching else _TOGETHER
        while more and len(data) < most:
            chunk = self._carried.next_bytes()
            if self._carried is None:  # closed by the outbox, when it was asked
                return
            more = chunk is not None
            if chunk is not None:
                data += self.records.protect(chunk)
        try:
            if self._window is not None and data:
                self._keep_window(self._window)
            sent = self.socket.send(data) if data else 0
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._remainder = b""
            self._hear_last_words()
            if self._carried is not None:
                self._carried.failed(LinkError(f"the connection broke: {reason(error)}"))
            return
        self._remainder = data[sent:]
        if not more and not self._remainder:
            self._rest()

    def _keep_window(self, window: KeptWindow) -> None:
        """TCP does not begin anew after a pause, where it can be told not to."""
        for name in window.changes(self._loop.time(), self.tcp_info):
            if not set_control(self.socket, name):
                self._window = None
                return

    def _hear_last_words(self) -> None:
        """Nothing goes any more, but what came before is here: a goodbye, perhaps."""
        while self._carried is not None:
            try:
                data = self.socket.recv(_READ)
                plain, _ = self.records.unprotect(data)
            except (OSError, PeerError, LinkError):
                return
            if not data:
                return
            if plain:
                self._carried.heard(plain)

    def _rest(self) -> None:
        """Nothing may or wants to go: until a report, a wake or the next time."""
        assert self._carried is not None
        self._writing = False
        if self._polled:
            self._polled = False
            self._loop.remove_writer(self.socket)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._carried.next_time()
        if due is not None:
            self._timer = self._loop.call_at(due, self._due)

    def _due(self) -> None:
        """The next time is here: without another round of the loop."""
        if not self._writing and self._carried is not None:
            self._writing = True
            self._begin_writing()

    def _readable(self) -> None:
        assert self._carried is not None
        try:
            data, notes, _, _ = self.socket.recvmsg(_READ, kernel_stamps.SPACE)
        except BlockingIOError:
            return
        except OSError as error:
            self._carried.failed(LinkError(f"the connection broke: {reason(error)}"))
            return
        if not data:
            self._end()
            return
        try:
            plain, reply = self.records.unprotect(data)
        except (PeerError, LinkError) as error:
            self._carried.failed(error)
            return
        self._remainder += reply
        wrote, self._hearing = self._writing, True
        try:
            self._carried.heard(plain, age=kernel_stamps.age(notes))
        finally:
            self._hearing = False
        self._look_for_losses()
        if self._writing and not wrote:
            self._begin_writing()

    def _look_for_losses(self) -> None:
        """The kernel repairs them; the link is told that there were some."""
        now = self._loop.time()
        if self._carried is None or now < self._look_at:
            return
        self._look_at = now + _LOSSES
        view = self.tcp_info()
        if view is None:
            return
        if self._window is not None:
            self._window.seen(view)
        before = self._losses.events
        self._losses.add(now, view)
        if self._losses.events > before:
            self._carried.lost(now - view.rtt)
            if self._window is not None:
                self._window.lost(now, view)

    def _end(self) -> None:
        assert self._carried is not None
        try:
            self.records.ended()
        except LinkError as error:
            self._carried.ended(error)
        else:
            self._carried.ended(None)

    def _hear_early(self) -> None:
        """What came before anybody listened, if somebody still does."""
        if self._carried is None:
            return
        try:
            plain, reply = self.records.unprotect(b"")
        except (PeerError, LinkError) as error:
            self._carried.failed(error)
            return
        self._remainder += reply
        early, self._early = self._early + plain, b""
        if early:
            self._carried.heard(early)
