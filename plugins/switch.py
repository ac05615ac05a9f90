"""Contains a plug-in: one that raises, dawdles or answers nonsense is told of and switched off.

It must not know what the plug-in does. Time is the caller's clock: processor seconds of its thread
where the call is made, so that a busy machine switches nobody off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
PATIENCE: Final = 0.05
"""Processor seconds that one call on the event loop may take: what a whole page's parser takes in
a round, and a thousand times what a scheduler needs."""


class Nonsense(ValueError):
    """An answer that is none, as the message says."""


class PluginSwitch:
    """Says whether one plug-in is still on, and why not."""

    def __init__(
        self,
        what: str,
        *,
        tell: Callable[[str, str], None],
        clock: Callable[[], float],
        patience: float = PATIENCE,
    ) -> None:
        """`tell` is given `what` and why it is switched off, once. `patience`: seconds a call."""
        self.what = what
        self.why_off = ""
        """Empty while it is on."""
        self._tell = tell
        self._clock = clock
        self._patience = patience

    @property
    def on(self) -> bool:
        """Whether it is to be asked."""
        return not self.why_off

    def call(self, job: Callable[[], T]) -> T:
        """What the plug-in answers. Raises what it raises, or Nonsense where it took too long,
        and it is off from then on."""
        began = self._clock()
        try:
            answer = job()
            took = self._clock() - began
            if took > self._patience:
                raise Nonsense(f"it took {took:.2f} s, and may take {self._patience:g}")
        except Exception as error:
            self.switch_off(error)
            raise
        return answer

    def ask(self, job: Callable[[], T], *, otherwise: T) -> T:
        """The same; `otherwise` where it is off, or fails."""
        if not self.on:
            return otherwise
        try:
            return self.call(job)
        except Exception:
            return otherwise

    def switch_off(self, error: Exception) -> None:
        """It has failed so; told the first time."""
        if self.on:
            self.why_off = f"{type(error).__name__}: {error}"
            self._tell(self.what, self.why_off)
