"""Steps that an end spares itself: of many reports one is heard, small chunks share a call, and
where nothing has changed it is not asked again what goes next."""

from __future__ import annotations

import asyncio
import socket

import pytest

from bench.scenarios.gate import Backlog, Silent
from tests.transport.ends import Arrivals, Queue
from tests.transport.test_last_words import connected
from transport import tcp_connection
from transport.endpoint import Endpoint
from transport.gate import Gate
from transport.stream_link import StreamLink
from transport.tcp_connection import TcpConnection
from wire.frames import CLOCK_TICK, Data, FrameWriter, Report

RATE = 50_000.0
DELAY = 0.05


def at_work() -> tuple[Endpoint, float, int]:
    """An end that knows its link, when, and how much it has sent."""
    endpoint = Endpoint(Backlog(1024), now=0.0)
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
    assert endpoint.statistics(now).received > 0


def test_small_chunks_that_may_go_go_in_one_call_of_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def go() -> None:
        calls = 0

        class Counting(socket.socket):
            def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
                nonlocal calls
                calls += 1
                return super().send(data, flags)

        ours, theirs = connected()
        counting = Counting(fileno=ours.detach())
        near, far = StreamLink(TcpConnection(counting)), StreamLink(TcpConnection(theirs))
        queue, at_far = Queue(256), Arrivals()
        near.start(queue, Arrivals())
        far.start(Queue(256), at_far)
        frames = [Data(1, bytes([n]) * 250, n == 3) for n in range(4)]
        queue.frames += frames
        near.wake()
        await at_far.count(4)
        assert at_far.frames == frames
        assert calls == 1
        near.close()
        far.close()

    assert tcp_connection._TOGETHER > 4 * 256
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
