"""Which quanta are marked as sent no slower than the link is said to carry."""

from __future__ import annotations

import pytest

from tests.transport.ends import Queue
from transport.stream.endpoint import Endpoint
from transport.stream.sent_pace import LATE, REPLAYED, TIMER, SentPace, unmarked
from wire.frames import Control, Data, FrameWriter

RATE = 10_000.0
QUANTUM = Data(3, bytes(1_000), paced=True)


def sent(pace: SentPace, now: float, *frames: Data | Control, rate: float = RATE) -> list[bool]:
    """Which of a chunk's frames go with the mark."""
    pace.begins(now, rate)
    out = [pace.marked(frame) for frame in frames]
    pace.ends(now, sum(len(frame.payload) for frame in out))
    return [isinstance(frame, Data) and frame.paced for frame in out]


def test_what_follows_in_time_is_marked() -> None:
    pace, late = SentPace(), LATE * 1_000 / RATE + TIMER
    assert sent(pace, 1.0, QUANTUM) == [False]
    assert sent(pace, 1.0 + late, QUANTUM, QUANTUM) == [True, True]
    assert sent(pace, 1.0 + late + 2 * late, QUANTUM) == [False]


def test_an_unknown_link_has_no_pace() -> None:
    pace = SentPace()
    sent(pace, 1.0, QUANTUM)
    assert sent(pace, 1.0, QUANTUM, rate=0.0) == [False]


def test_control_between_neither_keeps_the_pace_nor_breaks_it() -> None:
    pace, control = SentPace(), Control(b"word")
    sent(pace, 1.0, QUANTUM)
    assert sent(pace, 1.05, control) == [False]
    assert sent(pace, 1.1, control, QUANTUM) == [False, True]
    sent(pace, 5.0, control)
    assert sent(pace, 5.0, QUANTUM) == [False]


@pytest.mark.parametrize("frame", [Data(3, b"x", last=True, paced=True), Data(3, b"", last=True)])
def test_without_the_mark_a_frame_is_the_same(frame: Data) -> None:
    assert unmarked(frame) == Data(frame.component, frame.payload, last=True)
    assert unmarked(Control(b"word")) == Control(b"word")


def test_marks_of_what_comes_again_after_a_broken_connection_do_not_count() -> None:
    endpoint = Endpoint(Queue(1_000), now=0.0)
    endpoint.resume(10.0, 0)
    marked = FrameWriter().encode(QUANTUM)
    assert endpoint.receive(10.0 + REPLAYED / 2, marked) == [unmarked(QUANTUM)]
    assert endpoint.receive(10.0 + REPLAYED, marked) == [QUANTUM]
