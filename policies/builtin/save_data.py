"""SaveData: who asks to save data gets pictures that look the same in few bytes, and no fonts.

A browser says `Save-Data: on` where its user wants that (Save Data API, 2.1), and origins hear it,
too; or a site's switch on the status page says `saver`. Each picture of such a page is re-encoded
at the size that it is shown at, to an SSIM that is found by measuring, and ends so: the rest is
never sent. The page's "load the original" of one picture asks for it apart. Letters come in the
system's own fonts.

A plan has room for so many rules (policies/host/checks.py), and the default policy's is shared with
others. So it names the documents that were opened or in front last; one that has not been for long
is named again once it is in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from policies.api import (
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    FocusChanged,
    Kind,
    Rule,
    SessionView,
    SetPlan,
)
from policies.api.plan import StopLevel

MOST: Final = 100
"""Documents that a plan names, with two rules each."""


class SaveData:
    """In documents whose user saves data. `similar`: SSIM of pictures; `level`: where those end
    that can't be re-encoded, and so have levels; `fonts`: whether they come."""

    name = "save_data"

    def __init__(
        self, *, similar: float = 0.97, level: StopLevel = "original", fonts: bool = False
    ) -> None:
        self._similar = similar
        self._level = level
        self._fonts = fonts
        self._saving: list[int] = []
        """Documents; those that were in front last are last."""

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case DocumentOpened(document, save_data=True):
                self._saving.append(document)
            case DocumentClosed(document) if document in self._saving:
                self._saving.remove(document)
            case FocusChanged(int(document)) if document in self._saving:
                known = document in self._saving[-MOST:]
                self._saving.remove(document)
                self._saving.append(document)
                if known:
                    return
            case _:
                return
        yield SetPlan(tuple(rule for id in self._saving[-MOST:] for rule in self._rules(id)))

    def _rules(self, document: int) -> Iterator[Rule]:
        yield Rule(
            kind=Kind.IMAGE,
            document=document,
            level=self._level,
            similar=self._similar,
            fit_layout=True,
        )
        if not self._fonts:
            yield Rule(kind=Kind.FONT, document=document, fetch="never")
