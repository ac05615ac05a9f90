"""NAI for applications: connections that send and receive messages, over asyncio.

    async with await connect(host, port) as connection:
        await connection.send(b"now", priority=2, timer=0.5)
        sent = connection.submit(picture, queue="pictures", timer=3, on_timer=ask)
        async for message in connection.messages(): ...

Thin: what is decided is decided in atp.py and receiving/receiver.py, which know no clock. This
calls them when their time has come, and calls the application back.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable, Container
from types import TracebackType
from typing import Final

from admission.admission import Protects
from transport.nai import headers
from transport.nai.atp import AtpSender
from transport.nai.carriers.interface import Carrier
from transport.nai.carriers.segments import Filler, TcpSegments
from transport.nai.errors import CarrierError, NaiError, NotSent, NotTaken, SegmentFault
from transport.nai.estimators.bandwidth import BandwidthWatch
from transport.nai.estimators.estimator import Estimator, NaiEstimate, PaperEstimator
from transport.nai.estimators.improved import ImprovedEstimator
from transport.nai.headers import Fault, Polled, RefusedMessage
from transport.nai.messages.callbacks import Callbacks
from transport.nai.messages.handles import OnTimer, Queue, SubmittedMessage
from transport.nai.messages.message import MessageState, NaiMessage, Source
from transport.nai.receiving.receiver import MEMORY, Received, Receiver, ReceiverStatistics
from transport.nai.statistics import SenderStatistics
from transport.tcp import sockets

UNREAD: Final = 16 << 20
"""Bytes of messages that the application has not taken; from there on the carrier stops reading."""
_PER_UNREAD: Final = 256
"""Bytes of bookkeeping of one, about."""

NewEstimator = Callable[[Carrier, float], Estimator]


def paper(carrier: Carrier, now: float) -> Estimator:
    """The paper's estimator, figure 3."""
    return PaperEstimator(now=now, capacity=carrier.capacity)


def improved(carrier: Carrier, now: float) -> Estimator:
    """The quicker one; the default."""
    return ImprovedEstimator(now=now, segment=carrier.takes(carrier.segment))


