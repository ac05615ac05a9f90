"""Shares a queue with others that keep it full, as one more TCP would.

A gate keeps its queue short, so it would give way to whoever fills it (a download by Reno or cubic)
again and again. There is nothing to be had for that: the queue is there whatever we do, and what is
urgent waits in it. So while others fill it, as many bytes are under way as a TCP would have
(RFC 5681): a segment more each round trip, half at a loss.

Who takes the queue of a link that is ours alone for others' would fill it. So now and then fewer
bytes are under way for a round trip: where others are, less arrives; on a link that has become
slower as much does, and only the queue gets shorter. Copa (Arun, Balakrishnan, NSDI 2018) has the
same two modes; the dip, as Nimbus (Goyal et al., SIGCOMM 2022), asks whether others are elastic.

Pure. Told of each report; knows nothing of what is sent.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

_SEGMENT: Final = 1448
"""Bytes by which the window grows in a round trip: TCP's usual segment."""
_REDUCED: Final = 0.5
"""Of the window, after a loss."""
_DIP: Final = 0.5
"""Of the window, while it dips,"""
_LASTS: Final = 1
"""round trips, of which what was sent in the last one tells. In the first, less arrives of less
whoever the others are, also beside who sends at a rate of his own."""
_FIRST: Final = 6
_EVERY: Final = 20
"""Round trips until the first dip, and from one to the next;"""
_SOON: Final = 3
"""the same after one that has changed nothing:"""
_DOUBTS: Final = 2
"""so many in a row, and the queue is ours. Others' windows move as well."""
_ANSWERED: Final = 0.8
"""Of what arrived before: what a dip leaves of it where others take the rest."""
_GONE: Final = 0.25
"""Of the queue that they made when they came: no more in a round trip, and others are gone."""
_REMEMBERED: Final = 60.0
"""Seconds for which it is known that there are others,"""
_AGAIN: Final = 5
"""who are here again where the queue does not run empty for so many round trips."""
_BACK: Final = 10.0
"""Seconds within which who comes again finds the window as it was."""
_WARY: Final = 2.0
"""Seconds after one that changed nothing, in which others are not believed in again."""


class Arrived(Protocol):
    """Bytes have arrived over there: as a gate's report tells (monitor/progress.py), or as here."""

    @property
    def gained(self) -> int:
        """Bytes since the last one."""

    @property
    def sent_at(self) -> float:
        """When the newest of them was sent: seconds on the sender's clock."""

    @property
    def arrived_at(self) -> float:
        """When it arrived, by a clock of its own."""


class NewsOfArrival(NamedTuple):
    """Implements Arrived."""

    gained: int
    sent_at: float
    arrived_at: float


