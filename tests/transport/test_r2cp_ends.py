"""The receiver's end of several pipes: handshakes that come and go beside one stream."""

from __future__ import annotations

import pytest

from transport.r2cp.ends import R2cpReceivingEnd
from transport.r2cp.engine import R2cpEngine
from transport.rcp.ends import SendingEnd
from transport.rcp.handshake import ATTEMPTS, FIRST_TIMEOUT
from transport.rcp.segments import DataSegment, Req, Syn
from transport.rcp.send_buffer import SendBuffer
from wire.errors import PeerError


def pair(*, pipes: int) -> tuple[R2cpReceivingEnd, dict[int, SendingEnd], SendBuffer]:
    near, content = R2cpReceivingEnd(R2cpEngine()), SendBuffer(1 << 20)
    return near, {near.open(): SendingEnd(content, size=1_000) for _ in range(pipes)}, content


def exchange(near: R2cpReceivingEnd, far: dict[int, SendingEnd], now: float) -> list[object]:
    """One round trip, in no time; what the receiver said."""
    said = near.to_send(now)
    for number, segment in said:
        if number in far:
            far[number].received(segment, now)
            for answer in far[number].to_send(now):
                near.received(number, answer, now)
    return [segment for _, segment in said]


def test_a_connection_is_there_with_its_first_pipe() -> None:
    near, far, content = pair(pipes=2)
    content.write(b"hello")
    content.end()
    del far[1]  # nobody answers there
    assert all(isinstance(one, Syn) for one in exchange(near, far, 0.0))
    for _ in range(4):
        exchange(near, far, 0.1)
    assert near.engine.read() == b"hello" and near.engine.done


def test_a_pipe_that_nobody_answers_fails_and_is_closed() -> None:
    near, _, _ = pair(pipes=1)
    near.to_send(0.0)
    assert near.next_timer() == FIRST_TIMEOUT
    while (at := near.next_timer()) is not None:
        near.on_timer(at)
        near.to_send(at)
    assert near.failed() == [0] and at is None
    near.close(0)
    assert near.failed() == [] and ATTEMPTS > 1
    near.received(0, DataSegment(0, 0, b"late"), 200.0)
    assert near.engine.next == 0


def test_data_before_a_handshake_is_refused() -> None:
    near, _, _ = pair(pipes=1)
    with pytest.raises(PeerError, match="before there is a connection"):
        near.received(0, DataSegment(0, 0, b"x"), 0.0)


def test_another_pipe_may_join_while_the_stream_flows() -> None:
    near, far, content = pair(pipes=1)
    content.write(bytes(1_000_000))
    for _ in range(3):
        exchange(near, far, 0.0)
    number = near.open()
    far[number] = SendingEnd(content, size=700)
    for step in range(6):
        exchange(near, far, 0.1 * step)
        near.engine.read()
    assert number == 1 and near.engine.carried(1) > 0
    requests = [one for one in exchange(near, far, 1.0) if isinstance(one, Req)]
    assert all(one.pull for one in requests)
