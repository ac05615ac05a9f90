"""Background: what browsers fetch for themselves gets a hundredth of the link while pages load.

With the link to themselves such fetches have all of it: WF2Q+ shares out what is not used. They
enter the tree as "other", so a TextFirst root holds them back entirely while any text moves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policies.api import Command, Event, SessionOpened, SessionView, SetWeight, document_path
from wire.messages import BACKGROUND

SHARE: Final = 0.01
"""Of a document that is not in front."""


class Background:
    """Weighs the node of all such fetches together."""

    name = "background"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetWeight(document_path("browser", BACKGROUND), SHARE)
