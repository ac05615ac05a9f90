"""When files of a folder come, go or change, as the system tells it: nobody looks meanwhile.

Where the system does not tell (another machine changes a network file system, the folder is not
there yet) there is a look every now and then. Knows nothing of what the files are.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Final, Self

try:
    from asyncinotify import Inotify, Mask
except (ImportError, RuntimeError):  # no inotify on this system
    ABLE = False
else:
    ABLE = True

UNTOLD: Final = 0.9
"""Seconds between two looks where the system does not tell."""
TOLD: Final = 30.0
"""The same where it does, for what other machines change."""


class FolderWatch:
    """One folder, from its first `changed` until it is closed. Used from one event loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inotify: Inotify | None = None

    async def changed(self) -> None:
        """Until a file came, went or changed, as far as is known: who was told wrongly looks in
        vain. Returns at once when the system begins to tell: what was before that is not known.
        """
        if self._inotify is None and self._begin():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TOLD if self._inotify is not None else UNTOLD):
                await self._told()

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self) -> bool:
        """Whether the system tells from here on."""
        if not ABLE:
            return False
        inotify = None
        try:
            inotify = Inotify()
            files = Mask.CREATE | Mask.DELETE | Mask.MOVE | Mask.CLOSE_WRITE
            inotify.add_watch(self._folder, files | Mask.MOVE_SELF | Mask.ONLYDIR)
        except OSError:  # not there yet, or the user's watches are used up
            if inotify is not None:
                inotify.close()
            return False
        self._inotify = inotify
        return True

    async def _told(self) -> None:
        if self._inotify is None:
            await asyncio.Event().wait()
            return
        event = await self._inotify.get()
        if event.mask & (Mask.IGNORED | Mask.UNMOUNT | Mask.MOVE_SELF):  # the folder is gone
            self.close()
