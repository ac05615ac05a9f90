"""LowFidelityFirst: every picture of a page coarse before any is fine (HATS, 3.2.5 and 4.1.1).

In each document, pictures are sent in order up to the low level, then all of them to medium, then
to high, then whole. The scheduler of that name does it, on the remote proxy.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    Command,
    DocumentOpened,
    Event,
    SessionView,
    SetScheduler,
    document_path,
)


class LowFidelityFirst:
    """Installs the scheduler in every document."""

    name = "low_fidelity_first"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, DocumentOpened):
            yield SetScheduler(
                document_path(event.application, event.document), "low_fidelity_first"
            )
