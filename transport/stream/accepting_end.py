"""The accepting end of links that outlive their connections.

Each connection begins with a preamble: it opens a new link or carries one on. A link without a
connection is kept for as long as its peer may be patient, then closed. What a stranger can cost
is a socket for a few seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from transport.link.connection import Connection
from transport.link.interface import LinkError
from transport.link.records import ProvenPeer
from transport.multipath.remote_end import RemoteEnd
from transport.spp.edge.udp import SppListener
from transport.spp.edge.udp import listen as spp_listen
from transport.spp.handshake.keys import ServerKeys
from transport.stream.dialling_end import read_preamble
from transport.stream.preamble import Preamble, What
from transport.stream.stream_link import StreamLink
from transport.tcp.connection import TcpConnection
from transport.tcp.handshakes import listen_secured
from transport.tcp.security import ServerSecurity
from transport.tcp.sockets import Listener
from transport.udp.connection import REMOTE, UdpConnection, congestion, udp_connection
from wire.errors import PeerError

PREAMBLE_TIME: Final = 20.0
"""Seconds for a preamble to come: several round trips of the slowest link."""
MAX_WAITING: Final = 64
"""Connections whose preamble has not come; when there are more, who has most loses its oldest."""
MARGIN: Final = 60.0
"""Seconds by which this end waits longer than its peer means to try: it sees some losses sooner."""
MOST_PATIENCE: Final = 3600.0
"""Seconds that a peer can make a link be kept: it holds memory all the while."""
_log = structlog.get_logger("sluice.link")


@dataclass(slots=True)
class _Kept:
    """A link and, while it has no connection, when it is given up."""

    link: StreamLink
    patience: float
    """Seconds without a connection until it is given up."""
    expiry: asyncio.TimerHandle | None = None


class Reception:
    """Turns accepted connections into links, and gives links their connections back."""

    def __init__(
        self,
        on_link: Callable[[StreamLink], None],
        *,
        patience: float,
        congestion: str | None,
        new_token: Callable[[], bytes],
        measures: bool = False,
    ) -> None:
        """`on_link` gets each new link and starts it. `patience`: seconds without a connection,
        at least. `measures`: what others leave of each device's path, over UDP.

        `new_token` gives preamble.TOKEN bytes that nobody can guess.
        """
        self._on_link = on_link
        self._patience = patience
        self._congestion = congestion
        self._new_token = new_token
        self._measures = measures
        self._loop = asyncio.get_running_loop()
        self._kept: dict[bytes, _Kept] = {}
        self._arriving: dict[asyncio.Task[None], Connection] = {}
        self._several: dict[tuple[ProvenPeer, bytes], RemoteEnd] = {}
        """Connections over several paths that are not over, by their devices and names."""

    async def listen(
        self, host: str, port: int, *, security: ServerSecurity | None = None
    ) -> Listener:
        """With `security` for those that it knows. Raises LinkError."""
        return await listen_secured(
            host, port, self._accept_tcp, congestion=self._congestion, security=security
        )

    async def listen_udp(self, host: str, port: int, *, keys: ServerKeys) -> SppListener:
        """For the devices of `keys`, over UDP. Raises LinkError."""
        return await spp_listen(
            host,
            port,
            lambda link: self.accept(udp_connection(link, lingers=True)),
            keys=keys,
            settings=REMOTE,
            congestion=congestion,
        )

    @property
    def links(self) -> int:
        """Links that are not closed, with a connection or without."""
        return len(self._kept)

    @property
    def arriving(self) -> int:
        """Connections that have not said what they are for."""
        return len(self._arriving)

    def given_up_at(self, link: object) -> float | None:
        """When that link is closed, on the loop's clock; None: it has a connection."""
        for kept in self._kept.values():
            if kept.link is link and kept.expiry is not None:
                return kept.expiry.when()
        return None

    def accept(self, connection: Connection) -> None:
        """Take a connection that has just been made."""
        if len(self._arriving) >= MAX_WAITING:
            self._give_one_arrival_up()
        task = self._loop.create_task(self._arrive(connection))
        self._arriving[task] = connection
        task.add_done_callback(self._arrived)

    def _give_one_arrival_up(self) -> None:
        """One device's crowd takes no other's place."""
        waiting = {task: one for task, one in self._arriving.items() if not task.cancelling()}
        crowds = Counter(connection.peer for connection in waiting.values())
        most = max(crowds.values(), default=0)
        oldest = (task for task, connection in waiting.items() if crowds[connection.peer] == most)
        if (task := next(oldest, None)) is not None:
            task.cancel()

    def _accept_tcp(self, connection: TcpConnection) -> None:
        connection.socket.setblocking(False)
        connection.keep_alive()
        self.accept(connection)

    def expect(self, link: object, seconds: float) -> None:
        """The peer of that link says for how long it will try to get a lost one back."""
        wanted = min(seconds + MARGIN, MOST_PATIENCE)
        for kept in self._kept.values():
            if kept.link is link:
                kept.patience = max(self._patience, wanted)

    def give_one_up(self) -> bool:
        """Close the oldest link that has no connection; whether there was one."""
        for kept in self._kept.values():
            if kept.expiry is not None:
                kept.link.close(LinkError("others needed its place while it had no connection"))
                return True
        return False

    def close(self) -> None:
        """Close every link and turn away who is arriving."""
        for task in list(self._arriving):
            task.cancel()
        for kept in list(self._kept.values()):
            kept.link.close()

    def _arrived(self, task: asyncio.Task[None]) -> None:
        connection = self._arriving.pop(task)
        if task.cancelled():
            connection.close()
        elif (error := task.exception()) is not None:
            connection.close()
            _log.info("a connection came to nothing", reason=str(error) or type(error).__name__)

    async def _arrive(self, connection: Connection) -> None:
        async with asyncio.timeout(PREAMBLE_TIME):
            asked = await read_preamble(connection)
            if asked.what is What.SEGMENTS and isinstance(connection, TcpConnection):
                connection.segment_stream()
                asked = await read_preamble(connection)
            if asked.what is What.RESUME:
                await self._resume(connection, asked)
            elif asked.what is What.OPEN:
                await self._open(connection)
            elif asked.what is What.JOIN and isinstance(connection, UdpConnection):
                self._join(connection, asked.token)
            else:
                raise PeerError(f"a connection began with {asked.what.name}")

    def _join(self, connection: UdpConnection, token: bytes) -> None:
        """A path of a connection that its device has named so: the first, or another. Raises
        LinkError."""
        peer = connection.peer
        assert peer is not None  # over UDP everybody has proved who he is
        link, early = connection.hand_over()
        name = (peer, token)
        end = self._several.get(name)
        if end is None:
            end = RemoteEnd(peer, on_over=lambda: self._several.pop(name, None))
            self._several[name] = end
            self.accept(end)
        try:
            end.join(link, early)
        except LinkError:
            link.close()
            raise

    async def _open(self, connection: Connection) -> None:
        token = self._new_token()
        await connection.send(Preamble(What.OPEN, token).encode())
        link = StreamLink(
            connection,
            congestion=self._congestion,
            on_lost=lambda error: self._lost(token, error),
            measures=self._measures,
        )
        self._kept[token] = _Kept(link, self._patience)
        self._on_link(link)

    async def _resume(self, connection: Connection, asked: Preamble) -> None:
        kept = self._kept.get(asked.token)
        if kept is None or kept.link.peer != connection.peer:  # a token is its device's only
            connection.finish(Preamble(What.UNKNOWN).encode())
            return
        # A link whose connection seems to live has lost it all the same: its peer says so.
        answer = Preamble(What.RESUME, asked.token, kept.link.release())
        if kept.expiry is None:
            self._expire(asked.token, kept)
        await connection.send(answer.encode())
        if kept.expiry is not None:
            kept.expiry.cancel()
            kept.expiry = None
        with contextlib.suppress(LinkError):  # the link has closed itself, its session knows why
            kept.link.resume(connection, asked.received)

    def _lost(self, token: bytes, error: LinkError | None) -> None:
        kept = self._kept.get(token)
        if kept is None:
            return
        if error is None:
            del self._kept[token]
            if kept.expiry is not None:
                kept.expiry.cancel()
        elif kept.expiry is None:
            _log.info("a link waits for its next connection", reason=str(error))
            self._expire(token, kept)

    def _expire(self, token: bytes, kept: _Kept) -> None:
        kept.expiry = self._loop.call_later(kept.patience, self._give_up, token)

    def _give_up(self, token: bytes) -> None:
        kept = self._kept[token]
        kept.link.close(LinkError(f"no connection came for {kept.patience:g} s"))
