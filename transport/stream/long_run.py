"""Has one component been all that went for a while? What comes then, somebody may have turned to.

Its first quantum does not share a record then: a record opens when all of it has come, and at 56
kbit/s a second quantum is 70 ms. Pure.
"""

from __future__ import annotations

from typing import Final

from wire.frames import Control, Data

LASTING: Final = 1.0
"""Seconds. A record more in so long a time costs 1 % at 56 kbit/s, and less on faster links."""


class Run:
    """The frames that went last, as far back as they are of one component."""

    def __init__(self) -> None:
        self._component: int | None = None
        self._since = 0.0

    def sent(self, now: float, frame: Data | Control) -> bool:
        """This one goes; whether it is of another component and ends a lasting run."""
        component = frame.component if isinstance(frame, Data) else None
        if component == self._component:
            return False
        lasting = self._component is not None and now - self._since >= LASTING
        self._component, self._since = component, now
        return lasting
