"""All that a bench has started ends with it, even where it is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.browsers.cdp import find_chromium

PATIENCE = 60.0
"""Seconds for a browser to start, and for one to end."""


def until(so: Callable[[], bool], what: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end, what()
        time.sleep(0.1)


def parents() -> dict[int, int]:
    """The parent of each process that has not ended."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = status.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if state not in "ZX":
            found[int(status.parent.name)] = int(parent)
    return found


def below(process: int) -> dict[int, str]:
    """All that it has started, and what they have: their command lines."""
    of, found = parents(), {process}
    while more := {child for child, parent in of.items() if parent in found} - found:
        found |= more
    return {one: line(one) for one in found - {process}}


def line(process: int) -> str:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return ""
    return words.replace(b"\0", b" ").decode(errors="replace")


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium here")
def test_nothing_is_left_of_a_page_load_that_was_killed() -> None:
    command = [sys.executable, "-m", "bench", "page-load", "--profile=384k", "--peers=sluice"]
    bench = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        wanted = ("sluice.py remote", "sluice.py local", "bench.origins.site", "--type=renderer")
        until(
            lambda: all(any(word in one for one in below(bench.pid).values()) for word in wanted),
            lambda: below(bench.pid),
        )
        started = below(bench.pid)
    finally:
        os.kill(bench.pid, signal.SIGKILL)
        bench.wait()

    def left() -> list[int]:
        return [one for one, words in started.items() if words and line(one) == words]

    try:
        until(lambda: not left(), left)
    finally:
        for one in left():
            os.kill(one, signal.SIGKILL)
