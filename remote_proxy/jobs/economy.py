"""Whether a picture is worth adapting: what the reader would wait for it, against the work.

A coarse version is of use where the picture would be waited for. It would be for as long as the
link takes to carry it and what is queued before it; where that is no time to speak of, the origin's
bytes go at once, untouched. And no picture waits longer for its coarse version, or for a denser
form, than it would take to come as it is: who makes them may be busy, and the link may become fast.

Pure: sizes in bytes, rates in bytes/second, time in seconds. Must not know pictures, or what is
done to them. Counts its decisions, for who asks why a page looks as it does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from math import inf
from types import MappingProxyType
from typing import Final

WORTH: Final = 0.2
"""Seconds: what would be here sooner is not adapted. Who looks at a page takes a tenth of a second
for at once, and a sketch is made, sent and replaced in two."""
PAGE: Final = 300_000
"""Bytes of pictures that a page is expected to have: when its first one comes nobody knows the
others, and on a middling link a few whole ones would keep the coarse ones of all others waiting."""
TWICE: Final = 0.1
"""Of that, the seconds in which the link carries a picture that is not worth showing twice: devices
need .02 s of their processors for it, and have it whole sooner than coarse. A page of 120 photos of
30 kB at 20 Mbit/s was whole after 2.4 s with sketches and after 2.2 without."""
LONG: Final = 10.0
"""Times WORTH: who would wait so long is shown all twice."""
FINER: Final = 1.0
"""Seconds: what would be here sooner is coarse first and then whole, as the origin has it. Steps
between, and a denser form that the device must undo, save nothing of so short a wait: at 5 Mbit/s
they made a page's last pixel .4 s later."""
HIDDEN: Final = 2.0
"""Times what a denser form saves of the link's time, that work on it may take: meanwhile the link
carries others. Photos are made finer up to 4 Mbit/s or so, screenshots up to 5. At 5 Mbit/s a page
of 120 photos was whole after 8.3 s with a denser form, and after 6.9 s without: the link waited for
two processors, and these for the browser, which had to have it undone."""
QUICK: Final = 500_000.0
"""Bytes/second of a link from which on sketches are made in half the time and an eighth more bytes
(PictureOptions.quick). They would be even at a tenth of that; but what is coarse is looked at for
seconds there, and shows a hundredth less of SSIM so."""
LEAST: Final = 0.02
"""Seconds that work is given at least: as much as a sketch takes where nobody else wants one."""

TEXT: Final = 30_000
"""Bytes of a text that does not say how long it is."""
DENSER: Final = 0.05
"""Of a text, that dense coding saves: a seventh of what is left of it."""
CODING: Final = 0.01
"""Seconds that a piece which waits for one of two coders adds to the wait of who comes later."""
MODEM: Final = 7_000.0
"""Bytes/second that a link is taken to carry of which nothing is known."""
AGAIN: Final = 1.0
"""Seconds between two times that a device is told: 40 bytes each."""
UNMEASURED: Final = 1.0
"""Seconds that finer levels are given while the link is not measured: they take a few hundredths
where the workers are free."""


class AdaptationReason(StrEnum):
    """What decided, as the device is told (wire.messages.Decisions)."""

    WANTED = "wanted"
    """A policy wants it on any link."""
    UNMEASURED = "unmeasured"
    """The link is not measured yet."""
    SLOW = "slow"
    """It would be waited for."""
    SOON = "soon"
    """It is here as soon untouched."""
    WHOLE = "whole"
    """Whole behind its coarse version: steps between would save nothing."""
    LATE = "late"
    """The work would end later than the link."""
    ALONE = "alone"
    """What is coarse of it could not be shown where it is."""


