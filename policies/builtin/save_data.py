"""SaveData: who asks to save data gets pictures up to a level, and the rest of one when asked for.

A browser says `Save-Data: on` where its user wants that (Save Data API, 2.1); origins hear it, too.
Pictures of such a page end at that level, for good: the rest is never sent. The page's "load the
original" of one picture asks for it apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    Kind,
    Rule,
    SessionView,
    SetPlan,
)
from policies.api.plan import StopLevel


class SaveData:
    """`level`: of pictures in documents whose user saves data."""

    name = "save_data"

    def __init__(self, *, level: StopLevel = "medium") -> None:
        self._level = level
        self._saving: list[int] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case DocumentOpened(document, save_data=True):
                self._saving.append(document)
            case DocumentClosed(document) if document in self._saving:
                self._saving.remove(document)
            case _:
                return
        yield SetPlan(
            tuple(Rule(kind=Kind.IMAGE, document=id, level=self._level) for id in self._saving)
        )
