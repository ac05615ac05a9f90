"""Background: what browsers fetch for themselves gets a hundredth of the link while pages load.

Downloads, whoever began them, and what else no page asked for, get little more: nobody watches
their bytes come. Texts that are no downloads go first like all texts, until they get long, so that
an answer of a few lines does not wait.

What browsers fetch for themselves gives way to other programs of the line, too: an update that
nobody has asked for takes nothing from somebody's download.

With the link to themselves such fetches have all of it: WF2Q+ shares out what is not used. They
enter the tree as "other", so a TextFirst root holds them back entirely while any text moves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policies.api import (
    Command,
    Event,
    GiveWay,
    SessionOpened,
    SessionView,
    SetWeight,
    application_path,
    document_path,
)
from wire.applications import Application
from wire.messages import UNATTRIBUTED

SHARE: Final = 0.01
"""Of what the browser has while no document is in front."""
UNASKED: Final = 0.04
"""Of the same, for downloads and what else no page is known to have asked for: a page is 4 % later
beside one, the page in front 1 %."""


class Background:
    """Weighs the applications of such fetches, and what pages load without naming themselves."""

    name = "background"

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetWeight(application_path(Application.BACKGROUND.node), SHARE)
            yield GiveWay(application_path(Application.BACKGROUND.node))
            yield SetWeight(application_path(Application.OTHER.node), UNASKED)
            yield SetWeight(document_path(Application.BROWSER.node, UNATTRIBUTED), UNASKED)
