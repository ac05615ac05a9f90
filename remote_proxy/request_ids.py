"""Judges the component ids that a device gives its requests: none may mean two things.

Pure. Knows the session's counters; not what is under way, which its caller says.
"""

from __future__ import annotations

from wire import messages as m
from wire.errors import PeerError
from wire.frames import MAX_COMPONENT
from wire.session import Session


class RequestIds:
    """Judges the ids of one session by those that it has had."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._last = 0

    def check(self, message: m.Request, *, busy: bool) -> None:
        """Raises PeerError unless the id is a new one of the local side, or an old promise's, or
        that of a picture that was stopped at a level, or of a text that could not be read.
        `busy`: something of it is under way."""
        component, resume = message.component, message.resume
        promise = resume is not None and resume.part is not None and component % 2 == 0
        first = self._session.peer.first_promise if self._session.peer is not None else 0
        known = self._last + 1 if component % 2 else self._session.next_component
        again = resume is not None and (resume.level != "" or resume.anew)
        stopped = again and component < known
        fits = 0 < component <= MAX_COMPONENT  # else no frame could carry its bytes
        if stopped or (promise and component < first):
            if fits and not busy:
                return
        elif fits and component > self._last and component % 2:
            self._last = component
            return
        raise PeerError(f"component {component} is not a new one of the local side")
