"""Makes the form in which one picture is sent, and gives up where that takes too long.

Work ends when the link would have been through with the picture (economy.py). Not so where a policy
asks for less than the origin's bytes: who saves data saves it on a fast link too. A picture that an
earlier session began goes on in the form in which it began. Must not know messages or trees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from math import inf
from typing import Any, Final, TypeVar

from remote_proxy.jobs.rush import Rush
from remote_proxy.jobs.services import Sender
from remote_proxy.origin.resumed_body import Rest
from transcoders.make.low import Low, as_it_is, behind
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions
from wire.skeleton import LEVELS

LOOK: Final = 0.25
"""Seconds between two looks at the link while a picture is worked on."""
T = TypeVar("T")


class PictureWork:
    """All of the picture is here."""

    def __init__(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        *,
        sender: Sender,
        transcoders: Transcoders,
        rush: Rush,
        rest: Rest,
        steps: bool,
        private: bool,
        worth: float | None,
        finer: bool = False,
    ) -> None:
        """`steps`: an answer may end before the picture is final. `private`: it came with
        credentials. `worth`: seconds of waiting from which on it is adapted, as a policy says;
        None: as usual. `finer`: all that was wanted of it is there, and now more is."""
        self._data = data
        self._content_type = content_type
        self._options = options
        self._sender = sender
        self._transcoders = transcoders
        self._rush = rush
        self._rest = rest
        self._steps = steps
        self._private = private
        self._worth = worth
        self._finer = finer
        always = sender.economy.always(worth)
        self._bounded = not (always or rest.begun or options.adapted or options.stop != "original")
        self._untouched = False
        """The link would be, or has been, through with it sooner than the work."""

    async def low(self) -> Low | None:
        """What may go while the rest is made; None: nothing."""
        if not self._steps or self._rest.begun or self._outrun():
            return None
        low = await self._in_time(self._low(), lambda: self._sender.ahead, shown=False)
        return None if low is not None and self._outrun() else low

    async def finished(self, low: Low | None) -> Picture | None:
        """All of it, behind `low` if that is one; None: the origin's bytes."""
        if self._untouched or (low is None and self._outrun()):
            return None
        if self._rest.begun:
            return await self._as_begun()
        size, sender = len(self._data), self._sender
        if low is not None and self._bounded:
            ahead = sender.ahead - size  # it is itself among what is gathered
            work, saves = self._transcoders.expected(self._data)
            if not sender.economy.refines(
                size, ahead=ahead, rate=sender.expected, work=work, saves=saves
            ):
                return as_it_is(self._data, low)
        made = await self._in_time(
            self._finish_behind_texts(low), lambda: sender.queued + size, shown=low is not None
        )
        return as_it_is(self._data, low) if self._untouched and low is not None else made

    async def recipe(self, picture: Picture) -> bytes | None:
        """By which the device makes the origin's bytes of it; None: none is needed, or known."""
        return await self._transcoders.recipe(
            self._data,
            picture,
            self._options,
            whose=self._sender.device,
            private=self._private,
        )

    def _outrun(self) -> bool:
        """Whether the link is known by now, and carries all of the picture at once.

        A session's first pictures are here before it is; what was coarse would be loaded twice.
        """
        if not self._bounded:
            return False
        size, sender = len(self._data), self._sender
        ahead = sender.ahead - size  # it is itself among what is gathered
        self._untouched = sender.economy.outruns(
            size,
            ahead=ahead,
            rate=sender.expected,
            worth=self._worth,
            work=self._transcoders.expected_low(self._data, self._options),
        )
        return self._untouched

    def _low(self) -> Coroutine[Any, Any, Low | None]:
        return self._transcoders.low(
            self._data,
            self._content_type,
            self._options,
            whose=self._sender.device,
            private=self._private,
        )

    async def _finish_behind_texts(self, low: Low | None) -> Picture | None:
        """What is denser, or finer by steps, is what a machine without time does without."""
        await self._rush.over(self._sender.device)
        return await self._finish(low)

    def _finish(self, low: Low | None) -> Coroutine[Any, Any, Picture | None]:
        return self._transcoders.finish(
            self._data,
            self._content_type,
            self._options,
            low,
            whose=self._sender.device,
            private=self._private,
        )

    async def _as_begun(self) -> Picture | None:
        """The form that begins with what the device has: levels, the origin's bytes behind a low
        level, or these alone. How fast the link was then is not known."""
        made = None
        for options in self._ways():
            self._options = options
            low = await self._low()
            made = await self._finish(low)
            if made is not None and self._rest.begins(made.data):
                ends = self._options.adapted and made.levels[-1].name != LEVELS[-1]
                return behind(made, self._data) if ends and self._finer else made
            if low is not None and self._rest.begins(low.data + self._data):
                return as_it_is(self._data, low)
            if self._rest.begins(self._data):
                return None
        return made

    def _ways(self) -> list[PictureOptions]:
        """As it is wanted, and as it would be had the link been another, or had there been a time
        then and were none now, or the reverse."""
        options = self._options
        quick = [replace(options, quick=not options.quick)] if options.sketch else []
        return [options, *quick, replace(options, sketch=False, between=not options.between)]

    async def _in_time(
        self, work: Coroutine[Any, Any, T | None], instead: Callable[[], int], *, shown: bool
    ) -> T | None:
        """What the work gives; None where the link would be through sooner with so many bytes
        `instead`, as the link is then: it may not be measured when the work begins.

        `shown`: what is coarse of the picture has gone.
        """
        if not self._bounded:
            return await work
        loop, sender = asyncio.get_running_loop(), self._sender
        began = loop.time()
        timer: asyncio.Handle | None = None
        try:
            async with asyncio.timeout(None) as limit:

                def look() -> None:
                    nonlocal timer
                    patience = sender.economy.patience(instead(), rate=sender.expected, shown=shown)
                    left = began + patience - loop.time()
                    if left <= 0:
                        limit.reschedule(loop.time())
                    else:
                        timer = loop.call_later(min(left, LOOK) if left < inf else LOOK, look)

                timer = loop.call_soon(look)
                try:
                    return await work
                finally:
                    timer.cancel()
        except TimeoutError:
            self._untouched = True
            sender.economy.late()
            return None
