"""PluggedTranscoders: makers of others, asked before the built-in ones, that can do no harm.

One has a `name` and two methods (PictureMaker below). `wants` is asked on the event loop, `make`
runs on a thread of its own, so that one that dawdles takes nobody's place. Whatever goes wrong, the
picture goes as the origin sent it, and that maker is asked no more. Bytes that it makes are trusted
to be pictures, never to be the origin's: browsers keep nothing under the origin's name that is not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol, runtime_checkable

from plugins.switch import Nonsense, PluginSwitch
from transcoders.picture import Picture
from transcoders.work.workers import Busy, Workers
from wire.skeleton import LEVELS, Level

TIMEOUT: Final = 5.0
"""Seconds that one picture may take: longer than any of the built-in makers takes."""
WAITING: Final = 64
"""Pictures of one owner in line."""
MAX_TYPE: Final = 100
"""Characters of a content type."""


@runtime_checkable
class PictureMaker(Protocol):
    """What a plug-in's transcoder is."""

    name: str

    def wants(self, content_type: str, head: bytes) -> bool:
        """Whether a picture is for it, by its type and its first bytes."""

    def make(self, data: bytes, content_type: str) -> Sequence[tuple[str, str, bytes]] | None:
        """Files in place of the picture, coarse to fine: (level, content type, bytes), levels from
        "low", "medium" and "high". None: the built-in makers may have it."""


class PluggedTranscoders:
    """All of one proxy, in the order of its settings; used from one event loop."""

    def __init__(
        self,
        makers: Sequence[tuple[PictureMaker, PluginSwitch]] = (),
        *,
        max_bytes: int,
        timeout: float = TIMEOUT,
    ) -> None:
        """`max_bytes`: of what it makes of one picture. `timeout`: seconds."""
        self._makers = makers
        self._max_bytes = max_bytes
        self._timeout = timeout
        self._workers = Workers(workers=1, waiting=WAITING, name="plug-ins")

    async def close(self) -> None:
        """Take no more."""
        await self._workers.close()

    def wants(self, content_type: str, head: bytes) -> bool:
        """Whether one of them wants it."""
        return self._who(content_type, head) is not None

    async def picture(self, data: bytes, content_type: str, whose: str) -> Picture | None:
        """What the one that wants it makes of it; None: it leaves it. Raises Busy, or what the
        plug-in raises: then the origin's bytes are to go."""
        who = self._who(content_type, data)
        if who is None:
            return None
        maker, switch = who
        try:
            async with self._workers.slot(whose) as slot:
                async with asyncio.timeout(self._timeout):
                    made = await slot.call(partial(maker.make, data, content_type))
            return None if made is None else self._checked(made, data)
        except Busy:
            raise
        except Exception as error:
            late = isinstance(error, TimeoutError)
            switch.switch_off(Nonsense(f"more than {self._timeout:g} s") if late else error)
            raise

    def _who(self, content_type: str, head: bytes) -> tuple[PictureMaker, PluginSwitch] | None:
        for maker, switch in self._makers:
            if switch.ask(partial(maker.wants, content_type, head), otherwise=False) is True:
                return maker, switch
        return None

    def _checked(self, made: object, data: bytes) -> Picture:
        """The files one behind the other. Raises Nonsense for what is none."""
        if not isinstance(made, list | tuple) or not 1 <= len(made) <= len(LEVELS):
            raise Nonsense(f"{made!r:.100} is no list of levels")
        names, joined, levels = list(LEVELS[:-1]), b"", []
        for one in made:
            if not isinstance(one, list | tuple) or len(one) != len(("level", "type", "bytes")):
                raise Nonsense(f"{one!r:.100} is not (level, content type, bytes)")
            name, content_type, file = one
            if not isinstance(name, str) or name not in names:
                raise Nonsense(f"level {name!r:.100} is not one of {', '.join(names)}")
            names = names[names.index(name) + 1 :]
            if not isinstance(file, bytes) or not file:
                raise Nonsense(f"level {name} has no bytes")
            if not _is_picture_type(content_type):
                raise Nonsense(f"{content_type!r:.100} is no type of a picture")
            levels.append(Level(name, len(joined), len(joined) + len(file), content_type))
            joined += file
        if len(joined) > self._max_bytes:
            raise Nonsense(f"{len(joined)} bytes; at most {self._max_bytes}")
        return Picture(joined, tuple(levels), 0, 0, lossless=False, identical=False)


def _is_picture_type(content_type: object) -> bool:
    return (
        isinstance(content_type, str)
        and content_type.startswith("image/")
        and len(content_type) <= MAX_TYPE
        and content_type.isascii()
        and content_type.isprintable()
    )
