"""Presentations in virtual time: text beside a page, and a jump to another slide."""

from __future__ import annotations

from bench.origins.decks import deck
from bench.scenarios.hats import hats_deck
from bench.scenarios.hats.hats import saving
from bench.scenarios.hats.hats_text_first import GOAL
from bench.scenarios.office import office_jump


def test_text_first_halves_the_time_to_a_decks_text_as_the_paper_says() -> None:
    report = hats_deck.run(scale=0.5)
    equal, first = report["runs"]
    assert saving(equal["text_s"], first["text_s"]) >= GOAL - 1  # the page is as long
    assert report["checks"]


def test_a_deck_has_the_sizes_that_were_asked_for() -> None:
    assert 300_000 < len(deck(text=100_000, pictures=220_000)) < 420_000


def test_the_picture_of_the_slide_that_a_reader_jumps_to_is_next_on_the_link() -> None:
    (row,) = office_jump.run(jumps=4, real=False)["runs"]
    waited = [jump["others"] for jump in row["jumps"]]
    assert len(waited) == 4
    assert max(waited) <= 3_000  # what was under way, and a record
    assert row["median_s"] <= 0.55
