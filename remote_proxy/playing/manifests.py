"""Reads from DASH manifests at which rate the segments of each representation play. Pure.

What a manifest calls bandwidth is what a line of constant rate must have so that it never stands
still once it has begun (ISO/IEC 23009-1, 5.3.5.2). Segments are named one by one, or by a template
(5.3.9.4.4); a representation without either is one file, at its base address (5.6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lxml import etree

from remote_proxy.playing.playlists import LONGEST, PassingText, joined

REPRESENTATIONS: Final = 64
"""Representations of one manifest that are read."""
NAMED: Final = 4096
"""Segments of one that are."""
LONGEST_ADDRESS: Final = 1024
"""Characters of one, and of what it is made of: patterns take longer to make as they are longer."""
COUNTS: Final = 4
"""Numbers in one."""
_LEAST: Final = 100
_MOST: Final = 1 << 31
"""Bytes/second between which a rate is believed."""
_MARK: Final = re.compile(r"\$(RepresentationID|Number|Time|Bandwidth|SubNumber)?(?:%0\d{1,2}d)?\$")
_COUNT: Final = "x0COUNT0x"
"""Stands for a number while a template is made an address."""
_DIGITS: Final = "[0-9]{1,20}+"
"""Taken whole: nothing is tried a second time, however a template puts numbers side by side."""


@dataclass(frozen=True, slots=True)
class PlayedAddress:
    """The address of a file, or of segments that differ in their numbers."""

    address: str
    """With `_COUNT` in the place of numbers."""
    rate: float
    """Bytes/second."""

    @property
    def counts(self) -> bool:
        """Whether it is of many segments."""
        return _COUNT in self.address

    def pattern(self) -> re.Pattern[str]:
        """Matches the whole of each such address, in linear time."""
        return re.compile(re.escape(self.address).replace(_COUNT, _DIGITS))


@dataclass(frozen=True, slots=True)
class _Level:
    """What a part of a manifest says of its segments, or the part that it is in (5.3.9.1)."""

    base: str
    template: str = ""
    listed: tuple[str, ...] = ()

    def of(self, part: etree._Element) -> _Level:
        """The same of a part inside."""
        own = part.findtext("{*}BaseURL")
        templates = (one.get("media", "") for one in part.iterfind("{*}SegmentTemplate"))
        listed = part.iterfind("{*}SegmentList/{*}SegmentURL")
        return _Level(
            joined(self.base, own.strip()) if own else self.base,
            next(filter(None, templates), self.template),
            tuple(one.get("media", "") for one in islice(listed, NAMED)) or self.listed,
        )


class Manifest(PassingText):
    """One, read once it has passed."""

    def addresses(self) -> Iterator[PlayedAddress]:
        """The addresses of its segments and files. What can't be read is left out."""
        for address, rate in islice(self._told(), NAMED):
            if 0 < len(address) <= LONGEST_ADDRESS and address.count(_COUNT) <= COUNTS:
                yield PlayedAddress(address, rate)

    def _told(self) -> Iterator[tuple[str, float]]:
        """Each address that is named, and its bytes/second; empty: it can't be read."""
        for one, level in islice(self._representations(), REPRESENTATIONS):
            rate = _rate(one.get("bandwidth", ""))
            if rate is None:
                continue
            if level.template:
                filled = _filled(level.template, one)
                yield joined(level.base, filled) if filled else "", rate
                continue
            whole = ("",) if one.find("{*}BaseURL") is not None else ()
            for address in level.listed or whole:
                yield joined(level.base, address), rate

    def _representations(self) -> Iterator[tuple[etree._Element, _Level]]:
        root = self._root()
        if root is None:
            return
        level = _Level(self._url).of(root)
        for period in root.iterfind("{*}Period"):
            in_period = level.of(period)
            for group in period.iterfind("{*}AdaptationSet"):
                in_group = in_period.of(group)
                for one in group.iterfind("{*}Representation"):
                    yield one, in_group.of(one)

    def _root(self) -> etree._Element | None:
        """The manifest's element; None: it is none."""
        if len(self._data) > LONGEST:
            return None
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
        try:
            root = etree.fromstring(bytes(self._data), parser)
        except (etree.XMLSyntaxError, ValueError):
            return None
        return root if root is not None and etree.QName(root).localname == "MPD" else None


def _filled(template: str, one: etree._Element) -> str:
    """The template with what is known of the representation; numbers are left open. Empty: it is
    longer than anybody's."""
    if len(template) > LONGEST_ADDRESS or len(one.get("id", "")) > LONGEST_ADDRESS:
        return ""

    def fill(mark: re.Match[str]) -> str:
        if mark[0] == "$$":
            return "$"
        if mark[1] == "RepresentationID":
            return str(one.get("id", ""))
        if mark[1] == "Bandwidth":
            return str(one.get("bandwidth", ""))
        return _COUNT

    return _MARK.sub(fill, template)


def _rate(bandwidth: str) -> float | None:
    """Bytes/second of bits/second."""
    if not bandwidth.isdecimal() or len(bandwidth) > 12:
        return None
    rate = int(bandwidth) / 8
    return rate if _LEAST <= rate <= _MOST else None
