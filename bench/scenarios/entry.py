"""How a scenario is listed: what it shows, how long it takes, and what makes it quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ARTICLE: Final = Path(__file__).resolve().parents[2] / "demo" / "site" / "article"
"""The lighter page of the sample site."""
DATA: Final = "tests/data"
"""Documents and pictures of the tests, from the sources' root."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One entry of the list."""

    name: str
    shows: str
    module: str
    """Its `run` takes those of the command line's options that it names."""
    takes: float
    """Seconds, about, on two processors, as `full` has it."""
    quick_takes: float
    quick: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `run` that make it quick."""
    full: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `run` when all scenarios run: as many runs as a comparison needs."""
    virtual: bool = False
    """It runs in virtual time and gives the same figures on every machine, every time."""
    needs: str = ""
    """A folder of the sources that it reads and that no wheel has; empty: none."""
    slow: bool = False
    """Even what is quick of it takes too long for a quick look at all."""
