"""Notes what a walk does: how long each step took, what was checked, what failed and why.

Knows nothing of machines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from bench.reports.report import Check

WORDS: Final = 1500
"""Characters of a command's output that a failed check repeats: the last ones."""


class WalkStopped(Exception):
    """A step failed without which the next ones mean nothing; it is noted already."""


@dataclass(slots=True)
class Journal:
    """Collects steps and checks, and says each as it goes."""

    say: Callable[[str], None] = print
    steps: list[dict[str, Any]] = field(default_factory=list)
    checks: dict[str, Check] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Time what is done within, also where it fails."""
        self.say(f"  ...  {what}")
        began = time.monotonic()
        try:
            yield
        finally:
            seconds = round(time.monotonic() - began, 1)
            self.steps.append({"what": what, "seconds": seconds})
            self.say(f"{seconds:5.1f} s {what}")

    def check(self, name: str, ok: bool, *, goal: str = "yes", said: object = "") -> bool:
        """Note whether it is so. `said`: the command and its output, shown where it is not."""
        words = str(said).strip()[-WORDS:]
        self.checks[name] = Check("yes" if ok else words or "no", "", goal, ok)
        self.say(f"        {'ok' if ok else 'SHORT'}: {name}")
        if not ok and words:
            self.say("\n".join(f"        | {line}" for line in words.splitlines()))
        return ok

    def require(self, name: str, ok: bool, *, goal: str = "yes", said: object = "") -> None:
        """Check it. Raises WalkStopped where it is not so."""
        if not self.check(name, ok, goal=goal, said=said):
            raise WalkStopped(name)

    def note(self, text: str) -> None:
        """Add a line for whoever reads the report."""
        self.notes.append(text)
        self.say(f"        {text}")
