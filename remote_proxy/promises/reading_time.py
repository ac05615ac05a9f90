"""Tells how much of the processor this thread has used for itself, without Python's collector.

Whoever allocates when the collector is due pays for all garbage of the process: a tenth of a second
where a remote serves many devices. What a text costs to read, or a plug-in takes, is none of that.

Source: Python's gc module, `callbacks`. Must not know what is read.
"""

from __future__ import annotations

import gc
import threading
import time
from typing import Any


class _Collections(threading.local):
    """What collections have taken of one thread."""

    began = 0.0
    seconds = 0.0


_collections = _Collections()


def _collecting(phase: str, _: dict[str, Any]) -> None:
    now = time.thread_time()
    if phase == "start":
        _collections.began = now
    else:
        _collections.seconds += now - _collections.began


gc.callbacks.append(_collecting)


def reading_time() -> float:
    """Processor seconds of this thread, but for those of the collector."""
    return time.thread_time() - _collections.seconds
