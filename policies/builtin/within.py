"""All pictures of a page within some seconds, as fine as can be; afterwards they go on.

Network-aware delivery (Bolliger and Gross, section 1): the time is given, and the quality follows
from what the link carries. The remote proxy chooses, and chooses anew at each estimate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policies.api import (
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    Kind,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
)

MOST: Final = 32
"""Documents that a plan names, the newest: those before them have had their time."""


class Within:
    """`seconds`: from when a page is asked for. What the user says of a page goes before; None:
    only that, by its site's switch on the status page, or in the request."""

    name = "within"

    def __init__(self, *, seconds: float | None = 5.0) -> None:
        self._seconds = seconds
        self._asked: dict[int, float] = {}

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case SessionOpened() if self._seconds is not None:
                pass
            case DocumentOpened(document, within=float(seconds)):
                self._asked[document] = seconds
            case DocumentClosed(document) if document in self._asked:
                del self._asked[document]
            case _:
                return
        for_all = () if self._seconds is None else (Rule(kind=Kind.IMAGE, within=self._seconds),)
        yield SetPlan(
            for_all
            + tuple(
                Rule(kind=Kind.IMAGE, document=document, within=seconds)
                for document, seconds in [*self._asked.items()][-MOST:]
            )
        )
