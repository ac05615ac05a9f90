"""How long a receiver holds its reports, as their sender's peer can tell."""

from __future__ import annotations

import random

from monitor.progress import ReportedProgress
from transport.gate.report_spacing import REPORT_EVERY, REPORT_EVERY_THIN, HeardSpacing


def heard(pauses: list[float], *, pieces: int = 2) -> HeardSpacing:
    """What is known after reports so many seconds apart, each of that many pieces."""
    spacing, at, received = HeardSpacing(), 0.0, 0
    for pause in pauses:
        at, received = at + pause, received + 100 * pieces
        spacing.heard(
            ReportedProgress(
                received=received,
                gained=100 * pieces,
                sent_at=at - 0.1,
                first_sent_at=at - 0.1,
                size=100,
                part=100,
                arrived_at=at,
            )
        )
    return spacing


def test_a_receiver_that_spares_a_thin_way_back_is_known_within_a_second() -> None:
    assert heard([]).every == REPORT_EVERY
    assert heard([0.005] * 50).every == REPORT_EVERY
    assert heard([0.02] * 5).every == REPORT_EVERY
    assert heard([0.02] * 50).every == REPORT_EVERY_THIN
    assert heard([0.02] * 50 + [0.005]).every == REPORT_EVERY


def test_pauses_of_the_link_are_not_the_receivers() -> None:
    assert heard([0.06] * 50, pieces=1).every == REPORT_EVERY  # nothing had come
    noise = random.Random(3)
    assert heard([noise.choice([0.005, 0.05]) for _ in range(400)]).every == REPORT_EVERY


def test_what_comes_after_a_long_rest_says_little() -> None:
    assert heard([0.005] * 50 + [60.0] * 3).every == REPORT_EVERY
