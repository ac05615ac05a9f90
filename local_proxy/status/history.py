"""Who got the link, lately: bytes by document in half-second buckets, for ten minutes.

The figures 5 to 7 of HATS are drawn from such counts. Pure: `now` is an argument. Bounded in time
and in documents, whatever is loaded.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from local_proxy.status.snapshot import HistoryStatus

BUCKET: Final = 0.5
"""Seconds."""
SPAN: Final = 600.0
"""Seconds that are kept."""
MAX_DOCUMENTS: Final = 32
"""With a series of their own at a time; the bytes of more are counted together."""
OTHERS: Final = 0
"""No document has this id: the local proxy's ids are odd."""


class BandwidthHistory:
    """Counts what arrives. Time must not run backwards; if it does, the latest bucket counts."""

    def __init__(self, *, start: float, bucket: float = BUCKET, span: float = SPAN) -> None:
        self._start = start
        self._bucket = bucket
        self._kept = round(span / bucket)
        self._buckets: deque[tuple[int, dict[int, int]]] = deque()
        """Number and bytes by document; numbers rise, those of silence are left out."""
        self._labels: dict[int, str] = {}

    def record(self, document: int, size: int, *, now: float) -> None:
        """So many bytes of a document's components arrived."""
        number = self._number(now)
        if not self._buckets or number > self._buckets[-1][0]:
            self._forget(number)
            self._buckets.append((number, {}))
        if document not in self._labels:
            if len(self._labels) >= MAX_DOCUMENTS:
                document = OTHERS
            else:
                self._labels[document] = ""
        counts = self._buckets[-1][1]
        counts[document] = counts.get(document, 0) + size

    def label(self, document: int, text: str) -> None:
        """What the document is called; ignored while nothing of it has been counted."""
        if document in self._labels:
            self._labels[document] = text

    def status(self, *, now: float, since: int = 0) -> HistoryStatus:
        """The buckets from number `since` to the one that is being filled, none left out."""
        last = self._number(now)
        self._forget(last)
        first = max(since, last - self._kept + 1, 0)
        series: dict[int, list[int]] = {}
        length = max(last - first + 1, 0)
        for number, counts in self._buckets:
            if first <= number <= last:
                for document, size in counts.items():
                    if document not in series:
                        series[document] = [0] * length
                    series[document][number - first] = size
        labels = {document: self._labels.get(document, "") for document in series}
        return HistoryStatus(
            bucket=self._bucket, first=first, buckets=length, series=series, labels=labels
        )

    def _number(self, now: float) -> int:
        number = int((now - self._start) / self._bucket)
        return max(number, self._buckets[-1][0] if self._buckets else 0)

    def _forget(self, last: int) -> None:
        dropped = False
        while self._buckets and self._buckets[0][0] <= last - self._kept:
            self._buckets.popleft()
            dropped = True
        if dropped:
            alive = {document for _, counts in self._buckets for document in counts}
            self._labels = {id: text for id, text in self._labels.items() if id in alive}
