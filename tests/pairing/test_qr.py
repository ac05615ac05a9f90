"""QR codes in a terminal: each module where it belongs, white around it."""

from __future__ import annotations

import segno

from pairing.invitation import Invitation
from pairing.qr import QUIET, drawn

BLOCKS = {" ": (0, 0), "\u2580": (1, 0), "\u2584": (0, 1), "\u2588": (1, 1)}


def modules(text: str) -> list[list[int]]:
    """What a scanner would see."""
    rows: list[list[int]] = []
    for line in text.splitlines():
        assert line.startswith("\x1b[30;107m")  # black on white, whatever the terminal has
        assert line.endswith("\x1b[0m")
        pairs = [BLOCKS[char] for char in line[len("\x1b[30;107m") : -len("\x1b[0m")]]
        rows += [[upper for upper, _ in pairs], [lower for _, lower in pairs]]
    return rows


def test_a_pairing_string_fits_a_terminal_and_no_module_is_lost() -> None:
    invitation = Invitation("proxy.example", 8119, bytes(range(32)), bytes(range(32, 64)))
    text = drawn(str(invitation))
    seen = modules(text)
    meant = [
        list(row)
        for row in segno.make(str(invitation), error="l", boost_error=False).matrix_iter(
            border=QUIET
        )
    ]
    assert seen[: len(meant)] == meant
    assert not any(any(row) for row in seen[len(meant) :])
    assert not any(any(row) for row in seen[:QUIET])
    assert len(text.splitlines()) <= 30
    assert len(meant[0]) <= 60
