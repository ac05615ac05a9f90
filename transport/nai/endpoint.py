"""NAI for applications: connections that send and receive messages, over asyncio.

    async with await connect(host, port) as connection:
        await connection.send(b"now", priority=2, timer=0.5)
        sent = connection.submit(picture, queue="pictures", timer=3, on_timer=ask)
        async for message in connection.messages(): ...

Thin: what is decided is decided in atp.py and receiver.py, which know no clock. This calls them when
their time has come, and calls the application back.
"""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Final

from transport import tcp
from transport.nai.admission import Protects
from transport.nai.atp import Sender, SenderStatistics
from transport.nai.bandwidth import Watch
from transport.nai.carrier import Carrier
from transport.nai.errors import CarrierError, NotSent, PeerFault
from transport.nai.estimator import Estimate, Estimator, PaperEstimator
from transport.nai.improved import ImprovedEstimator
from transport.nai.message import Cancel, Expiry, Message, Source, State, Verdict
from transport.nai.receiver import MEMORY, Received, Receiver, ReceiverStatistics
from transport.nai.segments import Padding, TcpSegments

UNREAD: Final = 16 << 20
"""Bytes of messages that the application has not taken; from there on the carrier stops reading."""
_PER_UNREAD: Final = 256
"""Bytes of bookkeeping of one, about."""

OnTimer = Callable[["Outgoing", Expiry], Verdict | None | Awaitable[Verdict | None]]
"""Called when a message is refused, or its timer expires, early or late; the message is suspended.
The verdict says what becomes of it; None: Cancel."""
NewEstimator = Callable[[Carrier, float], Estimator]


def paper(carrier: Carrier, now: float) -> Estimator:
    """The paper's estimator, figure 3."""
    return PaperEstimator(now=now, capacity=carrier.capacity)


def improved(carrier: Carrier, now: float) -> Estimator:
    """The quicker one; the default."""
    return ImprovedEstimator(now=now, segment=carrier.takes(carrier.segment))


class Outgoing:
    """A message that was submitted. The methods raise NaiError once it has ended."""

    __slots__ = ("_connection", "_done", "message")

    def __init__(self, connection: Connection, message: Message) -> None:
        self._connection = connection
        self._done: asyncio.Future[State] | None = None
        self.message = message

    @property
    def state(self) -> State:
        return self.message.state

    @property
    def left(self) -> int:
        """Bytes that have not gone to the carrier."""
        return self.message.left

    @property
    def error(self) -> Exception | None:
        """Why it was cancelled, if not on purpose."""
        return self.message.error

    async def done(self) -> State:
        """Wait until it has ended: delivered, cancelled or rejected."""
        if self.message.state.ended:
            return self.message.state
        if self._done is None:
            self._done = asyncio.get_running_loop().create_future()
            self.message.on_end = self._ended
        return await asyncio.shield(self._done)

    def suspend(self) -> None:
        """Send no more of it until it is resumed; its timer stops."""
        self._connection.sender.suspend(self.message)

    def defer(self, seconds: float | None = None) -> None:
        """The same; it goes on by itself after so many seconds, if any."""
        self._connection.sender.defer(self.message, self._connection.now, seconds=seconds)
        self._connection.wake()

    def resume(self) -> None:
        """Send what is left; its timer begins anew."""
        self._connection.sender.resume(self.message, self._connection.now)
        self._connection.wake()

    def restart(self) -> None:
        """Send it from its first byte; a rejected one is tried again."""
        self._connection.sender.restart(self.message, self._connection.now)
        self._connection.wake()

    def cancel(self) -> None:
        """Send no more of it, ever; the receiver drops what it has."""
        self._connection.sender.cancel(self.message)
        self._connection.wake()

    def prioritise(self, priority: int) -> bool:
        """Give it another priority; False: that would break timers, all stays as it was."""
        done = self._connection.sender.prioritise(self.message, priority, self._connection.now)
        self._connection.wake()
        return done

    def _ended(self, message: Message) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(message.state)

    def __repr__(self) -> str:
        return f"<Outgoing {self.message!r}>"


