"""LowFidelityFirst: every picture of a page coarse before any is fine (HATS, 3.2.5 and 4.1.1).

Pictures are sent in order up to the low level, then all of them to medium, then to high, then
whole. The scheduler of that name does it, on the remote proxy: in each document (3.2.5), or at the
root for all documents together (4.1.1, figure 6), so that none goes on before all are coarse.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    ROOT,
    Command,
    DocumentOpened,
    Event,
    SessionOpened,
    SessionView,
    SetScheduler,
    document_path,
)


class LowFidelityFirst:
    """Installs the scheduler in every document, and with `together` at the root."""

    name = "low_fidelity_first"

    def __init__(self, *, together: bool = False) -> None:
        self._together = together

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened) and self._together:
            yield SetScheduler(ROOT, "low_fidelity_first", {"inner": "round_robin"})
        if isinstance(event, DocumentOpened):
            yield SetScheduler(
                document_path(event.application, event.document), "low_fidelity_first"
            )
