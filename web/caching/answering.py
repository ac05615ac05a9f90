"""Answers a request from what is kept: all of it, a part, or that nothing has changed. Pure.

Sources: RFC 9111, 4.3 (validation), 5.2.1 (what a request may want); RFC 9110, 13 (conditions),
14 (ranges). Must not know: where it is kept, how its origin is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from web.caching.fields import MOST, CacheControl, date
from web.caching.freshness import AnswerHead
from wire.fields import Fields, Headers, header, without

CONDITIONS: Final = (
    *("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range"),
)
_OF_CONTENT: Final = frozenset(
    ("content-length", "content-encoding", "content-type", "content-range")
)
"""Fields of the bytes that are kept: what finds them unchanged does not change these (RFC 9111,
3.2)."""
_IMPLIED: Final = ("content-length", "accept-ranges")
"""Fields of the whole that a part of it does without: that it is one says the second (RFC 9110,
15.3.7), and servers leave it out."""
_TAG: Final = re.compile(r'(?:W/)?("[^"]*")|([^\s,"]+)')
_RANGE: Final = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """The bytes of a body that answer a request, and the head before them."""

    status: int
    headers: Headers
    start: int
    end: int


def will_do(kept: AnswerHead, asked: Fields, *, now: float, late: float = 0.0) -> bool:
    """Whether it may be given as it is: fresh, and as fresh as the request wants it.

    `late`: seconds for which it may be stale, if the request says nothing of that.
    """
    control = CacheControl.of(asked)
    pragma = header(asked, "cache-control") == "" and "no-cache" in header(asked, "pragma").lower()
    if "no-cache" in control or "no-store" in control or pragma:
        return False
    age, fresh = kept.age(now), kept.fresh(now)
    wanted = control.seconds("max-age")
    if wanted is not None and (age > wanted or not wanted):
        return False
    least = control.seconds("min-fresh")
    if fresh > least if least is not None else fresh + late > 0.0:
        return True
    return "max-stale" in control and -fresh < _stale(control) and not _must_be_asked(kept)


def part(
    kept: AnswerHead, size: int, asked: Fields, *, now: float, whole: bool = False
) -> AnsweredPart | None:
    """The answer to that request, of a body of `size` bytes; None: only its origin can tell.

    That is: of several ranges or one that it does not have, and of conditions under which nothing
    is to be answered. `whole`: ranges don't count (of a HEAD; RFC 9110, 14.2).
    """
    if header(asked, "if-match") or header(asked, "if-unmodified-since"):
        return None
    headers = [*without(kept.headers, ("age",)), ("age", str(int(kept.age(now))))]
    if kept.status != 200:
        return AnsweredPart(kept.status, headers, 0, size)
    if _unchanged(kept, asked, now=now):
        return AnsweredPart(304, without(headers, _OF_CONTENT | {"accept-ranges"}), 0, 0)
    wanted = header(asked, "range").replace(" ", "").lower()
    if whole or not wanted.startswith("bytes=") or not _same(kept, asked):
        return AnsweredPart(200, headers, 0, size)
    found = _RANGE.fullmatch(wanted)
    start, end = _bounds(found[1], found[2], size) if found is not None else (0, 0)
    if start >= end:
        return None
    said = [("content-range", f"bytes {start}-{end - 1}/{size}")]
    return AnsweredPart(206, [*without(headers, _IMPLIED), *said], start, end)


def freshened(kept: AnswerHead, answered: Fields, *, asked: float, now: float) -> AnswerHead:
    """The same, after its origin has answered that nothing has changed (RFC 9111, 4.3.4)."""
    new = [(name, value) for name, value in answered if name not in _OF_CONTENT]
    old = without(kept.headers, {name for name, _ in new} | {"age"})
    return replace(kept, headers=[*old, *new], asked=asked, answered=now)


def is_conditional(asked: Fields) -> bool:
    """Whether the client has something, and its request says what."""
    return any(header(asked, name) for name in CONDITIONS)


def same_entity(kept: AnswerHead, answered: Fields) -> bool:
    """Whether a 304 speaks of that (RFC 9111, 4.3.4)."""
    for name in ("etag", "last-modified"):
        if said := header(answered, name):
            return _opaque(said) == _opaque(header(kept.headers, name))
    return True


def names_entity(answered: Fields) -> bool:
    """Whether a 304 says of what it speaks."""
    return bool(header(answered, "etag") or header(answered, "last-modified"))


def _must_be_asked(kept: AnswerHead) -> bool:
    control = CacheControl.of(kept.headers)
    named = {"no-cache", "must-revalidate", "proxy-revalidate", "s-maxage"}
    return bool(named & control.arguments.keys())


def _stale(control: CacheControl) -> float:
    """Seconds past which even who takes what is stale wants it asked for; any, unless it says."""
    said = control.arguments["max-stale"]
    return MOST if said is None else control.seconds("max-stale") or 0.0


def _unchanged(kept: AnswerHead, asked: Fields, *, now: float) -> bool:
    """Whether its client has it already (RFC 9110, 13.1.2, 13.1.3, 13.2.2)."""
    if tags := header(asked, "if-none-match"):
        own = _opaque(header(kept.headers, "etag"))
        return tags.strip() == "*" or (own != "" and own in _tags(tags))
    since = date(asked, "if-modified-since", now=now)
    if since is None:
        return False
    modified = date(kept.headers, "last-modified", now=now)
    modified = date(kept.headers, "date", now=now) if modified is None else modified
    return modified is not None and modified <= since


def _same(kept: AnswerHead, asked: Fields) -> bool:
    """Whether a range is one of this very body (RFC 9110, 13.1.5)."""
    said = header(asked, "if-range")
    if not said:
        return True
    return not said.startswith("W/") and said in (
        header(kept.headers, "etag"),
        header(kept.headers, "last-modified"),
    )


def _tags(text: str) -> set[str]:
    return {found[1] or found[2] for found in _TAG.finditer(text)}


def _opaque(tag: str) -> str:
    """For the weak comparison (RFC 9110, 8.8.3.2)."""
    return tag.strip().removeprefix("W/")


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """Where one range begins and ends; empty where it can't be met."""
    if not first:
        return (max(0, size - int(last)), size) if last else (0, 0)
    return int(first), min(int(last) + 1, size) if last else size
