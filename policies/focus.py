"""Focus: the document in front gets most of the link (HATS, 4.1.2, figure 7).

By default 80 %, shared out by WF2Q+, which gives a share that is not used to who can use it: while
only one document has anything to send, it has the whole link, in front or not. Documents in the
background get their pictures at low fidelity first; the one in front in order, whole.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    ROOT,
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    FocusChanged,
    SessionOpened,
    SessionView,
    SetScheduler,
    SetWeight,
    application_path,
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

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened() if self._root is not None:
                yield SetScheduler(ROOT, self._root)
            case DocumentOpened(application=application):
                yield SetScheduler(application_path(application), "wf2q_plus")
            case FocusChanged() | DocumentClosed():
                yield from self._share_out(view)

    def _share_out(self, view: SessionView) -> Iterable[Command]:
        front = view.documents.get(view.front) if view.front is not None else None
        in_front = front.application if front else ""
        applications = dict.fromkeys(document.application for document in view.documents.values())
        for application in applications:
            rivals = len(applications) - 1
            yield SetWeight((application,), self._weight(application == in_front, rivals))
        for document in view.documents.values():
            siblings = [d for d in view.documents.values() if d.application == document.application]
            yield SetWeight(document.path, self._weight(document is front, len(siblings) - 1))
            yield SetScheduler(document.path, self._front if document is front else self._back)

    def _weight(self, in_front: bool, rivals: int) -> float:
        """Everyone weighs 1 but who is in front: the share against all rivals together."""
        return self._odds * max(rivals, 1) if in_front else 1.0