class Economy:
    """One session's decisions."""

    def __init__(self, *, worth: float = WORTH) -> None:
        """`worth`: seconds of waiting from which on a picture is adapted where no policy says
        otherwise; 0: always."""
        self._worth = worth
        self._counts: Counter[AdaptationReason] = Counter()
        self._told: Counter[AdaptationReason] = Counter()
        self._told_at = -inf

    def adapts(
        self, size: int, *, ahead: int, rate: float | None, worth: float | None = None
    ) -> bool:
        """Whether a picture of `size` is to be adapted. `ahead`: what is queued before it.

        `worth`: seconds of waiting from which on it is, as a policy says; None: as usual.
        """
        if self.always(worth):
            why = AdaptationReason.WANTED
        elif rate is None:
            why = AdaptationReason.UNMEASURED
        elif self._soon(size, ahead, rate, worth):
            why = AdaptationReason.SOON
        else:
            why = AdaptationReason.SLOW
        self._counts[why] += 1
        return why is not AdaptationReason.SOON

    def outruns(
        self,
        size: int,
        *,
        ahead: int,
        rate: float | None,
        worth: float | None = None,
        work: float = 0.0,
    ) -> bool:
        """Whether the link turned out too fast for a picture that was to be adapted.

        `work`: processor seconds that its coarse version takes here. Others as `adapts` has them.
        """
        if self.always(worth) or rate is None or not self._soon(size, ahead, rate, worth, work):
            return False
        self._counts[AdaptationReason.SOON] += 1
        return True

    def refines(
        self, size: int, *, ahead: int, rate: float | None, work: float, saves: float
    ) -> bool:
        """Whether a picture whose coarse version has gone is worth steps between, or a denser form.

        `work`: seconds that they will take here. `saves`: share of the bytes that they save. Others
        as `adapts` has them.
        """
        waits = rate is None or (max(ahead, PAGE) + size) / rate >= FINER
        if waits and (rate is None or work <= HIDDEN * saves * size / rate):
            return True
        self._counts[AdaptationReason.WHOLE] += 1
        return False

    def patience(self, size: int, *, rate: float | None, shown: bool) -> float:
        """Seconds that work may take which spares the link `size` bytes.

        `shown`: what is coarse of the picture has gone. While a link has nothing else to carry it
        is not measured either, so it does not wait for the rest for ever.
        """
        if rate is None:
            return UNMEASURED if shown else inf
        return max(LEAST, size / rate)

    def waits_for_coders(self, size: int | None, *, rate: float | None, waiting: int) -> bool:
        """Whether a text still gains by being coded densely where so many pieces of others wait for
        that. `size`: bytes of the text, None: not known."""
        saved = (TEXT if size is None else size) * DENSER
        return waiting * CODING <= saved / (rate or MODEM)

    def alone(self) -> None:
        """Nothing can take the place of what is coarse of a picture, so it goes whole."""
        self._counts[AdaptationReason.ALONE] += 1

    def hurries(self, rate: float | None, *, worth: float | None = None) -> bool:
        """Whether a sketch is to be made in less time, for the link carries its additional bytes in
        less than that saves. `worth`: as `adapts` has it; who adapts on any link wants few."""
        return rate is not None and rate >= QUICK and not self.always(worth)

    def late(self) -> None:
        """Work took longer than its patience, and the picture went without it."""
        self._counts[AdaptationReason.LATE] += 1

    def counts(self) -> Mapping[str, int]:
        """Pictures by what decided."""
        return MappingProxyType({str(why): count for why, count in self._counts.items()})

    def news(self, now: float) -> Mapping[str, int] | None:
        """The counts, if the device was not told them and may be told again. `now`: seconds."""
        if self._counts == self._told or now < self._told_at + AGAIN:
            return None
        self._told, self._told_at = self._counts.copy(), now
        return self.counts()

    @property
    def untold(self) -> bool:
        """There will be news."""
        return self._counts != self._told

    def always(self, worth: float | None) -> bool:
        """Whether pictures are adapted whatever the link, and however long the work takes."""
        return self._price(worth) == 0

    def _soon(
        self, size: int, ahead: int, rate: float, worth: float | None, work: float = 0.0
    ) -> bool:
        """Whether it would be waited for too short a time to be shown twice; or, where that is not
        LONG, is carried sooner than it could be shown, or made, once more."""
        price, waits = self._price(worth), (max(ahead, PAGE) + size) / rate
        return waits < price or (size / rate < max(TWICE * price, work) and waits < LONG * price)

    def _price(self, worth: float | None) -> float:
        return self._worth if worth is None else worth
