"""The implementations of NAI, alike to a bench: messages go in at one end at their times, and what
came out of the other end is judged there (ATP, section 5.2).

    outcomes = await play(messages, IMPLEMENTATIONS["NAI-TCP"], model)

All get the same line: a rate that follows a schedule, a queue of 50 packets, headers of 40 bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from admission.admission import Protects
from emulation.memory.carrier import CarrierModel, memory_carriers
from emulation.memory.tcp_model import SharedPath
from transport.nai.baselines.nai_mtcp import NaiMtcp
from transport.nai.baselines.nai_tcp import MessageFate, NaiTcp
from transport.nai.carriers.streams import CarrierStream, received
from transport.nai.endpoint import NaiConnection, NewEstimator, improved, paper
from transport.nai.messages.message import MessageState

MOST_STREAMS: Final = 4
"""Connections of high priority: NAI-MTCP1 to NAI-MTCP4."""
_AFTERWARDS: Final = 30.0
"""Seconds for what is on its way when the last message has entered."""
_NUMBER: Final = 4
"""Bytes of a message that say which it is."""


@dataclass(frozen=True, slots=True, order=True)
class MessageEntry:
    """A message enters the system. Seconds and bytes."""

    at: float
    size: int
    timer: float
    priority: int


@dataclass(slots=True)
class MessengerOutcome:
    """What came of it."""

    entry: MessageEntry
    arrived: float | None = None
    """When all of it was at the receiver."""
    said: bool = False
    """Delivered in time by the sender's word, as the paper counts: ATP's when the last byte has
    gone to the carrier, the others' when the acknowledgement has come."""

    @property
    def in_time(self) -> bool:
        """It was at the receiver within its time: the same for all implementations."""
        return self.arrived is not None and self.arrived <= self.entry.at + self.entry.timer


Arrived = Callable[[bytes], None]
Word = Callable[[], bool]


class Messenger(Protocol):
    """Both ends of an implementation."""

    def submit(self, data: bytes, entry: MessageEntry) -> Word:
        """Queue it; what tells whether it was delivered in time."""

    async def close(self) -> None: ...


Start = Callable[[CarrierModel, Arrived, Sequence[int]], Messenger]
"""Makes both ends: `priorities` in use, the highest first."""


class Atp:
    """ATP, lower priorities making way as in the paper's experiments."""

    def __init__(
        self, model: CarrierModel, arrived: Arrived, estimator: NewEstimator, *, standby: bool
    ) -> None:
        near, far = memory_carriers(model)
        self.line = near.line
        self.near = NaiConnection(
            near, estimator=estimator, protects=Protects.PEERS, standby=standby
        )
        self.far = NaiConnection(far)
        self._arrived = arrived
        self._taking = asyncio.create_task(self._take())

    def submit(self, data: bytes, entry: MessageEntry) -> Word:
        sent = self.near.submit(data, priority=entry.priority, timer=entry.timer)
        return lambda: sent.state is MessageState.DELIVERED

    async def close(self) -> None:
        self.near.close()
        self.far.close()
        await self._taking

    async def _take(self) -> None:
        async for message in self.far.messages():
            self._arrived(message.data)


class _Streams:
    """Either of those over TCP streams."""

    def __init__(
        self,
        model: CarrierModel,
        arrived: Arrived,
        counts: Mapping[int, int],
        sender: Callable[[Mapping[int, Sequence[CarrierStream]]], NaiTcp | NaiMtcp],
    ) -> None:
        """`counts`: of connections, by priority."""
        path = SharedPath(model)
        pairs = {level: [path.connect() for _ in range(many)] for level, many in counts.items()}
        self._sender = sender({level: [one for one, _ in two] for level, two in pairs.items()})
        self._arrived = arrived
        self._taking = [
            asyncio.create_task(self._take(far)) for several in pairs.values() for _, far in several
        ]

    def submit(self, data: bytes, entry: MessageEntry) -> Word:
        sent = self._sender.submit(data, priority=entry.priority, timer=entry.timer)
        return lambda: sent.fate.done() and sent.fate.result() is MessageFate.DELIVERED

    async def close(self) -> None:
        self._sender.close()
        for task in self._taking:
            task.cancel()
        await asyncio.gather(*self._taking, return_exceptions=True)
        if self._sender.error is not None:
            raise self._sender.error

    async def _take(self, far: CarrierStream) -> None:
        async for message in received(far):
            self._arrived(message.data)


def _tcp(model: CarrierModel, arrived: Arrived, priorities: Sequence[int]) -> Messenger:
    return _Streams(model, arrived, {0: 1}, lambda streams: NaiTcp(streams[0][0]))


def _mtcp(many: int) -> Start:
    def start(model: CarrierModel, arrived: Arrived, priorities: Sequence[int]) -> Messenger:
        counts = dict.fromkeys(priorities, 1) | {max(priorities): many}
        return _Streams(model, arrived, counts, NaiMtcp)

    return start


def _atp(estimator: NewEstimator, *, standby: bool) -> Start:
    return lambda model, arrived, priorities: Atp(model, arrived, estimator, standby=standby)


IMPLEMENTATIONS: Final[dict[str, Start]] = {
    "ATP": _atp(improved, standby=True),
    "ATP, paper's estimator": _atp(paper, standby=False),
    "NAI-TCP": _tcp,
    **{f"NAI-MTCP{many}": _mtcp(many) for many in range(1, MOST_STREAMS + 1)},
}


async def play(
    messages: Sequence[MessageEntry],
    start: Start,
    model: CarrierModel,
    *,
    beside: Callable[[Messenger], Coroutine[Any, Any, None]] | None = None,
) -> list[MessengerOutcome]:
    """What comes of these, in order of entry. `beside` runs until it is cancelled: an observer."""
    loop = asyncio.get_running_loop()
    outcomes = [MessengerOutcome(entry) for entry in sorted(messages)]
    words: list[Word] = []

    def arrived(data: bytes) -> None:
        outcomes[int.from_bytes(data[:_NUMBER])].arrived = loop.time()

    priorities = sorted({entry.priority for entry in messages}, reverse=True)
    messenger = start(model, arrived, priorities)
    watching = asyncio.create_task(beside(messenger)) if beside is not None else None
    for number, outcome in enumerate(outcomes):
        entry = outcome.entry
        await asyncio.sleep(entry.at - loop.time())
        data = number.to_bytes(_NUMBER) + bytes(entry.size - _NUMBER)
        words.append(messenger.submit(data, entry))
    await asyncio.sleep(_AFTERWARDS)
    if watching is not None:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    for outcome, word in zip(outcomes, words, strict=True):
        outcome.said = word()
    await messenger.close()
    return outcomes
