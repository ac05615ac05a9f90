"""Reads processes' processor seconds and wake-ups from /proc; times a fixed piece of work.

Processor time is firm where wall time is not, but a second of one machine, or of one hour, is not a
second of another: `fixed_work` is done beside what is measured and says what this one is worth.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
_BLOCK: Final = 16_384
"""Bytes: a record of TLS."""
_BLOCKS: Final = 1 << 14


@dataclass(frozen=True, slots=True)
class Spent:
    """By a process and all that it has started, until now."""

    own: float
    """Seconds of the process's own threads."""
    children: float
    """Seconds of others below it, those that have ended too."""
    wake_ups: int
    """How often the process's threads have waited and were woken."""

    def __sub__(self, before: Self) -> Spent:
        return Spent(
            self.own - before.own,
            self.children - before.children,
            self.wake_ups - before.wake_ups,
        )

    @property
    def all(self) -> float:
        """Seconds, the process's and its children's."""
        return self.own + self.children


def spent(process: int) -> Spent:
    """By the process of that id. Raises FileNotFoundError when it is gone."""
    own, children = _times(process)
    for child in descendants(process):
        try:
            children += sum(_times(child))
        except FileNotFoundError:  # it has just ended, and its parent has counted it, or will
            continue
    return Spent(own, children, _wake_ups(process))


def fixed_work() -> float:
    """Processor seconds for a gigabyte that is encrypted (AES-GCM) and copied, a record a time."""
    cipher, block, target = AESGCM(bytes(16)), bytes(_BLOCK), bytearray(_BLOCK)
    began = time.thread_time()
    for number in range(_BLOCKS):
        target[:] = cipher.encrypt(number.to_bytes(12, "big"), block, None)[:_BLOCK]
    return (time.thread_time() - began) / (_BLOCKS * _BLOCK) * 1e9


def _times(process: int) -> tuple[float, float]:
    """Seconds of a process itself, and of children that it has waited for."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own, waited = (sum(map(int, words[at : at + 2])) * _TICK for at in (11, 13))
    return own, waited


def descendants(process: int) -> list[int]:
    """Ids of all processes that it has started, and of those that they have."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            children = [int(word) for word in (task / "children").read_text().split()]
        except FileNotFoundError:  # a thread that has just ended
            continue
        for child in children:
            found.append(child)
            try:
                found += descendants(child)
            except FileNotFoundError:
                continue
    return found


def _wake_ups(process: int) -> int:
    count = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            status = (task / "status").read_text()
        except FileNotFoundError:
            continue
        count += int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])
    return count
