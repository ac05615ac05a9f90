"""A screen that nobody sees (Xvfb), for programs with windows."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from typing import Final

from bench.pairs.bound import bound

SIZE: Final = "1280x900x24"
"""Pixels, and bits of each."""


@contextlib.contextmanager
def screen() -> Iterator[str]:
    """A display of its own, by its name."""
    reading, writing = os.pipe()
    process = subprocess.Popen(
        bound("Xvfb", "-displayfd", str(writing), "-screen", "0", SIZE, "-noreset"),
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    with os.fdopen(reading) as told:
        number = told.readline().strip()
    try:
        yield f":{number}"
    finally:
        process.terminate()
        process.wait()