class Queue:
    """A message queue: its messages share the link with other queues', by weights (queues.py)."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self.name = name

    def submit(
        self,
        data: bytes | Source,
        *,
        size: int | None = None,
        priority: int = 0,
        timer: float | None = None,
        on_timer: OnTimer | None = None,
    ) -> Outgoing:
        """As Connection.submit."""
        return self._connection.submit(
            data, size=size, priority=priority, queue=self.name, timer=timer, on_timer=on_timer
        )


class Connection:
    """Both directions over one carrier. Made by `connect` and `listen`, or over any other carrier."""

    def __init__(
        self,
        carrier: Carrier,
        *,
        estimator: NewEstimator = improved,
        protects: Protects = Protects.ALL,
        memory: int = MEMORY,
    ) -> None:
        """Call it from within the loop it shall run in. `memory`: bytes of unfinished messages."""
        self._loop = asyncio.get_running_loop()
        self._carrier = carrier
        now = self._loop.time()
        self.sender = Sender(carrier, estimator(carrier, now), now=now, protects=protects)
        """The core, for statistics and for whoever needs more than this class has."""
        self._receiver = Receiver(memory=memory)
        self._unread: deque[Received] = deque()
        self._unread_bytes = 0
        self._reading = True
        self._news = asyncio.Event()
        self._closed = False
        self._error: Exception | None = None
        self._turning = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
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
    ) -> Outgoing:
        """Queue a message: bytes, or a source that gives (offset, length) of `size` bytes.

        `timer`: seconds in which all of it is to be sent. Without `on_timer` it is dropped when it
        can't be: state rejected (never begun) or cancelled. Raises NaiError for what can't be sent.
        """
        message = Message(data, size=size, priority=priority, queue=queue, timer=timer)
        outgoing = Outgoing(self, message)
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
        if state is not State.DELIVERED:
            raise NotSent(f"the message was {state}") from outgoing.error

    def queue(self, name: str) -> Queue:
        """A message queue by its name, at most 32 bytes of UTF-8."""
        return Queue(self, name)

    def watch_bandwidth(
        self, low: float, high: float, callback: Callable[[float], object]
    ) -> Watch:
        """Call back once when what is available leaves [low, high] bytes/second."""
        watch = self.sender.watch_bandwidth(low, high, callback)
        self.wake()
        return watch

    def unwatch(self, watch: Watch) -> None:
        """Don't."""
        self.sender.unwatch(watch)

    @property
    def estimate(self) -> Estimate:
        """What the link carries towards the peer."""
        return self.sender.estimate

    # -- receiving ---------------------------------------------------------------------------

    async def messages(self) -> AsyncIterator[Received]:
        """Messages as they are complete, until either end closes. Raises PeerFault, CarrierError."""
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

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

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
        except PeerFault as error:
            self.carrier_closed(error)
            self._carrier.close()
            return
        if messages:
            self._unread.extend(messages)
            self._count_unread(sum(len(one.data) + _PER_UNREAD for one in messages))
            self._news.set()
        for reply in self._receiver.replies():
            self.sender.send_control(reply)
            self.wake()
        answer, self._receiver.answer = self._receiver.answer, None
        if answer is not None:
            self.sender.polled(answer.size, answer.seconds, now)
            self.wake()

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

    # -- the application's callbacks ---------------------------------------------------------

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
        self._call_back()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._closed and not self._turning:
            self._timer = self._loop.call_at(self.sender.next_time(now), self._turn)

    def _call_back(self) -> None:
        """Those who were told of this turn; what they cause is for the next one."""
        crossed, expired = list(self.sender.crossed), list(self.sender.expired)
        self.sender.crossed.clear()
        self.sender.expired.clear()
        for watch, available in crossed:
            self._guarded(watch.callback, available)
            self.wake()
        for message, expiry in expired:
            if message.asked is not None and message.on_timer is not None:
                self._ask(message, expiry)

    def _ask(self, message: Message, expiry: Expiry) -> None:
        assert message.on_timer is not None
        try:
            verdict = message.on_timer(message, expiry)
        except Exception as error:
            self._report("a callback timer's function raised", error)
            message.error, verdict = error, Cancel()
        if inspect.isawaitable(verdict):
            self._start(self._answer_later(message, verdict))
        else:
            self.sender.answer(message, verdict, self.now)
            self.wake()

    async def _answer_later(self, message: Message, verdict: Awaitable[Verdict | None]) -> None:
        asked = message.asked
        try:
            said = await verdict
        except Exception as error:
            self._report("a callback timer's function raised", error)
            message.error, said = error, Cancel()
        if message.asked is asked:
            self.sender.answer(message, said, self.now)
        self.wake()

    def _guarded(self, callback: Callable[[float], object], available: float) -> None:
        try:
            result = callback(available)
        except Exception as error:
            self._report("a bandwidth callback raised", error)
            return
        if inspect.isawaitable(result):
            self._start(self._awaited(result))

    async def _awaited(self, result: Awaitable[object]) -> None:
        try:
            await result
        except Exception as error:
            self._report("a bandwidth callback raised", error)

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _report(self, what: str, error: Exception) -> None:
        self._loop.call_exception_handler({"message": what, "exception": error})

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
    padding: Padding = Padding.NONE,
    estimator: NewEstimator = improved,
    protects: Protects = Protects.ALL,
    memory: int = MEMORY,
) -> Connection:
    """A connection over TCP segments. Raises transport.link.LinkError."""
    carrier = TcpSegments(await tcp.dial(host, port), padding=padding)
    return Connection(carrier, estimator=estimator, protects=protects, memory=memory)


async def listen(
    host: str,
    port: int,
    on_connection: Callable[[Connection], None],
    *,
    padding: Padding = Padding.NONE,
    estimator: NewEstimator = improved,
    protects: Protects = Protects.ALL,
    memory: int = MEMORY,
) -> tcp.Listener:
    """Hand each connection over TCP segments to `on_connection`. Raises transport.link.LinkError."""

    def accepted(connection: socket.socket) -> None:
        carrier = TcpSegments(connection, padding=padding)
        on_connection(
            Connection(carrier, estimator=estimator, protects=protects, memory=memory)
        )

    return await tcp.listen(host, port, accepted, congestion=None)
