"""Recorded or drawn bandwidth, read from files: what a line's rate does over time.

Two formats, told apart by their first line of figures:
    seconds bytes_per_second    holds until the next line; `# duration_s N` says when it begins anew
    milliseconds                a packet of 1500 bytes may pass then; the last line is when it
                                begins anew (mahimahi's mm-link(1); cellsim, of NSDI 2013's Sprout)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from emulation.lines.schedule import Steps

OPPORTUNITY: Final = 1500
"""Bytes that pass at one time of a packet-delivery trace."""
_PULSE: Final = 1e-6
"""Seconds that one such time lasts here."""
_LARGEST: Final = 64 << 20
"""Bytes of a file: an hour at 100 Mbit/s is 30 MB of deliveries."""
_DURATION: Final = re.compile(r"#\s*duration_s\s+(\S+)")


class TraceError(ValueError):
    """A file is no trace; the message names the line."""


def read(path: Path) -> Steps:
    """The schedule of a file. Raises TraceError, OSError."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise TraceError(f"{path}: larger than {_LARGEST >> 20} MB")
    try:
        return parse(data.decode("ascii", errors="replace"))
    except ValueError as error:
        raise TraceError(f"{path}: {error}") from error


def parse(text: str) -> Steps:
    """The schedule of a file's text, beginning at 0. Raises TraceError."""
    duration: float | None = None
    rows: list[tuple[float, ...]] = []
    for number, line in enumerate(text.splitlines(), 1):
        figures, sign, comment = line.partition("#")
        if said := _DURATION.match(sign + comment):
            duration = _figures(said[1], number)[0]
        if figures.strip():
            rows.append(_figures(figures, number))
            if len(rows[-1]) != len(rows[0]):
                raise TraceError(f"line {number}: another number of columns than before")
    if not rows:
        raise TraceError("no figures in it")
    try:
        if len(rows[0]) == 1:
            return _deliveries([row[0] for row in rows])
        return _steps(rows, duration)
    except TraceError:
        raise
    except ValueError as error:
        raise TraceError(str(error)) from error


def _figures(text: str, number: int) -> tuple[float, ...]:
    try:
        figures = tuple(float(word) for word in text.split())
    except ValueError:
        raise TraceError(f"line {number}: no number: {text.strip()[:40]!r}") from None
    if not all(0 <= figure < 1e15 for figure in figures):
        raise TraceError(f"line {number}: out of range: {text.strip()[:40]!r}")
    return figures


def _steps(rows: Sequence[tuple[float, ...]], duration: float | None) -> Steps:
    """Without a duration, the last step is as long as the one before it."""
    if len(rows[0]) != 2:
        raise TraceError(f"{len(rows[0])} columns; there are one or two")
    steps = [(row[0], row[1]) for row in rows]
    if duration is None:
        last = steps[-1][0]
        duration = last + (last - steps[-2][0] if len(steps) > 1 else 1.0)
    return Steps(steps, duration=duration)


def _deliveries(times_ms: Sequence[float]) -> Steps:
    """Pulses; a packet can't pass at 0, since that is the end of the round before."""
    if any(later < earlier for earlier, later in pairwise(times_ms)):
        raise TraceError("deliveries go back in time")
    duration = times_ms[-1] / 1000
    steps = [(0.0, 0.0)]
    for time_ms, packets in Counter(times_ms).items():
        # The end of a pulse is the time that the file names: then a whole packet is through.
        end = max(time_ms / 1000, _PULSE)
        steps += [(end - _PULSE, packets * OPPORTUNITY / _PULSE), (end, 0.0)]
    if steps[1][0] <= 0:
        steps.pop(0)
    return Steps(steps[:-1], duration=duration)
