"""TextFirst: text of every document before anything else of any (HATS, 4.1.1, figure 5).

The work is done by the scheduler of that name at the root, on the remote proxy, where it sees every
component the moment it is found. Text: pages, slides, and what holds their display up.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import ROOT, Command, Event, SessionOpened, SessionView, SetScheduler


class TextFirst:
    """Installs the root scheduler; `inner` shares the link among applications."""

    name = "text_first"

    def __init__(self, *, inner: str = "round_robin") -> None:
        self._inner = inner

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetScheduler(ROOT, "text_first", {"inner": self._inner})
