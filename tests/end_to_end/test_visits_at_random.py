"""Each body is the origin's, whatever is forgotten, changed, cut or asked for by others."""

from __future__ import annotations

from tests.end_to_end.visits_at_random import STEPS, Told, told

SEQUENCES = 60


def test_every_body_is_the_origins_and_nobody_elses_text_is_used() -> None:
    all_told = Told()
    for seed in range(SEQUENCES):
        one = told(seed)
        assert one.wrong == [], f"sequence {seed}"
        all_told.visits += one.visits
        all_told.against += one.against
        all_told.lost += one.lost
        all_told.cuts += one.cuts
    assert all_told.visits == SEQUENCES * STEPS
    assert all_told.against > 0.15 * all_told.visits, "else nothing was tried"
    assert all_told.lost > 3
    assert all_told.cuts > 20
