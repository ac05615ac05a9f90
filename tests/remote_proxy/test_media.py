"""Media queries, lengths and `sizes`, on a screen of 1280x720 at density 1."""

from __future__ import annotations

import pytest

from remote_proxy.import_drivers.found import BrowserTraits
from remote_proxy.import_drivers.media import length, matches, source_size

SCREEN = BrowserTraits()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", True), ("all", True), ("screen", True), ("print", False), ("speech", False),
        ("only screen", True), ("not print", True), ("not all", False), ("print, screen", True),
        ("(min-width: 1280px)", True), ("(min-width: 1281px)", False),
        ("(max-width: 80em)", True), ("(max-width: 79.9em)", False),
        ("screen and (min-width: 600px) and (max-width: 1300px)", True),
        ("print and (min-width: 600px)", False), ("not screen and (min-width: 2000px)", True),
        ("(width >= 600px)", True), ("(600px <= width < 1280px)", False), ("(width: 1280px)", True),
        ("(1280px > width)", False), ("(orientation: landscape)", True),
        ("(orientation: portrait)", False), ("(min-aspect-ratio: 16/9)", True),
        ("(max-aspect-ratio: 4/3)", False), ("(aspect-ratio > 1/0)", False),
        ("(min-resolution: 2dppx)", False), ("(min-resolution: 96dpi)", True),
        ("(-webkit-min-device-pixel-ratio: 1.5)", False),
        ("(-webkit-min-device-pixel-ratio: 1)", True), ("(min-resolution: much)", False),
        ("(prefers-color-scheme: dark)", False), ("(prefers-color-scheme: light)", True),
        ("(prefers-reduced-motion)", False), ("(hover)", True), ("(color)", True),
        ("(unknown-feature: 1)", False), ("(unknown)", False), ("(min-width: wide)", False),
        ("not (min-width: 2000px)", True), ("((hover) or (min-width: 9999px))", True),
        ("(hover) and ((min-width: 9999px) or (pointer: fine))", True),
        ("SCREEN AND (MIN-WIDTH: 1PX)", True), ("/* c */ screen", True),
        ("screen and", False), ("(((", False), ("(" * 40 + "hover" + ")" * 40, False),
        ("screen" + " " * 3000, False), ("nonsense here", False),
    ],
)  # fmt: skip
def test_queries(query: str, expected: bool) -> None:
    assert matches(query, SCREEN) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10px", 10), ("2rem", 32), ("1in", 96), ("50vw", 640), ("10vh", 72), ("10dvh", 72),
        ("1vmin", 7.2), ("0", 0), ("10", None), ("10%", None), ("x", None), ("", None),
        ("calc(100vw - 2 * 40px)", 1200), ("calc((100vw - 80px) / 3)", 400), ("min(9px, 1rem)", 9),
        ("max(9px, 1rem)", 16), ("clamp(1px, 50vw, 600px)", 600), ("calc(1px / 0)", None),
        ("calc()", None), ("calc(1px +)", None), ("foo(1px)", None), ("-5px", -5),
    ],
)  # fmt: skip
def test_lengths(text: str, expected: float | None) -> None:
    assert length(text, SCREEN) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ("", 1280), ("300px", 300), ("(max-width: 600px) 100vw, 50vw", 640),
        ("(min-width: 600px) 10rem, 50vw", 160), ("-5px, 20px", 20), ("10%, 30px", 30),
        ("(min-width: 9999px) 1px", 1280), ("nonsense", 1280), ("," * 9 + "7px", 7),
    ],
)  # fmt: skip
def test_sizes(sizes: str, expected: float) -> None:
    assert source_size(sizes, SCREEN) == pytest.approx(expected)
