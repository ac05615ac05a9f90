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
    """Nothing at all: it is to be left."""


class Meter(Protocol):
    """Watches one path."""

    def duty(self) -> Duty:
        """What it is to carry now."""


class Fixed:
    """The same for ever."""

    def __init__(self, duty: Duty = Duty.USE) -> None:
        self._duty = duty

    def duty(self) -> Duty:
        return self._duty
