"""Has one component been all that was wanted for a while? Then its bytes are bulk.

Of bulk more goes together, since that costs less (transport/quantum.py). What comes between, data
of another component or a control message, ends the run: somebody has turned to something.

Pure.
"""

from __future__ import annotations

from typing import Final

from wire.frames import Control, Data

LONG: Final = 3.0
"""Seconds. While a page loads, and while a reader looks about, something comes between sooner."""


class Run:
    """The frames that went last, as far back as they are of one component."""

    def __init__(self) -> None:
        self._component: int | None = None
        self._since = 0.0

    def sent(self, now: float, frame: Data | Control) -> None:
        """This one goes."""
        component = frame.component if isinstance(frame, Data) else None
        if component != self._component:
            self._component, self._since = component, now

    def is_long(self, now: float) -> bool:
        """Whether it has lasted for LONG."""
        return self._component is not None and now - self._since >= LONG
