"""Reads the fields that caches go by: Cache-Control, Age, dates. Pure.

Sources: RFC 9111, 5.1 (Age), 5.2 (Cache-Control), 1.2.2 (delta-seconds); RFC 9110, 5.6.7 (dates).
What is written wrongly is read as "not fresh": that costs a request, the opposite shows old bytes.
Must not know: what is kept, or for whom.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wire.fields import Fields, header

MOST: Final = float(1 << 31)
"""Seconds that stand for any more (RFC 9111, 1.2.2)."""
_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
_WORD: Final = re.compile(r"[a-z0-9_-]+")
_KEEPING: Final = frozenset(("no-cache", "no-store", "no-transform", "private"))
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_CLOCK: Final = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_DATES: Final = tuple(
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"[a-z]{{3}}, (?P<day>\d\d) (?P<month>[a-z]{{3}}) (?P<year>\d{{4}}) {_CLOCK} GMT",
        rf"[a-z]{{6,9}}, (?P<day>\d\d)-(?P<month>[a-z]{{3}})-(?P<year>\d\d) {_CLOCK} GMT",
        rf"[a-z]{{3}} (?P<month>[a-z]{{3}}) (?P<day>[ \d]\d) {_CLOCK} (?P<year>\d{{4}})",
    )
)
"""IMF-fixdate, RFC 850's, asctime's. Nothing else: "recipients must interpret invalid dates as the
past" (RFC 9111, 5.3)."""
_HALF: Final = 50
"""Years ahead, beyond which a year of two digits is one of the last century (RFC 9110, 5.6.7)."""
_YEAR: Final = 365.25 * 86_400


@dataclass(frozen=True, slots=True)
class CacheControl:
    """The directives of a request or a response."""

    arguments: Mapping[str, str | None]
    """By name, in lower case, as written; None: it has none. Of two of a name the lower counts."""

    @classmethod
    def of(cls, fields: Fields) -> CacheControl:
        """Read the directives of all lines. Anything can be read.

        Those that keep something from being shared count wherever they stand outside of quotes:
        who writes `private; max-age=60` means it.
        """
        found: dict[str, str | None] = {}
        parts = _ESCAPED.sub("_", header(fields, "cache-control")).split('"')
        for item in _items(parts):
            name, equals, argument = item.partition("=")
            name, said = name.strip().lower(), argument if equals else None
            if name and (name not in found or _seconds(said) < _seconds(found[name])):
                found[name] = said
        for word in _WORD.findall(_unquoted(parts).lower()):
            if word in _KEEPING:
                found.setdefault(word, None)
        return cls(found)

    def __contains__(self, name: str) -> bool:
        return name in self.arguments

    def seconds(self, name: str) -> float | None:
        """The argument; 0 where it can't be read; None: there is no such directive."""
        return _seconds(self.arguments[name]) if name in self.arguments else None


def age_said(fields: Fields) -> float:
    """Seconds that Age says, by the first of several; what is no number is ignored."""
    first = header(fields, "age").partition(",")[0].strip()
    return _number(first) if first.isascii() and first.isdigit() else 0.0


def date(fields: Fields, name: str, *, now: float) -> float | None:
    """A date, in seconds since the epoch; None: there is none, or it is no date of HTTP's.

    `now`: by the wall clock; years of two digits are read as near to it.
    """
    text = header(fields, name)
    found = next((match for form in _DATES if (match := form.fullmatch(text))), None)
    if found is None or (month := found["month"].lower()) not in _MONTHS:
        return None
    day, hour, minute, second = (int(found[part]) for part in ("day", "hour", "minute", "second"))
    year = int(found["year"])
    if not (1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        return None
    if found["year"] == "0000":  # no calendar has it
        return None
    if len(found["year"]) > 2:
        return float(calendar.timegm((year, _MONTHS.index(month) + 1, day, hour, minute, second)))
    when = (year + 2000, _MONTHS.index(month) + 1, day, hour, minute, second)
    at = float(calendar.timegm(when))
    return at if at <= now + _HALF * _YEAR else float(calendar.timegm((when[0] - 100, *when[1:])))


def _unquoted(parts: list[str]) -> str:
    """All that is not in quotes, of a text cut at them; what has no end is in none."""
    return " ".join([*parts[::2], *([] if len(parts) % 2 else parts[-1:])])


def _items(parts: list[str]) -> list[str]:
    """A text that was cut at its quotes, cut at the commas that are in none."""
    return '"'.join(
        part.replace(",", ";") if at % 2 else part for at, part in enumerate(parts)
    ).split(",")


def _seconds(argument: str | None) -> float:
    text = argument or ""
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]  # "recipients should accept both forms" (RFC 9111, 5.2)
    text = text.rstrip()
    return _number(text) if text.isascii() and text.isdigit() else 0.0


def _number(digits: str) -> float:
    return min(float(digits), MOST) if len(digits) < 20 else MOST if digits.strip("0") else 0.0
