"""Whether anything has happened on a link: for who looks at it again and again, but not at rest.

A device in a pocket must not wake up four times a second to see that nothing has changed. Knows
nothing of links.
"""

from __future__ import annotations

import asyncio


class Activity:
    """The activity of one link, over all its connections."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: list[asyncio.Future[None]] = []

    def happened(self) -> None:
        """Notes that something moved on the link."""
        self._count += 1
        if self._waiting:
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
            self._waiting.clear()

    def watch(self) -> ActivityWatch:
        """For one who looks; what has happened so far is news to him."""
        return ActivityWatch(self)


class ActivityWatch:
    """Paces one who looks."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._seen = -1

    async def news(self, *, pause: float) -> float:
        """Until something has happened since the last look, and `pause` seconds longer: what
        happens within these is one piece of news. Seconds by which the loop was late for it."""
        activity = self._activity
        loop = asyncio.get_running_loop()
        if self._seen == activity._count:
            waiting = loop.create_future()
            activity._waiting.append(waiting)
            await waiting
        began = loop.time()
        await asyncio.sleep(pause)
        self._seen = activity._count
        return max(0.0, loop.time() - began - pause)