class NaiConnection:
    """Both directions over one carrier. Made by `connect` and `listen`, or over any other
    carrier."""

    def __init__(
        self,
        carrier: Carrier,
        *,
        estimator: NewEstimator = improved,
        protects: Protects = Protects.ALL,
        memory: int = MEMORY,
        queues: Container[str] | None = None,
        standby: bool = False,
        on_refused: Callable[[NotTaken], object] | None = None,
    ) -> None:
        """Call it from within the loop it shall run in. `memory`: bytes of unfinished messages;
        `queues`: the names of those whose messages are taken, None: all; `standby`: messages
        without `on_timer` wait for more bandwidth while their timers run. `on_refused` hears of
        messages that the other end did not take, those that had been sent whole, too."""
        self._loop = asyncio.get_running_loop()
        self._carrier = carrier
        now = self._loop.time()
        self.sender = AtpSender(
            carrier, estimator(carrier, now), protects=protects, standby=standby
        )
        """The core, for statistics and for whoever needs more than this class has."""
        self._receiver = Receiver(memory=memory, queues=queues)
        self._on_refused = on_refused
        self._unread: deque[Received] = deque()
        self._unread_bytes = 0
        self._reading = True
        self._news = asyncio.Event()
        self._closed = False
        self._error: Exception | None = None
        self._turning = False
        self._timer: asyncio.TimerHandle | None = None
        self._callbacks = Callbacks(self.sender, self.wake)
        carrier.start(self)
        self.wake()

    # -- sending -----------------------------------------------------------------------------

    def submit(
        self,
        data: bytes | Source,
        *,
        size: int | None = None,
        priority: int = 0,
        queue: str = "",
        timer: float | None = None,
        on_timer: OnTimer | None = None,
    ) -> SubmittedMessage:
        """Queue a message: bytes, or a source that gives (offset, length) of `size` bytes.

        `timer`: seconds in which all of it is to be sent. Without `on_timer` it is dropped when it
        can't be: state rejected (never begun) or cancelled. Raises NaiError for what can't be sent.
        """
        message = NaiMessage(data, size=size, priority=priority, queue=queue, timer=timer)
        outgoing = SubmittedMessage(self, message)
        if on_timer is not None:
            message.on_timer = lambda _, expiry: on_timer(outgoing, expiry)
        self.sender.submit(message, self.now)
        self.wake()
        return outgoing

    async def send(
        self,
        data: bytes | Source,
        *,
        size: int | None = None,
        priority: int = 0,
        queue: str = "",
        timer: float | None = None,
        on_timer: OnTimer | None = None,
    ) -> None:
        """Submit and wait until it is sent. Raises NotSent if it was not."""
        outgoing = self.submit(
            data, size=size, priority=priority, queue=queue, timer=timer, on_timer=on_timer
        )
        try:
            state = await outgoing.done()
        except asyncio.CancelledError:
            outgoing.cancel()
            raise
        if state is not MessageState.DELIVERED:
            raise NotSent(f"the message was {state}") from outgoing.error

    def queue(self, name: str) -> Queue:
        """A message queue by its name, at most 32 bytes of UTF-8."""
        return Queue(self, name)

    def watch_bandwidth(
        self, low: float, high: float, callback: Callable[[float], object]
    ) -> BandwidthWatch:
        """Call back once when what is available leaves [low, high] bytes/second."""
        watch = self.sender.watch_bandwidth(low, high, callback)
        self.wake()
        return watch

    def unwatch(self, watch: BandwidthWatch) -> None:
        """Ends a watch: no more is told."""
        self.sender.unwatch(watch)

    @property
    def estimate(self) -> NaiEstimate:
        """What the link carries towards the peer."""
        return self.sender.estimate

    # -- receiving ---------------------------------------------------------------------------

    @property
    def unread(self) -> int:
        """Bytes that complete messages take which nobody has read."""
        return self._unread_bytes

    async def messages(self) -> AsyncIterator[Received]:
        """Messages as they are complete, until either end closes. Raises PeerFault,
        CarrierError."""
        while True:
            while self._unread:
                message = self._unread.popleft()
                self._count_unread(-len(message.data) - _PER_UNREAD)
                yield message
            if self._closed:
                if self._error is not None:
                    raise self._error
                return
            self._news.clear()
            await self._news.wait()

    # -- its life ----------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The loop's clock, seconds."""
        return self._loop.time()

    def close(self) -> None:
        """Cancel what has not been sent; what has, the carrier delivers if it can."""
        self._carrier.close()
        self.carrier_closed(None)

    async def __aenter__(self) -> NaiConnection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        await self._callbacks.stop()

    def statistics(self) -> tuple[SenderStatistics, ReceiverStatistics]:
        """Immutable snapshots of both directions."""
        return self.sender.statistics(), self._receiver.statistics()

    def wake(self) -> None:
        """Something is to be done; it is, once, before the loop waits again."""
        if not self._turning and not self._closed:
            self._turning = True
            self._loop.call_soon(self._turn)

    # -- what the carrier tells --------------------------------------------------------------

    def segment_received(self, payload: bytes, *, now: float) -> None:
        if self._closed:
            return
        try:
            messages = self._receiver.receive(payload, now)
        except SegmentFault as error:
            if self._carrier.room(now) >= self._carrier.segment:
                self._carrier.send(headers.fault(str(error)), now)
            self._end(error)
            return
        if messages:
            self._unread.extend(messages)
            self._count_unread(sum(len(one.data) + _PER_UNREAD for one in messages))
            self._news.set()
        for reply in self._receiver.replies():
            self.sender.send_control(reply)
            self.wake()
        said, self._receiver.said = self._receiver.said, []
        for one in said:
            self._hear(one, now)

    def room_made(self) -> None:
        self.wake()

    def carrier_closed(self, error: Exception | None) -> None:
        if self._closed:
            return
        self._closed, self._error = True, error
        if self._timer is not None:
            self._timer.cancel()
        self.sender.close(error)
        self._news.set()

    # -- inside ------------------------------------------------------------------------------

    def _hear(self, said: Polled | RefusedMessage | Fault, now: float) -> None:
        """What the peer's receiver says of what we sent."""
        if isinstance(said, Polled):
            self.sender.polled(said.size, said.seconds, now)
        elif isinstance(said, Fault):
            self._end(CarrierError(f"the other end ended the connection: {said.text}"))
            return
        else:
            message, error = self.sender.known.refusal(said)
            if message is not None:
                self.sender.cancel(message, error)
            if self._on_refused is not None:
                self._callbacks.tell(self._on_refused, error)
        self.wake()

    def _end(self, error: NaiError) -> None:
        self.carrier_closed(error)
        self._carrier.close()

    def _turn(self) -> None:
        self._turning = False
        if self._closed:
            return
        now = self.now
        try:
            self.sender.turn(now)
        except OSError as error:
            self.carrier_closed(CarrierError(str(error)))
            return
        self._callbacks.call()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._closed and not self._turning:
            self._timer = self._loop.call_at(self.sender.next_time(now), self._turn)

    def _count_unread(self, size: int) -> None:
        self._unread_bytes += size
        wanted = self._unread_bytes < UNREAD
        if wanted != self._reading and not self._closed:
            self._reading = wanted
            self._carrier.reading(wanted)


async def connect(
    host: str,
    port: int,
    *,
    padding: Filler = Filler.NONE,
    estimator: NewEstimator = improved,
    protects: Protects = Protects.ALL,
    memory: int = MEMORY,
) -> NaiConnection:
    """A connection over TCP segments. Raises transport.link.interface.LinkError."""
    carrier = TcpSegments(await sockets.dial(host, port), padding=padding)
    return NaiConnection(carrier, estimator=estimator, protects=protects, memory=memory)


async def listen(
    host: str,
    port: int,
    on_connection: Callable[[NaiConnection], None],
    *,
    padding: Filler = Filler.NONE,
    estimator: NewEstimator = improved,
    protects: Protects = Protects.ALL,
    memory: int = MEMORY,
) -> sockets.Listener:
    """Hand each connection over TCP segments to `on_connection`. Raises
    transport.link.interface.LinkError."""

    def accepted(connection: socket.socket) -> None:
        carrier = TcpSegments(connection, padding=padding)
        on_connection(NaiConnection(carrier, estimator=estimator, protects=protects, memory=memory))

    return await sockets.listen(host, port, accepted, congestion=None)
