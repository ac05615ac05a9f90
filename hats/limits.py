"""Bounds of what a hierarchy takes, and the checks that enforce them.

Values come from policies and from the peer, so each is checked where it enters.
"""

from __future__ import annotations

from math import isfinite
from typing import Final

from hats.errors import HierarchyError
from hats.node import MAX_WEIGHT, MIN_WEIGHT

MAX_DEPTH: Final = 16
"""Levels below the root: root > application > document > frames > component needs five or so."""
MAX_MARKS: Final = 64
"""Fidelity levels of one component; a progressive JPEG has about ten scans."""
MAX_QUANTUM: Final = 1 << 20
"""Bytes; far more than a frame holds, far less than a link's patience."""


def check_weight(weight: float) -> float:
    if not MIN_WEIGHT <= weight <= MAX_WEIGHT:
        raise HierarchyError(f"weight {weight}: must be {MIN_WEIGHT} to {MAX_WEIGHT:g}")
    return weight


def check_quantum(quantum: int) -> int:
    if not isinstance(quantum, int) or not 0 < quantum <= MAX_QUANTUM:
        raise HierarchyError(f"quantum of {quantum} bytes: must be 1 to {MAX_QUANTUM}")
    return quantum


def check_bytes(nbytes: int) -> int:
    if not isinstance(nbytes, int) or nbytes < 0:
        raise HierarchyError(f"{nbytes} is no number of bytes")
    return nbytes


def check_rate(rate: float) -> float:
    if not isfinite(rate) or rate < 0:
        raise HierarchyError(f"{rate} is no rate in bytes/second")
    return rate
