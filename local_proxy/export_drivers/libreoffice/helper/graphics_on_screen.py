"""Which pictures of a text are on the screen: no interface but that for screen readers tells.

It lists what is visible, and nothing else. Scrolling has no event that is worth its price, so one
looks about once a second, as long as pictures are missing. Must not know: commands, versions.

Source: LibreOffice API, com.sun.star.accessibility; AccessibleRole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from com.sun.star.uno import Exception as UnoException

INTERVAL = 1.0
"""Seconds. A look takes LibreOffice 10-30 ms."""
_ABOVE = (51, 85)
"""Roles on the way to the text: scroll pane, document. What is beside them are panels."""
_GRAPHIC = 23
_DEPTH = 4
"""Scroll pane, document, paragraph or frame, picture."""
_MOST = 256
"""Children of one that are looked at: what is on a screen."""


class DocumentReader:
    """Looks until it is stopped, and reports what is new."""

    def __init__(self, window: Any, report: Callable[..., None]) -> None:
        self._window = window
        self._report = report
        self._seen: tuple[int, tuple[int, ...]] = (0, ())
        self._stop = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            try:
                seen = self._look()
            except (UnoException, AttributeError):
                continue  # it makes way for another version, or closes
            if seen != self._seen:
                self._seen = seen
                self._report("page", page=seen[0], visible=seen[1])

    def _look(self) -> tuple[int, tuple[int, ...]]:
        names = self._window.album.names()
        screen = self._window.frame.getComponentWindow().getAccessibleContext()
        visible = {names[name] for name in graphics(screen) if name in names}
        return self._window.page(), tuple(sorted(visible))


def graphics(node: Any, depth: int = 0) -> Iterator[str]:
    """Names of the pictures that can be seen."""
    for number in range(min(node.getAccessibleChildCount(), _MOST)):
        child = node.getAccessibleChild(number).getAccessibleContext()
        role = child.getAccessibleRole()
        if role == _GRAPHIC:
            yield child.getAccessibleName()
        elif depth < _DEPTH and (depth >= len(_ABOVE) or role in _ABOVE):
            yield from graphics(child, depth + 1)
