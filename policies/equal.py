"""Equal: the paper's Puppeteer without HATS, the baseline of its experiments.

"Puppeteer assigns equal allocations to all applications and documents, and transfers components
within a document in-order" (HATS, 4.1.1). Pictures still get levels.
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
    application_path,
    document_path,
)


class Equal:
    """Round-robin among applications and among documents, in order within each."""

    name = "equal"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened():
                yield SetScheduler(ROOT, "round_robin")
            case DocumentOpened(document, _, application):
                yield SetScheduler(application_path(application), "round_robin")
                yield SetScheduler(document_path(application, document), "in_order")
