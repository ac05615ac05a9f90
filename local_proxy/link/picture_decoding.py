"""Undoes on the device what the remote proxy did to pictures: codings, sketches, other forms.

Knows what this device can undo; not which picture is whose.
"""

from __future__ import annotations

from transcoders.formats.sniff import Format
from transcoders.undo.arithmetic import ArithmeticDecoder
from transcoders.undo.exact_forms import ExactDecoder
from transcoders.undo.originals import OriginalDecoder
from transcoders.undo.sketch import Enlarger
from wire.abilities import ARITHMETIC, EXACT, RECIPES, SCANS, SKETCH


class PictureDecoding:
    """What of pictures is undone here."""

    def __init__(self, jpegtran: str | None, *, streams: bool) -> None:
        """`jpegtran`: its path; None: nothing is arithmetic-coded. `streams`: a page's picture
        is one response as it comes, so nothing of it can be undone."""
        self._arithmetic = ArithmeticDecoder(jpegtran)
        self._enlarger = Enlarger()
        self._exact = ExactDecoder(jpegtran)
        self._originals = OriginalDecoder(jpegtran)
        self._streams = streams
        self.decode = self._arithmetic.huffman
        self.enlarge = self._enlarger.enlarge
        self.undo = self._exact.undone
        self.restore = self._originals.original

    def accepts(self) -> tuple[str, ...]:
        """In the words of a Hello."""
        works, otherwise = self._arithmetic.works, self._originals.otherwise
        accepted = {
            SKETCH: not self._streams,
            ARITHMETIC: works and not self._streams,
            EXACT: True,
            RECIPES: Format.PNG not in otherwise,
            SCANS: works and Format.JPEG not in otherwise,
        }
        return tuple(name for name, true in accepted.items() if true)

    async def probe(self) -> None:
        """Find out whether jpegtran here can do it, before `accepts` is asked."""
        await self._arithmetic.probe()

    async def close(self) -> None:
        """End what is under way."""
        await self._arithmetic.close()
        await self._enlarger.close()
        await self._exact.close()
        await self._originals.close()
