"""Equal: the paper's Puppeteer without HATS, the baseline of its experiments.

"Puppeteer assigns equal allocations to all applications and documents, and transfers components
within a document in-order" (HATS, 4.1.1). Equal in bytes: quanta differ in length, since none spans
a level's end, so taking turns would favour documents with long components. Pictures still get
levels.
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
    """Equal weights among applications and among documents, in order within each."""

    name = "equal"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened():
                yield SetScheduler(ROOT, "wf2q_plus")
            case DocumentOpened(document, _, application):
                yield SetScheduler(application_path(application), "wf2q_plus")
                yield SetScheduler(document_path(application, document), "in_order")
