"""Which stream of an HTTP/2 connection sends next (RFC 9218). Pure.

Lower urgency goes first. Within one urgency, incremental responses take turns, and the others are
served in the order they were asked for; together these have one turn among the incremental ones,
so that neither kind starves the other. Must not know: frames but their payload, sockets.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

PRIORITY_UPDATE: Final = 0x10
"""Frame type (RFC 9218, 7.1)."""
DEFAULT_WEIGHT: Final = 16
"""RFC 7540, 5.3.5."""
MAX_FIELD: Final = 256
"""Bytes of a priority field that are looked at; two short parameters are all that it may say."""
_MEMBER: Final = re.compile(r"\s*([a-z*][a-z0-9_\-.*]*)(?:=([^,;]*))?(?:;[^,]*)?\s*")


@dataclass(frozen=True, slots=True)
class ResponsePriority:
    """What a client says of one response."""

    urgency: int = 3
    """0 (first) to 7 (background)."""
    incremental: bool = False
    """Parts of it are of use, so that it may share the connection with others."""


DEFAULT: Final = ResponsePriority()


def parse_priority(field: str) -> ResponsePriority:
    """A `priority` field's value. What is malformed or unknown is as if it were not there.

    Of the dictionary's syntax (RFC 8941, 3.2) only what RFC 9218, 4 defines is read.
    """
    urgency, incremental = DEFAULT.urgency, DEFAULT.incremental
    for member in field[:MAX_FIELD].split(","):
        match = _MEMBER.fullmatch(member)
        if match is None:
            continue
        name, value = match[1], match[2]
        if name == "u" and value in tuple("01234567"):
            urgency = int(value)
        elif name == "i" and value in (None, "?0", "?1"):
            incremental = value != "?0"
    return ResponsePriority(urgency, incremental)


def parse_update(payload: bytes) -> tuple[int, ResponsePriority] | None:
    """Stream and priority in a PRIORITY_UPDATE frame; None: malformed (RFC 9218, 7.1)."""
    stream = int.from_bytes(payload[:4]) & 0x7FFFFFFF
    if len(payload) < 4 or not stream:
        return None
    return stream, parse_priority(payload[4 : 4 + MAX_FIELD].decode("latin-1"))


def urgency_of_weight(weight: int) -> int:
    """What RFC 7540's weight (1 to 256) says of urgency, as Chromium's QUICHE maps the two."""
    return min(7, max(0, round((256 - weight) / 36.5)))


class Turns:
    """The streams that could send, and whose turn it is. At most a few hundred."""

    def __init__(self) -> None:
        self._ready: dict[int, ResponsePriority] = {}
        self._served: dict[tuple[int, int], int] = {}
        """When each slot was last served: of (urgency, stream), or (urgency, 0) for those that
        are served in order."""
        self._clock = itertools.count(1)

    def __repr__(self) -> str:
        return f"<Turns {sorted(self._ready)}>"

    def __contains__(self, stream: int) -> bool:
        return stream in self._ready

    def add(self, stream: int, priority: ResponsePriority) -> None:
        """The stream has something to send, or another priority from now on."""
        self._ready[stream] = priority

    def rest(self, stream: int) -> None:
        """It has nothing to send now. Waiting earns no credit but the next turn."""
        self._ready.pop(stream, None)

    def forget(self, stream: int) -> None:
        """It is over."""
        self.rest(stream)
        for urgency in range(8):
            self._served.pop((urgency, stream), None)

    def next(self, may_send: Callable[[int], bool] = lambda _: True) -> int | None:
        """The stream that sends one quantum now; None: none that may."""
        allowed = [stream for stream in self._ready if may_send(stream)]
        if not allowed:
            return None
        chosen = min(allowed, key=self._rank)
        self._served[self._slot(chosen)] = next(self._clock)
        return chosen

    def _slot(self, stream: int) -> tuple[int, int]:
        priority = self._ready[stream]
        return priority.urgency, stream if priority.incremental else 0

    def _rank(self, stream: int) -> tuple[int, int, int]:
        slot = self._slot(stream)
        return slot[0], self._served.get(slot, 0), stream
