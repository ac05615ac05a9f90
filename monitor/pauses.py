"""Tells how much of a pause counts: nobody forgets a path while nothing is heard of it.

Who forgot it would take the queue that others fill, when he comes back, for the path. Pure.
"""

from __future__ import annotations

from typing import Final

PAUSE: Final = 2.0
"""Seconds without news that count in full. A longer pause counts as so many,"""
_PART: Final = 1 / 20
"""or as this part of it: after ten minutes a path is another one."""


def uncounted(pause: float) -> float:
    """Seconds of so long a pause that age nothing of what is known."""
    return max(0.0, pause - max(PAUSE, _PART * pause))
