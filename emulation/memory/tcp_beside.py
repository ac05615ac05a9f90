"""A download of somebody else's by TCP, over the line that a memory link uses too, in virtual time.

    other = TcpBeside(path.down, delay=0.02)
    other.start()
    other.delivered             # bytes, by now

TCP is the model of emulation/tcp/: NewReno with SACK. Its acknowledgements come back after a delay,
over a way that is never full.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from typing import Final

from emulation.memory.datagram_path import HEADERS, PathDirection
from emulation.tcp.sack_receiver import SackReceiver
from emulation.tcp.sack_sender import SackAck, SackSegment, SackSender

PACKET: Final = 1500
"""Bytes of a full one."""
_TCP_HEADERS: Final = 52
"""Bytes: IPv4, TCP, timestamps (RFC 7323)."""
_NUMBER: Final = struct.Struct(">Q")


class TcpBeside:
    """One connection with an endless source. Make it within the loop."""

    def __init__(self, way: PathDirection, *, delay: float) -> None:
        """`delay`: seconds of the way back."""
        self._way, self._delay = way, delay
        self._loop = asyncio.get_running_loop()
        self._mark = way.lend(self._arrived)
        self._sender, self._receiver = SackSender(), SackReceiver()
        self._flying: dict[int, SackSegment] = {}
        self._sent = 0
        self._running = False
        self._wakes: asyncio.TimerHandle | None = None
        self._looks: asyncio.TimerHandle | None = None
        """The only ones: the timer moves with each acknowledgement."""

    @property
    def delivered(self) -> int:
        """Bytes of data that have come in order."""
        return self._receiver.upto * (PACKET - _TCP_HEADERS)

    def start(self) -> None:
        self._running = True
        self._turn()

    def stop(self) -> None:
        """Nothing more is sent."""
        self._running = False

    def _turn(self) -> None:
        if not self._running:
            return
        now = self._loop.time()
        if self._sender.timer is not None and self._sender.timer <= now:
            self._sender.time_out(now)
        for segment in self._sender.to_send(now):
            self._sent += 1
            self._flying[self._sent] = segment
            named = self._mark + _NUMBER.pack(self._sent)
            self._way.send(named + bytes(PACKET - HEADERS - len(named)), now)
        if self._sender.timer is not None:
            self._wakes = self._by(self._sender.timer, self._wakes, self._wake)
        due = self._way.next_time()
        if due is not None:
            self._looks = self._by(max(due, now), self._looks, self._look)

    def _by(
        self, due: float, planned: asyncio.TimerHandle | None, call: Callable[[], None]
    ) -> asyncio.TimerHandle:
        """Has `call` happen at that time, unless it is `planned` for an earlier one."""
        if planned is not None:
            if planned.when() <= due:
                return planned
            planned.cancel()
        return self._loop.call_at(due, call)

    def _wake(self) -> None:
        self._wakes = None
        self._turn()

    def _look(self) -> None:
        self._looks = None
        self._way.look(self._loop.time())
        self._turn()

    def _arrived(self, datagram: bytes, now: float) -> None:
        (number,) = _NUMBER.unpack_from(datagram, len(self._mark))
        segment = self._flying.pop(number)
        if (ack := self._receiver.received(segment, now)) is not None:
            self._answer(ack)
        elif self._receiver.timer is not None:
            self._loop.call_at(self._receiver.timer, self._late)
        self._loop.call_soon(self._turn)

    def _late(self) -> None:
        now = self._loop.time()
        if self._receiver.timer is not None and self._receiver.timer <= now:
            self._answer(self._receiver.acknowledge(now))

    def _answer(self, ack: SackAck) -> None:
        self._loop.call_later(self._delay, self._acknowledged, ack)

    def _acknowledged(self, ack: SackAck) -> None:
        self._sender.acknowledged(ack, self._loop.time())
        self._turn()
