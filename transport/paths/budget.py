"""Counts what crosses an interface against what may within a calendar month. Pure.

Operators bill by the month. What may cross is spread over it evenly, with a part ahead: until then
the path carries its share of everything; beyond, it is spared for when no other answers; and once
all has crossed nothing does any more until the month ends.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from transport.multipath.duty import Duty

AHEAD: Final = 0.1
"""Part of a budget that may cross before its time."""
_UNITS: Final = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?) ?(kB|MB|GB|TB)")


def byte_size(text: str) -> int:
    """Bytes of "2 GB", "1.5 MB": as operators count. Raises ValueError."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no size such as 2 GB or 500 MB")
    return round(float(found[1]) * _UNITS[found[2]])


class MonthlyBudget:
    """Limits one interface. Times are by this machine's calendar, without a zone."""

    def __init__(self, size: int, *, month: str = "", spent: int = 0) -> None:
        """`size` bytes a month, of which some have been `spent` in that `month` ("2026-11")."""
        self.size = size
        self.month = month
        self.spent = spent

    def add(self, crossed: int, now: datetime) -> None:
        """So many bytes have crossed, in either direction."""
        self._turn(now)
        self.spent += crossed

    def left(self, now: datetime) -> int:
        """Bytes that may still cross in this month."""
        self._turn(now)
        return max(0, self.size - self.spent)

    def duty(self, now: datetime, *, owed: int = 0) -> Duty:
        """What the path may carry; so many bytes are on their way over it."""
        self._turn(now)
        sure = self.spent + owed
        if sure >= self.size:
            return Duty.NONE
        begun = (now - _first(now)).total_seconds()
        part = begun / (renewed(now) - _first(now)).total_seconds()
        return Duty.USE if sure < (part + AHEAD) * self.size else Duty.SPARE

    def _turn(self, now: datetime) -> None:
        """What was spent is forgotten in another month. In an earlier one it is not: the clock was
        wrong, and is now or was then."""
        month = f"{now:%Y-%m}"
        if month > self.month:
            self.spent = 0
        self.month = month

    def __repr__(self) -> str:
        return f"<MonthlyBudget {self.spent} of {self.size} in {self.month}>"


def renewed(now: datetime) -> datetime:
    """When the next month begins."""
    return datetime(now.year + now.month // 12, now.month % 12 + 1, 1)


def _first(now: datetime) -> datetime:
    return datetime(now.year, now.month, 1)