class Contention:
    """The window of one gate while others fill the queue."""

    def __init__(self) -> None:
        self.allowed = False
        """Others may be believed in. Beside who sends at a rate of his own the queue is still taken
        for shared too often (decision 30), so whoever wants it says so."""
        self._window = 0.0
        """Bytes; 0: nobody fills the queue."""
        self._most = 0.0
        """Bytes that were under way before others came: as many are soon again."""
        self._round_ends = 0.0
        self._queue, self._longest = 0.0, 0.0
        """Seconds of excess: when others came, and the most in this round."""
        self._under_way = 0
        """Bytes at most, in this round."""
        self._gained, self._since = 0, 0.0
        """Bytes that arrived in this round, and since when, by the receiver's clock."""
        self._dip: tuple[float, float] | None = None
        """When the last round trip of the present one begins, and ends."""
        self._before = 0.0
        """Bytes/second that arrived before it."""
        self._doubts = 0
        """Dips in a row that have changed nothing."""
        self._rounds = 0
        """Until the next dip."""
        self._ended = (float("-inf"), 0.0)
        """When others left off last, and the window then."""
        self._full = 0
        """Round trips in a row in which the queue was about as long as theirs."""
        self._cut_at = float("-inf")
        self._wary_until = float("-inf")

    @property
    def active(self) -> bool:
        """Whether others fill the queue."""
        return self._window > 0.0

    def window(self, now: float) -> float:
        """Bytes that may be under way."""
        dips = self._dip is not None and now < self._dip[1]
        return self._window * (_DIP if dips else 1.0)

    def begin(self, now: float, *, window: float, most: float, loop: float, excess: float) -> None:
        """Others do, it seems. `window` bytes are under way, `most` were before; what is heard now
        had left `loop` seconds ago, of which it was `excess` in the queue."""
        if not self.allowed or now < self._wary_until:
            return
        at, before = self._ended
        self._window, self._most = window, max(most, before if now < at + _BACK else 0.0)
        self._rounds, self._dip = _FIRST, None
        self._queue, self._doubts = excess, 0
        self._begin_round(now, now, loop)

    def end(self) -> None:
        """They do no more."""
        self._window = 0.0
        self._full = 0

    def again(self, now: float, least: float) -> bool:
        """A round trip without them in which the queue was at least so many seconds. Whether they,
        who were here lately, are here again."""
        full = least > _GONE * self._queue and now < self._ended[0] + _REMEMBERED
        self._full = self._full + 1 if full else 0
        return self._full >= _AGAIN

    def heard(
        self,
        now: float,
        news: Arrived,
        *,
        loop: float,
        excess: float,
        under_way: int,
        limited: bool,
    ) -> bool:
        """A report came: of what had left `loop` seconds ago, and been `excess` of them in the
        queue. `under_way` bytes are; `limited`: more would go, if it might. Whether the queue is
        ours."""
        self._under_way = max(self._under_way, under_way)
        self._longest = max(self._longest, excess)
        self._gained += news.gained
        if self._dip is not None:
            return self._dips(now, news, loop)
        if now < self._round_ends:
            return False
        under_way = self._under_way
        longest, rate = self._longest, self._gained / max(news.arrived_at - self._since, 1e-6)
        self._begin_round(now, news.arrived_at, loop)
        self._rounds -= 1
        if longest < _GONE * self._queue:
            self._ended = (now, self._window)
            self.end()
        elif not limited and under_way < self._window / 2:
            self._rounds = max(self._rounds, _SOON)  # what does not go can't be less
        elif self._rounds <= 0:
            self._window = min(self._window, float(under_way))
            self._dip, self._before = (now + (_LASTS - 1) * loop, now + _LASTS * loop), rate
        elif not limited:
            pass  # the window is not used (RFC 7661), or TCP's own is the smaller one
        elif self._window < self._most:
            self._window = min(self._most, 2 * self._window)
        else:
            self._window += _SEGMENT
        return False

    def _dips(self, now: float, news: Arrived, loop: float) -> bool:
        """The same while less is sent, or heard of."""
        assert self._dip is not None
        began, ends = self._dip
        if news.sent_at <= began:
            self._gained, self._since = 0, news.arrived_at
        if news.sent_at < ends:
            return False
        rate = self._gained / max(news.arrived_at - self._since, 1e-6)
        self._dip, self._rounds = None, _EVERY
        self._begin_round(now, news.arrived_at, loop)
        if rate < _ANSWERED * self._before:
            self._doubts = 0
            return False
        self._doubts += 1
        if self._doubts < _DOUBTS:
            self._rounds = _SOON
            return False
        self._wary_until = now + _WARY
        self._ended = (float("-inf"), 0.0)
        self.end()
        return True

    def lost(self, now: float, *, sent_at: float) -> None:
        """What was sent then is lost."""
        if not self.active or sent_at <= self._cut_at:
            return
        self._cut_at = now
        self._most = 0.0
        self._window *= _REDUCED
        self._dip = None
        self._rounds = max(self._rounds, _FIRST)

    def _begin_round(self, now: float, clock: float, loop: float) -> None:
        self._round_ends, self._longest = now + loop, 0.0
        self._gained, self._since, self._under_way = 0, clock, 0
