"""Steps that an end spares itself: of many reports one is heard, small chunks share a call, and
where nothing has changed it is not asked again what goes next."""

from __future__ import annotations

import asyncio
import socket
import time
from typing import Any

import pytest

from bench.scenarios.links.gate import EndlessOutbox, Silent
from tests.transport.stamping import stamping
from tests.transport.test_last_words import connected
from transport.gate.controller import Gate
from transport.link.connection import DeliveryReport
from transport.link.interface import LinkError
from transport.stream.endpoint import Endpoint
from transport.tcp.connection import TcpConnection
from wire.frames import CLOCK_TICK, Data, FrameWriter, Report

RATE = 50_000.0
DELAY = 0.05


def at_work() -> tuple[Endpoint, float, int]:
    """An end that knows its link, when, and how much it has sent."""
    endpoint = Endpoint(EndlessOutbox(1024), now=0.0)
    writer, now, sent, free_at = FrameWriter(), 0.0, 0, 0.0
    due: list[tuple[float, int, float]] = []
    while endpoint.gate.starting or now < 2.0:
        while chunk := endpoint.next_chunk(now):
            sent += len(chunk)
            free_at = max(free_at, now) + len(chunk) / RATE
            due.append((free_at + DELAY, sent, free_at))
        now = round(now + 0.001, 3)
        while due and due[0][0] <= now:
            _, received, at = due.pop(0)
            endpoint.receive(now, writer.encode(Report(received, round(at / CLOCK_TICK))))
    return endpoint, now, due[0][1]


@pytest.mark.parametrize(("many", "heard"), [(3, 3), (4, 1), (12, 1)])
def test_of_many_reports_in_one_read_the_newest_is_heard(
    monkeypatch: pytest.MonkeyPatch, many: int, heard: int
) -> None:
    endpoint, now, received = at_work()
    under_way, told = endpoint.gate.under_way, 0
    assert under_way > many * 100
    hear = Gate.on_report

    def counted(self: Gate, now: float, received: int, clock: int) -> None:
        nonlocal told
        told += 1
        hear(self, now, received, clock)

    monkeypatch.setattr(Gate, "on_report", counted)
    writer, known = FrameWriter(), received - 1024
    steps = [
        Report(known + 10 * n, round((now + n / 1000) / CLOCK_TICK)) for n in range(1, many + 1)
    ]
    before = endpoint.gate.under_way
    endpoint.receive(now + 0.2, b"".join(writer.encode(one) for one in steps))
    assert told == heard
    assert before - endpoint.gate.under_way >= 10 * (many - 1)


class Chunks:
    """A link that has small chunks to send, and a socket that counts its calls."""

    def __init__(self, *, searching: bool) -> None:
        self.searching = searching
        self.left = [bytes([number]) * 250 for number in range(6)]

    def next_bytes(self) -> bytes | None:
        return self.left.pop(0) if self.left else None

    def next_time(self) -> float | None:
        return None

    def heard(self, data: bytes, *, age: float = 0.0) -> None:
        raise AssertionError

    def delivered(self, news: DeliveryReport) -> None:
        raise AssertionError

    def lost(self, sent_at: float) -> None:
        raise AssertionError

    def ended(self, error: LinkError | None) -> None:
        raise AssertionError

    def failed(self, error: Exception) -> None:
        raise AssertionError


class Counting(socket.socket):
    calls = 0

    def send(self, data: Any, flags: int = 0) -> int:  # type: ignore[override]
        self.calls += 1
        return super().send(data, flags)


@pytest.mark.parametrize(("searching", "calls"), [(True, 6), (False, 1)])
def test_small_chunks_go_in_one_call_once_the_path_is_known(searching: bool, calls: int) -> None:
    async def go() -> None:
        ours, theirs = connected()
        counting = Counting(fileno=ours.detach())
        connection, chunks = TcpConnection(counting), Chunks(searching=searching)
        every = b"".join(chunks.left)
        connection.start(chunks)
        came = b""
        async with asyncio.timeout(60):
            while len(came) < len(every):
                came += await asyncio.get_running_loop().sock_recv(theirs, 4096)
        assert came == every
        assert counting.calls == calls
        connection.close()
        theirs.close()

    asyncio.run(go())


def test_what_is_not_due_is_not_asked_for_again_at_each_read() -> None:
    endpoint = Endpoint(Silent(), now=0.0)
    data = FrameWriter().encode(Data(1, bytes(1000)))
    stirred = []
    for n in range(6):
        endpoint.receive(1.0 + n / 1000, data[n * 100 : n * 100 + 100])
        stirred.append(endpoint.stirred)
        if endpoint.stirred:
            assert bool(endpoint.next_chunk(1.0 + n / 1000)) is (n in (0, 5))
    # The first is reported at once; the second says when the next report is due; the rest wait.
    assert stirred == [True, True, False, False, False, True]
    due = endpoint.next_time(1.005)
    assert due is None
    endpoint.receive(1.006, data[600:])
    assert endpoint.stirred


def known_of(link: float, *, says_when: bool) -> float:
    """What a sender takes a link for whose receiver's process has the processor for 20 ms and then
    not for 80, again and again. `says_when`: its reports have the kernel's times."""
    sender = Endpoint(EndlessOutbox(8192), now=0.0)
    receiver = Endpoint(Silent(), now=0.0)
    now, free_at = 0.0, 0.0
    way: list[tuple[float, bytes]] = []
    back: list[tuple[float, bytes]] = []
    while now < 4.0:
        while back and back[0][0] <= now:
            sender.receive(now, back.pop(0)[1])
        while chunk := sender.next_chunk(now):
            free_at = max(free_at, now) + len(chunk) / link
            way.append((free_at + DELAY / 5, chunk))
        awake = now < 0.5 or now % 0.1 < 0.02
        while awake and way and way[0][0] <= now:
            at, chunk = way.pop(0)
            receiver.receive(now, chunk, age=now - at if says_when else 0.0)
        if awake and (report := receiver.next_chunk(now)):
            back.append((now + DELAY / 5, report))
        now = round(now + 0.001, 3)
    return sender.gate.rate


def test_a_receiver_that_has_no_processor_is_no_slow_link() -> None:
    assert known_of(2e6, says_when=True) == pytest.approx(2e6, rel=0.1)
    assert known_of(2e6, says_when=False) < 1.5e6, "else this shows nothing"


class Listening(Chunks):
    """A link that notes how long what it hears had been here."""

    def __init__(self) -> None:
        super().__init__(searching=False)
        self.left = []
        self.ages: list[float] = []
        self._news = asyncio.Event()

    def heard(self, data: bytes, *, age: float = 0.0) -> None:
        self.ages.append(age)
        self._news.set()

    async def next_one(self) -> None:
        await self._news.wait()
        self._news.clear()


def test_a_loop_that_was_late_says_how_long_bytes_had_been_here() -> None:
    async def go() -> list[float]:
        ours, theirs = connected()
        connection, link = TcpConnection(ours), Listening()
        connection.start(link)
        async with asyncio.timeout(60):
            for number in range(2):
                theirs.send(b"words")
                if number:
                    time.sleep(0.05)  # noqa: ASYNC251  # somebody has the loop
                await link.next_one()
        connection.close()
        theirs.close()
        return link.ages

    with stamping():
        _, late = asyncio.run(go())
    assert late > 0.045
