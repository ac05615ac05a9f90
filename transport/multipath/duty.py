"""Says what a path is there for at present. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Duty(Enum):
    """What a path is to carry."""

    USE = "use"
    """Its share of everything."""
    SPARE = "spare"
    """Nothing, while one that is no spare answers."""
    NONE = "none"
    """Nothing more: it is left once what was asked for over it is here."""


class Meter(Protocol):
    """Watches one path."""

    def duty(self, owed: int) -> Duty:
        """What it is to carry now; so many bytes are on their way over it."""

    def left(self) -> int | None:
        """Bytes that may still cross it, as of the last `duty`; None: any number."""


class Fixed:
    """The same for ever."""

    def __init__(self, duty: Duty = Duty.USE) -> None:
        self._duty = duty

    def duty(self, owed: int) -> Duty:
        return self._duty

    def left(self) -> None:
        return None
