"""Reads from DASH manifests at which rate the segments of each representation play. Pure.

What a manifest calls bandwidth is what a line of constant rate must have so that it never stands
still once it has begun (ISO/IEC 23009-1, 5.3.5.2). Segments are named one by one, or by a template
(5.3.9.4.4); a representation without either is one file, at its base address (5.6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from lxml import etree

from wire.messages import MAX_URL

LONGEST: Final = 1 << 20
"""Bytes of one that are read."""
REPRESENTATIONS: Final = 64
"""Of one manifest."""
NAMED: Final = 4096
"""Segments that are named one by one."""
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


class Manifest:
    """One, read as it passes by."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._data = bytearray()

    def feed(self, piece: bytes) -> None:
        """Bytes of it, decoded."""
        if len(self._data) <= LONGEST:
            self._data += piece

    def addresses(self) -> Iterator[PlayedAddress]:
        """The addresses of its segments and files. What can't be read is left out."""
        if len(self._data) > LONGEST:
            return
        parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
        try:
            root = etree.fromstring(bytes(self._data), parser)
        except (etree.XMLSyntaxError, ValueError):
            return
        if root is None or etree.QName(root).localname != "MPD":
            return
        base = _based(self._url, root)
        representations = named = 0
        for period in root.iterfind("{*}Period"):
            in_period = _based(base, period)
            for group in period.iterfind("{*}AdaptationSet"):
                in_group = _based(in_period, group)
                for one in group.iterfind("{*}Representation"):
                    representations += 1
                    if representations > REPRESENTATIONS:
                        return
                    for found in _of(one, _based(in_group, one), (period, group, one)):
                        named += 1
                        if named > NAMED:
                            return
                        yield found


def _of(
    one: etree._Element, base: str, levels: tuple[etree._Element, ...]
) -> Iterator[PlayedAddress]:
    """The addresses of one representation; `levels`: what it inherits from, itself the last."""
    rate = _rate(one.get("bandwidth", ""))
    if rate is None:
        return
    template = next(
        (
            found.get("media", "")
            for level in reversed(levels)
            for found in level.iterfind("{*}SegmentTemplate")
            if found.get("media")
        ),
        "",
    )
    if template:
        addresses = [_filled(template, one)]
    else:
        addresses = _listed(levels) or ([""] if one.find("{*}BaseURL") is not None else [])
    for address in addresses:
        whole = _join(base, address)
        if whole and len(whole) <= MAX_URL:
            yield PlayedAddress(whole, rate)


def _listed(levels: tuple[etree._Element, ...]) -> list[str]:
    for level in reversed(levels):
        if found := level.findall("{*}SegmentList/{*}SegmentURL"):
            return [one.get("media", "") for one in found]
    return []


def _filled(template: str, one: etree._Element) -> str:
    """The template with what is known of the representation; numbers are left open."""

    def fill(mark: re.Match[str]) -> str:
        if mark[0] == "$$":
            return "$"
        if mark[1] == "RepresentationID":
            return str(one.get("id", ""))
        if mark[1] == "Bandwidth":
            return str(one.get("bandwidth", ""))
        return _COUNT

    return _MARK.sub(fill, template)


def _based(base: str, element: etree._Element) -> str:
    """The address that addresses inside the element are relative to."""
    own = element.findtext("{*}BaseURL")
    return _join(base, own.strip()) if own else base


def _rate(bandwidth: str) -> float | None:
    """Bytes/second of bits/second."""
    if not bandwidth.isdecimal() or len(bandwidth) > 12:
        return None
    rate = int(bandwidth) / 8
    return rate if _LEAST <= rate <= _MOST else None


def _join(base: str, address: str) -> str:
    if len(address) > MAX_URL:
        return ""
    try:
        return urljoin(base, address)
    except ValueError:
        return ""
