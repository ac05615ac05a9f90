"""How much memory the C library keeps for threads that have given it back.

glibc lets threads allocate in arenas of their own, eight for each processor, and an arena keeps
what was freed in it. A proxy has a dozen threads that decode pictures of megabytes now and then.
"""

from __future__ import annotations

import contextlib
import ctypes
from typing import Final

ARENAS: Final = 2
"""One for the event loop, one for all threads that work: to wait for each other is microseconds."""
_M_ARENA_MAX: Final = -8
"""In malloc.h."""


def bound_arenas() -> None:
    """Before any thread has begun; other C libraries keep their own rules."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)
