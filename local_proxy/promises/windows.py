"""Remembers how large browsers' windows are, and how fine their pixels.

Of the pictures that a page offers in several sizes (`srcset`) a browser takes the one that fits.
Whoever fetches it before it is asked for has to know; a page's driver says it
(local_proxy/export_drivers/browser/driver.js). By client, as its `User-Agent` has it: a window that
was made larger since is news with the next page. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from wire.continuation import Window

MAX_CLIENTS: Final = 64
"""Of which a window is known; those that were heard of last stay."""


class Windows:
    """The last window of each browser."""

    def __init__(self) -> None:
        self._windows: OrderedDict[str, Window] = OrderedDict()

    def seen(self, client: str, window: Window) -> None:
        """A page of this client stands in a window of that size."""
        self._windows[client] = window
        self._windows.move_to_end(client)
        if len(self._windows) > MAX_CLIENTS:
            self._windows.popitem(last=False)

    def of(self, client: str) -> Window | None:
        """The window in which its next page will most likely stand; None: not known."""
        return self._windows.get(client)
