"""Media: sound and films that are played have the rate guaranteed at which they are.

A page adapts to a slow link, a film stalls. So what a document plays has its rate and a quarter
more, whatever else loads, as far as half of the link carries that; texts go before for as long as a
player has something in hand. Beyond it, and where nothing plays, a film has its share.
"""

from __future__ import annotations

from collections.abc import Iterable

from policies.api import (
    Command,
    DocumentClosed,
    Event,
    Kind,
    PlayingChanged,
    Rule,
    SessionView,
    SetPlan,
)


class SteadyMedia:
    """Sets a rule for each document that plays something."""

    name = "media"

    def __init__(self) -> None:
        self._playing: dict[int, None] = {}

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        match event:
            case PlayingChanged(document, True) if document not in self._playing:
                self._playing[document] = None
            case PlayingChanged(document) | DocumentClosed(document) if document in self._playing:
                if isinstance(event, PlayingChanged) and event.playing:
                    return
                del self._playing[document]
            case _:
                return
        yield SetPlan(
            tuple(Rule(kind=Kind.MEDIA, document=one, steady=True) for one in self._playing)
        )
