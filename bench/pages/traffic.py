"""Who had the link: bytes of two documents over time, and the share of the one in front.

Counted by the local proxy (its status.json), or, where there is none of ours, by what the browser
received for each tab. Knows the form of those counts; not how the documents came to load.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec

from bench.origins.endpoint import PageAccess
from local_proxy.commands.status import NoAnswer, fetch
from local_proxy.status.snapshot import StatusSnapshot

SETTLED: Final = 0.5
"""Seconds after a change of focus from which on the share is taken."""
LEAST_WINDOW: Final = 1.0
"""Seconds of both documents loading below which there is no share to take."""
BUCKET: Final = 0.5
"""Seconds of one step of the curves; the local proxy's is the same."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of two documents in equal buckets."""

    first: Sequence[int]
    second: Sequence[int]
    offset: float = 0.0
    """Seconds from the first navigation until the first bucket began; at most 0."""

    def front_percent(self, switch: float) -> float | None:
        """The first document's share of both, from SETTLED after `switch` while both still load.

        `switch`: seconds when it came to the front. None: they do not load together long enough.
        """
        begin = math.ceil((switch + SETTLED - self.offset) / BUCKET)
        end = min(self._end(self.first), self._end(self.second))
        if (end - begin) * BUCKET < LEAST_WINDOW:
            return None
        first, second = sum(self.first[begin:end]), sum(self.second[begin:end])
        return round(100 * first / (first + second), 1)

    @property
    def end(self) -> float:
        """Seconds from the first navigation until nothing more came."""
        return self.offset + BUCKET * (1 + max(self._end(self.first), self._end(self.second)))

    def rates(self, sizes: Sequence[int], end: float) -> list[tuple[float, float]]:
        """Bytes/second from the beginning of each bucket, 0 from the last one's end until `end`."""
        begins = [max(0.0, self.offset + BUCKET * number) for number in range(len(sizes) + 1)]
        rates = [size / BUCKET for size in sizes] + [0.0]
        found = [one for one in zip(begins, rates, strict=True) if one[0] < end]
        return [(round(at, 3), rate) for at, rate in [*found, (end, 0.0)]]

    @staticmethod
    def _end(buckets: Sequence[int]) -> int:
        """The last bucket with bytes in it, which is not whole."""
        return max((number for number, size in enumerate(buckets) if size), default=0)


def buckets(arrivals: Sequence[tuple[float, int]], began: float) -> list[int]:
    """`arrivals` in seconds since the epoch, as `began` is."""
    found = [0] * (1 + max((int((at - began) / BUCKET) for at, _ in arrivals), default=0))
    for at, size in arrivals:
        found[max(0, int((at - began) / BUCKET))] += size
    return found


async def of_proxy(
    endpoint: PageAccess, first: str, second: str, *, now: float, began: float
) -> Traffic | None:
    """What the endpoint's local proxy counted of two pages; None: it is none of ours.

    `now`, and `began`, the first navigation: seconds since the epoch.
    """
    address = urlsplit(endpoint.proxy or "")
    if address.scheme != "http" or not address.hostname or not address.port:
        return None
    try:
        answer = await fetch(address.hostname, address.port)
        status = msgspec.json.decode(answer, type=StatusSnapshot)
    except (NoAnswer, msgspec.DecodeError):
        return None
    return counted(status, first, second, age=now - began)


def counted(status: StatusSnapshot, first: str, second: str, *, age: float) -> Traffic:
    """Counts the bytes of two pages, by the ends of their addresses; `age`: seconds since the first
    navigation. Labels are addresses until a page has told its title."""
    history = status.history
    addresses = history.labels | {document.id: document.url for document in status.documents}
    began = status.uptime - age
    skipped = max(0, int(began / history.bucket) - history.first)
    offset = (history.first + skipped) * history.bucket - began

    def of(page: str) -> list[int]:
        own = [sizes for d, sizes in history.series.items() if addresses.get(d, "").endswith(page)]
        return [sum(sizes) for sizes in zip(*own, strict=True)][skipped:]

    return Traffic(of(first), of(second), offset)
