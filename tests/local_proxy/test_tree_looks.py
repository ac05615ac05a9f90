"""How often a session may look at the tree: as long as somebody looks, .2 % of the link."""

from __future__ import annotations

import pytest

from local_proxy.link.tree_looks import ASKING, EVERY, PATIENCE, SHARE, UNKNOWN, TreeLooks
from wire.tree_row import MAX_ROWS, TreeRow

ROW = TreeRow(0, "", 0, "fifo", 1.0, 0)


@pytest.mark.parametrize("rate", [4_000.0, 48_000.0, 5e6, None])
def test_looks_take_no_more_than_their_share(rate: float | None) -> None:
    looks, now, cost = TreeLooks(), 0.0, 0
    while now < 600:
        if looks.ask(now, rate=rate):
            looks.drawn([ROW], size=800, now=now + 0.1)
            cost += 800 + ASKING
        now += 0.5
    allowed = SHARE * (rate or UNKNOWN) * 600 + 800 + ASKING
    assert 800 <= cost <= min(allowed, 601 * (800 + ASKING) / EVERY)


def test_one_question_at_a_time_until_no_answer_is_expected() -> None:
    looks = TreeLooks()
    assert looks.ask(0.0, rate=1e6)
    assert not looks.ask(PATIENCE - 1, rate=1e6)
    assert looks.ask(PATIENCE, rate=1e6)


def test_more_rows_than_were_agreed_are_dropped() -> None:
    looks = TreeLooks()
    looks.drawn([ROW] * 3 * MAX_ROWS, size=9000, now=1.0)
    assert len(looks.rows) == MAX_ROWS
    assert looks.drawn_at == 1.0
