"""Undoes on the device what the remote proxy did to pictures: codings, sketches, exact forms.

Knows what this device can undo; not which picture is whose.
"""

from __future__ import annotations

from transcoders.arithmetic import ArithmeticDecoder
from transcoders.exact.coder import ExactDecoder
from transcoders.sketch import Enlarger
from wire.messages import ARITHMETIC, EXACT, SKETCH


class PictureDecoding:
    """What of pictures is undone here."""

    def __init__(self, jpegtran: str | None, *, streams: bool) -> None:
        """`jpegtran`: its path; None: nothing is arithmetic-coded. `streams`: a page's picture
        is one response as it comes, so nothing of it can be undone."""
        self._arithmetic = ArithmeticDecoder(jpegtran)
        self._enlarger = Enlarger()
        self._exact = ExactDecoder(jpegtran)
        self._streams = streams
        self.decode = self._arithmetic.huffman
        self.enlarge = self._enlarger.enlarge
        self.undo = self._exact.undone

    def accepts(self) -> tuple[str, ...]:
        """In the words of a Hello."""
        if self._streams:
            return (EXACT,)
        return (SKETCH, ARITHMETIC, EXACT) if self._arithmetic.works else (SKETCH, EXACT)

    async def probe(self) -> None:
        """Find out whether jpegtran here can do it, before `accepts` is asked."""
        if not self._streams:
            await self._arithmetic.probe()

    async def close(self) -> None:
        """End what is under way."""
        await self._arithmetic.close()
        await self._enlarger.close()
        await self._exact.close()
