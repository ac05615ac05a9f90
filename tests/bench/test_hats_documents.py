"""The claims of HATS for documents of their own sizes: what is measured, and how it is judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bench.origins.synthetic import page_of, prepared
from bench.scenarios.hats import hats_low_fidelity_first, hats_text_first
from bench.scenarios.hats.data_overhead import DEMO
from bench.scenarios.hats.hats_documents import DocumentTimes, checks_of, run

EQUAL = DocumentTimes("a", "news", "equal", 5.0, 10.0, 20.0, 40.0, 80.0)
TEXT = replace(EQUAL, policy="text_first", pages=11.0, texts=15.0)
LOW = replace(EQUAL, policy="low_fidelity_first", coarse=10.0)


def test_each_claim_is_judged_by_what_it_speaks_of() -> None:
    checks = checks_of([EQUAL, TEXT, LOW])
    assert [(one.value, one.ok) for one in checks.values()] == [
        (-10.0, False),
        (25.0, True),
        (75.0, True),
    ]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return run(pages=("article",), presentations=("deck_pictures.pptx",))


def test_a_page_and_a_deck_come_in_the_order_of_each_policy(found: dict[str, Any]) -> None:
    assert [(row["document"], row["policy"]) for row in found["runs"]] == [
        (document, policy)
        for document in ("article", "deck_pictures.pptx")
        for policy in ("equal", "text_first", "low_fidelity_first")
    ]
    for row in found["runs"]:
        times = [row[f"{what}_s"] for what in ("own", "pages", "texts", "coarse", "whole")]
        assert times == sorted(times) and times[0] > 0


def test_all_texts_and_all_coarse_pictures_are_sooner_by_the_policy_for_them(
    found: dict[str, Any],
) -> None:
    checks = {name: one for name, one in found["checks"].items() if "all" in name}
    assert len(checks) == 4
    assert all(one.value > 50.0 for one in checks.values())


def test_of_no_policy_the_whole_takes_much_longer(found: dict[str, Any]) -> None:
    for document in ("article", "deck_pictures.pptx"):
        whole = [row["whole_s"] for row in found["runs"] if row["document"] == document]
        assert max(whole) < 1.02 * min(whole)


def test_a_document_that_there_is_not_is_an_error() -> None:
    with pytest.raises(OSError, match="absent"):
        run(pages=("absent",), presentations=())


def test_png_has_levels_where_it_is_asked_for() -> None:
    news = page_of(DEMO / "news", "http://news.test/")
    png = [file.data for file in news.files.values() if file.content_type == "image/png"]
    assert len(png) == 2
    without, with_ = prepared([news]), prepared([news], kinds=("image/png",))
    assert not any(without.knows(data) for data in png)
    assert all(with_.knows(data) for data in png)


def test_beside_the_papers_figures_it_is_said_whose_sizes_they_are() -> None:
    for module in (hats_text_first, hats_low_fidelity_first):
        assert "paper" in module.SIZES and "hats-documents" in module.SIZES
