"""Which transcoder a picture goes to, and the promise that none of them does any harm.

    Transcoders.picture(bytes) -> levels, or None: send the bytes as they are.

None is the answer to damage, attacks, overload, a missing tool and a slow machine alike; only a
caller's own mistake raises. What one device has had made is not made again for the next (made.py).
Knows formats, limits and time; the work is in the modules it names.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from plugins.switch import PluginSwitch
from transcoders.formats.sniff import Format, declared_picture, dimensions, sniff
from transcoders.make.low import Low, as_it_is
from transcoders.make.made import LIMIT, Made
from transcoders.make.makers import SAVES, Makers
from transcoders.make.plugged import PictureMaker, PluggedTranscoders
from transcoders.make.results import ResultStore, SharedResults
from transcoders.picture import Picture, PictureOptions, Unfit, up_to
from transcoders.work.workers import Busy, FilterFailed

__all__ = ["Picture", "PictureOptions", "TranscoderStatistics", "Transcoders"]

MAX_BYTES: Final = 8 << 20
MAX_PIXELS: Final = 25_000_000
"""A larger camera picture than any page shows; jpegtran holds up to 6 bytes of each, twice that
with tables: 150 MB."""
OWNERS: Final = 1024
"""Owners whose refusals are counted; the oldest go."""


@dataclass(frozen=True, slots=True)
class TranscoderStatistics:
    """An immutable snapshot of what became of the pictures."""

    pictures: int
    """Pictures that got levels."""
    left_alone: Mapping[str, int]
    """Why the others did not: "unfit", "failed", "late", "busy"."""
    waiting: int
    bytes_in: int
    bytes_out: int
    """Bytes of `pictures` before and after."""
    spared: int
    """Results that were there, of the same bytes and the same wish."""
    refused: Mapping[str, int]
    """What there was no room or time for, of all owners: see `Transcoders.refused`."""


class Transcoders:
    """All picture transcoders behind one door; one object a proxy, used from one event loop."""

    def __init__(
        self,
        *,
        workers: int = 2,
        jpegtran: str | None = shutil.which("jpegtran"),
        timeout: float = 10.0,
        max_pixels: int = MAX_PIXELS,
        max_bytes: int = MAX_BYTES,
        shared: int = LIMIT,
        plugged: Sequence[tuple[PictureMaker, PluginSwitch]] = (),
        store: ResultStore | None = None,
        makers: Makers | None = None,
    ) -> None:
        """`timeout`: seconds, waiting in line included. `jpegtran`: its path; None: do without.
        `plugged`: makers of others, which are asked first.

        `shared`: bytes of results that are kept for whoever wants the same (made.py). `store`:
        where other processes have and find them too. `makers`: who makes them, instead of workers
        of this process.
        """
        self._makers = makers or Makers(workers=workers, jpegtran=jpegtran, max_pixels=max_pixels)
        self.plugged = bool(plugged)
        """Some are others', and may make whatever they like of a picture."""
        self._plugged = PluggedTranscoders(plugged, max_bytes=max_bytes)
        tools = "jpegtran" if jpegtran else ""
        others = SharedResults(store, tools=tools) if store is not None else None
        self._made = Made(limit=shared, lasting=(Unfit,), others=others)
        self._timeout = timeout
        self._max_pixels = max_pixels
        self._max_bytes = max_bytes
        self._left_alone: Counter[str] = Counter()
        self._refused: OrderedDict[str, Counter[str]] = OrderedDict()
        self._pictures = self._bytes_in = self._bytes_out = 0

    def wants(
        self, content_type: str, head: bytes, length: int | None, *, min_bytes: int = 4096
    ) -> bool:
        """Whether it is worth while to gather the whole body. Costs microseconds.

        `head`: the first bytes, sniff.HEAD of them suffice; `length`: the body's if known.
        """
        if length is not None and not min_bytes <= length <= self._max_bytes:
            return False
        return self._plugged.wants(content_type, head) or self._ours(content_type, head)

    def expected(self, data: bytes) -> tuple[float, float]:
        """Seconds that finer levels of a picture will take here, once its turn has come, and the
        share of its bytes that they save."""
        kind = sniff(data)
        if kind is None:
            return 0.0, 0.0
        return self._makers.times.expected(kind.value, len(data)), SAVES.get(kind, 0.0)

    def expected_low(self, data: bytes, options: PictureOptions) -> float:
        """Processor seconds that its low level will take here."""
        return self._makers.expected_low(data, options)

    def _ours(self, content_type: str, head: bytes) -> bool:
        """Whether the built-in makers may know what to do."""
        if not declared_picture(content_type):
            return False
        kind = sniff(head)
        if kind is None:
            return False
        size = dimensions(head, kind)
        return size is None or 0 < size[0] * size[1] <= self._max_pixels

    async def picture(
        self, data: bytes, content_type: str, options: PictureOptions | None = None
    ) -> Picture | None:
        """The picture with fidelity levels; None: send `data` as it is.

        Never raises for what is in `data`.
        """
        options = options or PictureOptions()
        low = await self.low(data, content_type, options)
        return await self.finish(data, content_type, options, low)

    async def low(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        *,
        whose: str = "",
        private: bool = False,
    ) -> Low | None:
        """What can be sent while the rest is made, by `finish`, which puts it in front of all.

        None: nothing. Takes at most `timeout` seconds and never raises for what is in `data`.
        `whose`: owners share the workers fairly, whatever each of them wants. `private`: the bytes
        came with credentials, so nobody may learn from its time that they were here before.
        """
        if options.adapted or not self._fit(data, content_type, options):
            return None
        if self._plugged.wants(content_type, data):
            return None
        try:
            async with asyncio.timeout(self._timeout):
                return await self._made.get(
                    ("low", _digest(data), options),
                    lambda: self._makers.low(data, options, whose),
                    size=lambda low: len(low.data) if low is not None else 0,
                    private=private,
                )
        except Exception as error:  # Pillow raises a dozen kinds
            self._refuse(whose, "low", error)
            return None

    async def finish(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        low: Low | None,
        *,
        whose: str = "",
        private: bool = False,
    ) -> Picture | None:
        """The picture with all its levels; None: send `data` as it is, only if `low` is None.

        Takes at most `timeout` seconds and never raises for what is in `data`.
        """
        if not self._fit(data, content_type, options):
            return None
        if low is None:
            try:
                plugged = await self._plugged.picture(data, content_type, whose)
            except Exception as error:
                self._left_alone[_reason(error)] += 1
                self._refuse(whose, "levels", error)
                return None
            if plugged is not None:
                return self._counted(data, plugged, options)
        if not self._ours(content_type, data):
            return None
        try:
            async with asyncio.timeout(self._timeout):
                made = await self._made.get(
                    ("levels", _digest(data), options, low is not None),
                    lambda: self._makers.levels(low, data, options, whose),
                    size=lambda picture: len(picture.data),
                    private=private,
                )
        except Exception as error:  # SyntaxError among them
            self._left_alone[_reason(error)] += 1
            self._refuse(whose, "levels", error)
            return as_it_is(data, low) if low is not None else None
        return self._counted(data, made, options)

    def _counted(self, data: bytes, made: Picture, options: PictureOptions) -> Picture:
        self._pictures += 1
        self._bytes_in += len(data)
        self._bytes_out += len(made.data)
        return up_to(made, options.stop)

    def _fit(self, data: bytes, content_type: str, options: PictureOptions) -> bool:
        return self.wants(content_type, data, len(data), min_bytes=options.min_bytes)

    async def exact(
        self,
        data: bytes,
        *,
        start: int,
        length: int,
        deflated: bool,
        scans: bool,
        whose: str = "",
    ) -> bytes | None:
        """A denser form of bytes with a picture in them (transcoders/exact); None: it has none.

        `start`, `length`: where the picture is, `deflated` or not; `scans`: whoever undoes it has
        jpegtran. Never raises for what is in `data`.
        """
        try:
            return await self._makers.exact(
                data,
                start=start,
                length=length,
                deflated=deflated,
                scans=scans,
                whose=whose,
                limit=self._timeout,
            )
        except (Unfit, FilterFailed, Busy, TimeoutError) as error:
            self._refuse(whose, "exact", error)
            return None

    async def recipe(
        self,
        data: bytes,
        picture: Picture,
        options: PictureOptions,
        *,
        whose: str = "",
        private: bool = False,
    ) -> bytes | None:
        """By which the device makes `data`, the origin's bytes, of the picture's last level.

        None: they are that level, or there is none. Never raises for what is in `data`.
        """
        if picture.identical or not picture.lossless:
            return None
        if not (options.scans if sniff(data) is Format.JPEG else options.recipes):
            return None
        try:
            return await self._made.get(
                ("recipe", _digest(data), _digest(picture.data)),
                lambda: self._makers.recipe(data, picture, whose, self._timeout),
                size=lambda recipe: len(recipe or b""),
                private=private,
            )
        except Exception as error:  # Pillow raises a dozen kinds
            self._refuse(whose, "recipe", error)
            return None

    async def thumbnail(self, data: bytes, *, whose: str = "") -> bytes | None:
        """A small coarse version of a picture in a document; None: do without. Never raises."""
        if len(data) > self._max_bytes:
            return None
        try:
            async with asyncio.timeout(self._timeout):
                return await self._makers.thumbnail(data, whose)
        except Exception as error:  # Pillow raises a dozen kinds, SyntaxError among them
            self._left_alone[_reason(error)] += 1
            self._refuse(whose, "thumbnail", error)
            return None

    def refused(self, whose: str) -> Mapping[str, int]:
        """How often there was no room or no time for what an owner wanted, by what and why:
        "low busy", "levels late", "exact busy", "thumbnail busy" ..."""
        return MappingProxyType(dict(self._refused.get(whose, {})))

    def statistics(self) -> TranscoderStatistics:
        return TranscoderStatistics(
            pictures=self._pictures,
            left_alone=MappingProxyType(dict(self._left_alone)),
            waiting=self._makers.waiting,
            bytes_in=self._bytes_in,
            bytes_out=self._bytes_out,
            spared=self._made.spared,
            refused=MappingProxyType(dict(sum(self._refused.values(), Counter[str]()))),
        )

    async def close(self) -> None:
        """Take no more pictures. Those under way end as "busy" or run to their end."""
        await self._plugged.close()
        await self._makers.close()
        await self._made.close()

    def _refuse(self, whose: str, what: str, error: Exception) -> None:
        """Count it, if it was refused for want of room or time."""
        if not isinstance(error, Busy | TimeoutError):
            return
        self._refused.setdefault(whose, Counter())[f"{what} {_reason(error)}"] += 1
        if len(self._refused) > OWNERS:
            self._refused.popitem(last=False)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _reason(error: Exception) -> str:
    match error:
        case Unfit():
            return "unfit"
        case Busy():
            return "busy"
        case TimeoutError():
            return "late"
    return "failed"
