"""Tests of the choice among pictures that are offered for one place."""

from __future__ import annotations

import pytest

from remote_proxy.import_drivers.candidates import (
    MAX_CANDIDATES,
    Candidate,
    choose,
    parse_srcset,
    pick,
)
from remote_proxy.import_drivers.found import BrowserTraits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a.png", [Candidate("a.png")]),
        (" , a.png 1.5x , b.png 2x,", [Candidate("a.png", 1.5), Candidate("b.png", 2.0)]),
        ("a.png 640w, b.png 1280w", [Candidate("a.png", 1.0, 640), Candidate("b.png", 1.0, 1280)]),
        ("a.png, b.png", [Candidate("a.png"), Candidate("b.png")]),
        ("a,b.png 2x", [Candidate("a,b.png", 2.0)]),
        ("a.png 640w 480h", [Candidate("a.png", 1.0, 640)]),
        ("a.png (1x, 2x), b.png 2x", [Candidate("b.png", 2.0)]),
        ("a.png 0w, b.png -1x, c.png 2q, d.png 1e999x, e.png 5E-1x", [Candidate("e.png", 0.5)]),
        ("a.png 2X, b.png 640W, c.png 1e3w, d.png 640.5w, e.png 3x", [Candidate("e.png", 3.0)]),
    ],
)
def test_candidates_are_those_that_are_valid(text: str, expected: list[Candidate]) -> None:
    assert parse_srcset(text) == expected


def test_there_is_an_end_to_candidates() -> None:
    assert len(parse_srcset("a.png 1x," * (2 * MAX_CANDIDATES))) == MAX_CANDIDATES


@pytest.mark.parametrize(
    ("dpr", "expected"),
    [(0.5, "one"), (1.0, "one"), (1.1, "two"), (1.5, "two"), (2.0, "two"), (9.0, "three")],
)
def test_a_density_between_two_goes_to_the_finer(dpr: float, expected: str) -> None:
    offered = [Candidate("three", 3.0), Candidate("two", 2.0), Candidate("one"), Candidate("no", 2)]
    assert pick(offered, dpr) == expected
    assert pick([], dpr) == ""


def test_below_one_the_finer_of_two_is_taken() -> None:
    offered = [Candidate("half", 0.5), Candidate("one")]
    assert pick(offered, 0.6) == "one"
    assert pick(offered, 0.5) == "half"


def test_the_plain_address_is_one_of_single_density_unless_widths_are_offered() -> None:
    sharp, plain = BrowserTraits(dpr=2.0), BrowserTraits(dpr=1.0)
    assert choose("src.png", "b.png 2x", "", plain) == "src.png"
    assert choose("src.png", "b.png 2x", "", sharp) == "b.png"
    widths = "small.png 640w, large.png 1280w"
    assert choose("src.png", widths, "640px", plain) == "small.png"
    assert choose("src.png", widths, "100vw", plain) == "large.png"
    assert choose("src.png", "nonsense 7q", "", plain) == "src.png"
    assert choose("", "", "", plain) == ""
