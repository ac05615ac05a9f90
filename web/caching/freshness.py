"""How long an answer may be given again without asking its origin. Pure.

Sources: RFC 9111, 4.2 (freshness, age), 3 (what may be kept); RFC 5861 (stale answers). Times are
seconds by the wall clock. Must not know: whose requests these are (sharing.py), where it is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from web.caching.fields import CacheControl, age_said, date
from wire.fields import Fields, header

HEURISTIC: Final = 0.1
"""Of the time since Last-Modified (RFC 9111, 4.2.2)."""
MOST_HEURISTIC: Final = 86_400.0
"""Seconds; of many people, who can't see that what they read is a guess."""
_BY_DEFAULT: Final = frozenset((200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501))
"""Statuses that are "heuristically cacheable" (RFC 9110, 15.1), but 206."""
_UNDERSTOOD: Final = _BY_DEFAULT | {302, 303, 307, 400, 403, 500, 502, 503, 504}
"""Statuses of which all that caches need to know is known (must-understand, RFC 9111, 5.2.2.3)."""


@dataclass(frozen=True, slots=True)
class AnswerHead:
    """The head of an answer, and when it came."""

    status: int
    headers: Fields
    asked: float
    """When its request went out, or the last one that found it unchanged."""
    answered: float
    """When that was answered."""

    def age(self, now: float) -> float:
        """Seconds since the origin made it, or found it unchanged (RFC 9111, 4.2.3)."""
        made = date(self.headers, "date", now=now)
        apparent = max(0.0, self.answered - made) if made is not None else 0.0
        corrected = age_said(self.headers) + max(0.0, self.answered - self.asked)
        return max(apparent, corrected) + max(0.0, now - self.answered)

    def lifetime(self) -> float:
        """Seconds for which it was fresh when it was made; 0: it always has to be asked for."""
        control = CacheControl.of(self.headers)
        if "no-cache" in control:  # with field names too: these may not be given unasked
            return 0.0
        for name in ("s-maxage", "max-age"):
            if (said := control.seconds(name)) is not None:
                return said
        made = date(self.headers, "date", now=self.answered)
        made = self.answered if made is None else made
        if header(self.headers, "expires"):
            expires = date(self.headers, "expires", now=self.answered)
            return 0.0 if expires is None else max(0.0, expires - made)
        return self._guessed(control, made)

    def fresh(self, now: float) -> float:
        """Seconds for which it stays fresh; negative: since when it isn't."""
        return self.lifetime() - self.age(now)

    def stale_for(self, name: str) -> float:
        """Seconds for which it may be given stale, by that directive of RFC 5861."""
        control = CacheControl.of(self.headers)
        if {
            "no-cache",
            "must-revalidate",
            "proxy-revalidate",
            "s-maxage",
        } & control.arguments.keys():
            return 0.0
        return control.seconds(name) or 0.0

    @property
    def validators(self) -> list[tuple[str, str]]:
        """The fields that ask its origin whether it has changed (RFC 9111, 4.3.1)."""
        named = (("if-none-match", "etag"), ("if-modified-since", "last-modified"))
        return [(ask, said) for ask, name in named if (said := header(self.headers, name))]

    def _guessed(self, control: CacheControl, made: float) -> float:
        """Where its origin says nothing."""
        may = self.status in _BY_DEFAULT or "public" in control
        modified = date(self.headers, "last-modified", now=self.answered)
        if not may or modified is None or "must-revalidate" in control:
            return 0.0
        if "no-cache" in header(self.headers, "pragma").lower():
            return 0.0
        return min(max(0.0, HEURISTIC * (made - modified)), MOST_HEURISTIC)


def worth_keeping(kept: AnswerHead, now: float) -> bool:
    """Whether its origin lets many people's cache keep it (RFC 9111, 3), and that is of any use.

    `private` forbids it with field names too: which bytes are one person's is not ours to tell.
    """
    control, status = CacheControl.of(kept.headers), kept.status
    if status < 200 or status in (206, 304) or "private" in control:
        return False
    if "must-understand" in control:
        if status not in _UNDERSTOOD:
            return False
    elif "no-store" in control:
        return False
    if "*" in {name.strip() for name in header(kept.headers, "vary").split(",")}:
        return False
    return kept.fresh(now) > 0 or (status == 200 and bool(kept.validators))
