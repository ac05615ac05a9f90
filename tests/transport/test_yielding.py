"""Whether a link is slower, or only shared with others who fill its queue."""

from __future__ import annotations

from monitor.progress import ReportedProgress
from transport.contention.yielding import Yielding

LOOP = 0.1
RATE = 100_000.0


def judged(windows: list[float], rates: list[float], excesses: list[float]) -> bool:
    """The gate lets go less and less: of so much under way for a round trip, so much arrives."""
    yielding = Yielding()
    yielding.begin(0.0, 0.0, under_way=round(windows[0]))
    others, clock, sent_at, now = False, 0.0, 0.0, 0.0
    for at, (window, rate, excess) in enumerate(zip(windows, rates, excesses, strict=True)):
        clock += window / rate
        now += LOOP
        progress = ReportedProgress(0, round(window), sent_at, sent_at, 500, 500, clock)
        following = windows[min(at + 1, len(windows) - 1)]
        others |= yielding.heard(
            now, progress, under_way=round(following), excess=excess, jitter=0.0
        )
        sent_at = now
    return others


LESS = [10_000.0, 8_000.0, 6_000.0, 5_000.0]
QUEUE = [0.06, 0.05, 0.055, 0.06]


def test_in_a_queue_that_others_fill_less_arrives_of_less() -> None:
    assert judged(LESS, [RATE, 0.82 * RATE, 0.65 * RATE, 0.55 * RATE], QUEUE)


def test_a_link_that_is_slower_is_as_busy_with_less() -> None:
    assert not judged(LESS, [RATE] * 4, QUEUE)
    assert not judged(LESS, [RATE, 0.97 * RATE, 1.03 * RATE, 0.96 * RATE], QUEUE)


def test_of_as_much_nothing_is_known() -> None:
    assert not judged([10_000.0] * 4, [RATE, 0.9 * RATE, 0.8 * RATE, 0.7 * RATE], QUEUE)


def test_a_path_that_has_become_longer_is_not_full() -> None:
    assert not judged(LESS, [RATE, 0.82 * RATE, 0.65 * RATE, 0.55 * RATE], [0.05] * 4)


def test_the_queue_is_gone() -> None:
    yielding = Yielding()
    yielding.begin(0.0, 0.0, under_way=10_000)
    assert yielding.most == 10_000
    yielding.end()
    assert not yielding.most
