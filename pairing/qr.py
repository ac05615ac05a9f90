"""Draws a text as a QR code (ISO/IEC 18004) in a terminal: two rows of modules a line.

Black on white by colours of its own, for many scanners don't read the opposite.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Final

import segno

QUIET: Final = 4
"""Modules of white around it (ISO/IEC 18004, 9.1)."""
_BLOCKS: Final = {(0, 0): " ", (1, 0): "\u2580", (0, 1): "\u2584", (1, 1): "\u2588"}
"""By whether the upper and the lower module is black."""
_COLOURS: Final = "\x1b[30;107m"
_NONE: Final = "\x1b[0m"


def drawn(text: str) -> str:
    """Lines for a terminal. Raises ValueError for a text that is too long for one (2,953 bytes)."""
    code = segno.make(text, error="l", boost_error=False, micro=False)
    rows = [tuple(bytes(row)) for row in code.matrix_iter(border=QUIET)]
    white = (0,) * len(rows[0])
    pairs = zip_longest(rows[::2], rows[1::2], fillvalue=white)
    lines = ("".join(_BLOCKS[both] for both in zip(*pair, strict=True)) for pair in pairs)
    return "\n".join(f"{_COLOURS}{line}{_NONE}" for line in lines)
