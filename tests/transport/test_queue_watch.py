"""Whose a gate's queue is: who must give way again and again shares it."""

from __future__ import annotations

from monitor.progress import ReportedProgress
from tests.transport.path import path
from transport.contention.contention import Contention
from transport.gate.queue_watch import QueueVerdict, QueueWatch

LOOP = 0.14
"""Seconds of a round trip, of which the queue is .04."""


def judged(
    watch: QueueWatch, now: float, *, excess: float, under_way: int = 10_000, level: bool = True
) -> QueueVerdict | None:
    progress = ReportedProgress(0, 1_000, now - LOOP, now - LOOP, 500, 500, now)
    return watch.judge(
        now,
        progress,
        path(excess=excess),
        under_way=under_way,
        cap=5_000,
        most=20_000,
        level=level,
    )


def slower(watch: QueueWatch, begin: float) -> list[QueueVerdict | None]:
    """A queue that grows, and is gone a round trip later."""
    said = [judged(watch, begin + 0.02 * n, excess=0.04) for n in range(6)]
    return [*said, judged(watch, begin + 0.13, excess=0.0)]


def test_a_link_that_becomes_slower_now_and_then_is_ours() -> None:
    watch = QueueWatch()
    for number in range(8):
        assert QueueVerdict.SLOWER in slower(watch, 2.0 * number)
    assert not watch.contention.active


def test_one_that_does_again_and_again_is_shared_with_others_perhaps() -> None:
    watch = QueueWatch()
    times = 0
    while not watch.contention.active:
        slower(watch, 0.5 * times)
        times += 1
        assert times <= 4
    assert times == 4
    assert watch.contention.window < 5_000


def test_who_does_not_compete_leaves_the_line_to_them() -> None:
    watch = QueueWatch(competes=lambda: False)
    for number in range(4):
        slower(watch, 0.5 * number)
    assert watch.contention.active
    assert watch.contention.window == 0.0


class Disbelieving(Contention):
    """Nobody else is ever there."""

    def begin(self, now: float, **_: float) -> None:
        """Takes no notice."""


def test_what_follows_from_the_last_decision_is_no_verdict() -> None:
    watch = QueueWatch()
    assert [judged(watch, 0.02 * n, excess=0.04, level=False) for n in range(6)] == [None] * 6


def test_whoever_came_again_is_shared_with_at_once_unless_that_is_not_believed() -> None:
    for allowed, expected in ((True, None), (False, QueueVerdict.LONGER)):
        watch = QueueWatch()
        if not allowed:
            watch.contention = Disbelieving()
        said = [judged(watch, 0.02 * n, excess=0.04, under_way=100) for n in range(40)]
        assert QueueVerdict.LONGER in said
        watch.judge(
            2.0,
            ReportedProgress(0, 1_000, 2.0 - LOOP, 2.0 - LOOP, 500, 500, 2.0),
            path(excess=0.0, least=-0.05),
            under_way=100,
            cap=5_000,
            most=20_000,
            level=True,
        )
        for n in range(60):
            verdict = judged(watch, 3.0 + 0.02 * n, excess=0.04, under_way=100)
            if watch.contention.active or verdict is QueueVerdict.LONGER:
                break
        assert verdict is expected
        assert watch.contention.active is allowed


def test_a_queue_that_was_there_when_a_pause_ended_is_shared_at_once() -> None:
    """The rate is not lowered meanwhile: it is no consequence of what we send."""
    watch = QueueWatch()
    watch.sent_first(9.9, pause=5.0, loop=LOOP)
    said = [judged(watch, 10.04 + 0.02 * n, excess=0.15) for n in range(9)]
    assert said == [None] * 9
    assert watch.contention.active
    assert watch.contention.window >= 1e5 * (0.1 + 0.15) / 2, "half of what the line holds"


def test_one_that_others_at_a_rate_of_their_own_left_behind_us_is_not() -> None:
    watch = QueueWatch()
    watch.sent_first(9.9, pause=3 * LOOP, loop=LOOP)
    for n in range(9):
        judged(watch, 10.04 + 0.02 * n, excess=0.15)
    assert not watch.contention.active


def test_one_that_a_drain_has_left_is_shared() -> None:
    watch = QueueWatch()
    watch.drained(9.9)
    for n in range(9):
        judged(watch, 10.04 + 0.02 * n, excess=0.15)
    assert watch.contention.active
