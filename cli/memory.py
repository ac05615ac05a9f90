"""Saves memory and time of proxies that run for weeks: bytes kept for nobody, Python's collector.

glibc lets threads allocate in arenas of their own, eight for each processor, and an arena keeps
what was freed in it. A proxy has a dozen threads that decode pictures of megabytes now and then.

Python's collector now and then goes through all that lives. Modules are sixty thousand objects that
live for ever: 10 ms each time, more where processors are busy, in which the loop stands still.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Final

ARENAS: Final = 2
"""One for the event loop, one for all threads that work: to wait for each other is microseconds."""
_M_ARENA_MAX: Final = -8
"""In malloc.h."""


def bound_arenas() -> None:
    """Before any thread has begun; other C libraries keep their own rules."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def freeze_modules() -> None:
    """Once all is imported: the collector leaves alone what there is by now (gc.freeze)."""
    gc.collect()
    gc.freeze()
