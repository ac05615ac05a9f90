"""The end of a lasting run goes first and alone: when that is so, and what it is worth."""

from __future__ import annotations

import pytest

from tests.transport.ends import Queue
from transport.gate.controller import Gate
from transport.link.quantum import SEGMENT, chunks_of
from transport.stream.endpoint import Endpoint
from transport.stream.long_run import LASTING, Run
from transport.tcp.tls import RECORD_OVERHEAD
from wire.frames import Control, Data, FrameReader


@pytest.mark.parametrize("other", [Data(4, b"c"), Control(b"c")])
def test_what_is_not_of_the_component_ends_its_run(other: Data | Control) -> None:
    run = Run()
    assert not run.sent(0.0, Data(2, b"a"))
    assert not run.sent(LASTING, Data(2, b"b"))
    assert run.sent(LASTING + 0.1, other)
    assert not run.sent(LASTING + 0.2, Data(2, b"d"))


def test_what_comes_soon_after_another_ends_no_run() -> None:
    run = Run()
    assert not run.sent(100.0, Data(2, b"a"))
    assert not run.sent(100.0 + LASTING / 2, Data(4, b"b"))
    assert not run.sent(100.0 + LASTING, Data(2, b"c"))


@pytest.mark.parametrize(("lasts", "together"), [(LASTING + 0.1, 1), (LASTING / 2, 2)])
def test_the_first_quantum_of_what_ends_a_lasting_run_goes_alone(
    monkeypatch: pytest.MonkeyPatch, lasts: float, together: int
) -> None:
    monkeypatch.setattr(Gate, "starting", False)
    queue = Queue(400)
    endpoint = Endpoint(queue, now=0.0)
    endpoint.carried_by(chunks=chunks_of(record=RECORD_OVERHEAD, segment=SEGMENT), reports=True)
    queue.frames = [Data(2, bytes(400))] * 2
    first = endpoint.next_chunk(0.0)
    queue.frames = [Data(4, bytes(400))] * 2
    second = endpoint.next_chunk(lasts)
    assert first is not None
    assert second is not None
    frames = FrameReader().feed(first + second)
    assert [one.component for one in frames if isinstance(one, Data)] == [2, 2] + [4] * together
