"""Focus: the document in front gets most of the link (HATS, 4.1.2, figure 7).

By default 80 %, shared out by WF2Q+, which gives a share that is not used to who can use it: while
only one document has anything to send, it has the whole link, in front or not. Documents in the
background get their pictures at low fidelity first; the one in front in order, whole.

Bandwidth is shared among applications, then among documents, so the front document's share is the
product of two. With r other applications that have documents, and b documents behind it in its own,
it weighs odds * (r + b) against 1 for each of those b; each other application weighs as much as one
of them does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hats.tree.node import MAX_WEIGHT, MIN_WEIGHT
from policies.api import (
    ROOT,
    Command,
    DocumentClosed,
    DocumentOpened,
    DocumentView,
    Event,
    FocusChanged,
    SessionOpened,
    SessionView,
    SetScheduler,
    SetWeight,
    application_path,
    document_path,
)


class Focus:
    """`share` of the link, 0 to 1, goes to the document in front, and to its application."""

    name = "focus"

    def __init__(
        self,
        *,
        share: float = 0.8,
        front: str = "in_order",
        back: str = "low_fidelity_first",
        root: str | None = "wf2q_plus",
    ) -> None:
        """`front` and `back` are schedulers of documents; `root` None leaves the root alone."""
        if not 0 < share < 1:
            raise ValueError(f"share {share}: must lie between 0 and 1")
        self._odds = round(share / (1 - share), 6)
        self._front, self._back, self._root = front, back, root
        self._open: dict[int, str] = {}
        """Documents, and whose they are."""
        self._counts: Counter[str] = Counter()
        """Documents by application."""
        self._ahead: DocumentView | None = None
        """The one that weighs more than the others."""
        self._said: dict[str, float] = {}
        """Weights of applications, where they are not 1."""

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened() if self._root is not None:
                yield SetScheduler(ROOT, self._root)
            case DocumentOpened(document, _, application):
                self._opened(document, application)
                yield SetScheduler(application_path(application), "wf2q_plus")
                if view.front != document and document in view.documents:
                    yield SetScheduler(document_path(application, document), self._back)
            case DocumentClosed(document):
                self._closed(document)
                yield from self._share_out(view)
            case FocusChanged():
                yield from self._share_out(view)

    def _share_out(self, view: SessionView) -> Iterable[Command]:
        """Says only what changes: every document weighs 1 but the one in front."""
        before = self._ahead
        front = view.documents.get(view.front) if view.front is not None else None
        self._ahead = front
        if before is not None and before.id in view.documents and before.id != view.front:
            yield SetWeight(before.path, 1.0)
            yield SetScheduler(before.path, self._back)
        weights = self._applications(front)
        for application in self._said.keys() - weights.keys():
            yield SetWeight((application,), 1.0)
        for application, weight in weights.items():
            yield SetWeight((application,), weight)
        self._said = weights
        if front is not None:
            behind = self._counts[front.application] - 1
            yield SetWeight(front.path, self._weight(len(self._counts) - 1 + behind))
            yield SetScheduler(front.path, self._front)

    def _applications(self, front: DocumentView | None) -> dict[str, float]:
        """The weights of applications that are not 1.

        The one in front weighs the share against the number of the others, however many documents
        are behind in its own: tunnels and downloads beside it keep what they have. So that it has
        enough for those documents too, the others weigh less.
        """
        if front is None:
            return {}
        others, behind = len(self._counts) - 1, self._counts[front.application] - 1
        weights = {front.application: self._weight(others)}
        if behind:
            whole = self._odds * (others + behind) + behind
            each = max(self._odds * others / whole, MIN_WEIGHT)
            weights |= {one: each for one in self._counts if one != front.application}
        return weights

    def _weight(self, rivals: int) -> float:
        """The weight of who is in front: the share against all rivals together."""
        return min(self._odds * max(rivals, 1), MAX_WEIGHT)

    def _opened(self, document: int, application: str) -> None:
        if document not in self._open:
            self._open[document] = application
            self._counts[application] += 1

    def _closed(self, document: int) -> None:
        application = self._open.pop(document, None)
        if application is not None:
            self._counts[application] -= 1
            if not self._counts[application]:
                del self._counts[application]
