"""Shares a queue with others that keep it full, as one more TCP would.

A gate keeps its queue short, so it would give way to whoever fills it (a download by Reno or cubic)
again and again. There is nothing to be had for that: the queue is there whatever we do, and what is
urgent waits in it. So while others fill it, as many bytes are under way as a TCP would have
(transport/contention/cubic.py).

Whoever took a queue of his own for others' would fill it, and so would who took a call for a
download: what sends at a rate of its own takes no more when we leave some. So it is tried out:

    LOW     less than was under way is. The queue gets shorter: it is ours. Else
    HIGH    as much as before others came. No more arrives: it is ours. Else
    SHARE   the window grows, and is cut at losses, until
    HOLD    it is held, and
    DIP     half of it is under way. Less arrives, and the queue stays as it is: others are here

Who has only what nobody waits for does not compete: as soon as others seem to be here he lets one
quantum go in a round trip, which tells when the queue is empty again (AWAY).

Copa (Arun, Balakrishnan, NSDI 2018) has the same two modes; the dip, as Nimbus (Goyal et al.,
SIGCOMM 2022), asks whether others are elastic.

Pure. Told of each report; knows nothing of what is sent.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Final

from transport.contention.cubic import Cubic
from transport.contention.evidence import Arrived, PlainMean


class ContentionStage(Enum):
    """What is done with the window, to find out whose the queue is."""

    LOW = auto()
    HIGH = auto()
    SHARE = auto()
    HOLD = auto()
    DIP = auto()
    AWAY = auto()
    LONG_DIP = auto()
    """The same for longer, where a queue got a bit shorter, and a bit less arrived: beside who
    sends at a rate of his own our rate comes back to what he leaves, beside a TCP it does not."""


_LASTS: Final = {
    ContentionStage.LOW: 4,
    ContentionStage.HIGH: 6,
    ContentionStage.HOLD: 2,
    ContentionStage.DIP: 3,
    ContentionStage.LONG_DIP: 8,
}
"""Round trips for which a window is held, of which the last one's bytes tell."""
_LOWERED: Final = 0.6
"""Of the window when others seem to have come: LOW."""
_RAISED: Final = 1.5
"""Times that window, at least: HIGH,"""
_GAINED: Final = 1.12
"""and times what arrives then where others are here."""
_DIPS: Final = (ContentionStage.DIP, ContentionStage.LONG_DIP)
_DIP: Final = 0.5
"""Of the window, in them,"""
_ANSWERED: Final = 0.88
"""and of what arrived before, what arrives then where others are here;"""
_SAME: Final = 0.97
"""from this on nobody is."""
_SHORTER: Final = 0.9
"""Of a queue two round trips before: where others keep it full it does not get so much shorter."""
_EVERY: Final = 20
"""Round trips from one dip to the next,"""
_OFTEN: Final = 8.0
"""or seconds, if that is sooner;"""
_SOON: Final = 4
"""round trips at least, and after a dip that has changed nothing:"""
_DOUBTS: Final = 2
"""so many in a row, and the queue is ours. Others' windows move as well,"""
_KNOWN: Final = 3
"""so it takes two dips at least where one has shown that they are here,"""
_QUICK: Final = 0.25
"""and a round trip takes no more seconds than this: else a queue of ours would stay too long."""
_SUDDENLY: Final = 1.35
"""Times shorter than usual a round trip is where who filled the queue has left off, perhaps."""
_GONE: Final = 0.25
"""Of a queue as it was of late: no more in a round trip, and it is empty."""
_LEFT: Final = 3
"""So many empty ones, and others are gone."""
_FADES: Final = 0.9
"""Of what a queue was of late, a round trip later."""
_REMEMBERED: Final = 60.0
"""Seconds for which it is known that there were others,"""
_AGAIN: Final = 5
"""who are here again where the queue does not run empty for so many round trips."""
_BACK: Final = 10.0
"""Seconds within which who comes again finds the window as it was."""
_PAUSE: Final = 0.25
"""Of a round trip without anything of ours: what arrives tells nothing of a window."""
_WARY: Final = 2.0
"""Seconds after a queue was ours in which others are not believed in again; twice as long each
time,"""
_WARIEST: Final = 60.0
"""and at most."""


def _rarely(loop: float) -> int:
    """Round trips until the next dip, where it is known that others are here."""
    return max(_SOON, min(_EVERY, round(_OFTEN / max(loop, 1e-3))))


class Contention:
    """The window of one gate while others fill the queue."""

    def __init__(self, *, competes: Callable[[], bool] = lambda: True) -> None:
        """`competes`: asked now and then; while it says no, who fills the queue has the line."""
        self._competes = competes
        self._growth = Cubic()
        """Its window is 0 while nobody fills the queue."""
        self._most = 0.0
        """Bytes that were under way before others came: as many are soon again."""
        self._stage = ContentionStage.SHARE
        self._tells_from, self._ends = 0.0, 0.0
        """What was sent from then on tells, and until then: of a window that is held."""
        self._dip = 0.0
        """Bytes, while it dips."""
        self._before = 0.0
        """Bytes/second that arrived in the stage before."""
        self._usual = 0.0
        """Seconds of a round trip between two dips, in the mean; 0: none is over."""
        self._queue, self._longest = 0.0, 0.0
        """Seconds of excess: of late, and the most in this round."""
        self._under_way = 0
        """Bytes at most, in this round."""
        self._gained, self._since = 0, 0.0
        """Bytes that arrived of what tells, and since when, by the receiver's clock."""
        self._early, self._late = PlainMean(), PlainMean()
        """Excess of what was sent two round trips before that, and of that."""
        self._span = 0.0
        """Seconds of a round trip, as this one, or this stage, began."""
        self._round_ends = 0.0
        self._rounds = 0
        """Until the next dip."""
        self._doubts = 0
        """Dips in a row that have changed nothing."""
        self._known_at = float("-inf")
        """When one has shown that others are here."""
        self._unclear = False
        """The last one did too little: the next lasts longer."""
        self._ended = (float("-inf"), 0.0)
        """When others left off last, and the window then."""
        self._empty = self._full = 0
        """Round trips in a row in which hardly anything was queued, and, while nobody is known of,
        in which the queue was about as long as theirs."""
        self._cut_at = float("-inf")
        self._wary, self._wary_until = _WARY, float("-inf")

    @property
    def active(self) -> bool:
        """Whether others fill the queue."""
        return self._growth.window > 0.0 or self.away

    @property
    def away(self) -> bool:
        """Whether they have been left the line."""
        return self._stage is ContentionStage.AWAY

    @property
    def window(self) -> float:
        """Bytes that may be under way; 0: as few as can be."""
        if self.away:
            return 0.0
        return self._dip if self._stage in _DIPS else self._growth.window

    def begin(self, now: float, *, window: float, most: float, loop: float, excess: float) -> None:
        """Others do, it seems. `window` bytes are under way, `most` were before; what is heard now
        had left `loop` seconds ago, of which it was `excess` in the queue."""
        competes = self._competes()
        if competes and now < self._wary_until:
            return
        at, before = self._ended
        most = max(most, before if now < at + _BACK else 0.0)
        self._growth.begin(_LOWERED * window)
        self._most = max(most, _RAISED * window)
        self._queue, self._empty = excess, 0
        self._doubts, self._unclear = 0, False
        if competes:
            self._hold(ContentionStage.LOW, now, loop)
        else:
            self._give_way(now, loop)

    def join(self, now: float, *, window: float, loop: float, excess: float) -> None:
        """Others did before us: `window` bytes are our share, perhaps."""
        competes = self._competes()
        if competes and now < self._wary_until:
            return
        self._growth.begin(window)
        self._most = window
        self._queue, self._empty = excess, 0
        self._doubts, self._unclear = 0, False
        if competes:
            self._share(now, loop, _rarely(loop))
        else:
            self._give_way(now, loop)

    def resumed(self, now: float, *, pause: float) -> None:
        """Something is sent, and nothing was under way for so many seconds.

        What is tried out can't tell then. After a round trip without anything as much is tried as
        before others came, for whoever opens a connection tries more and more, until he loses.
        """
        if pause < _PAUSE * self._span or not self.active or self.away:
            return
        window, known = self._growth.window, self._stage in (ContentionStage.HOLD, *_DIPS)
        if self._stage is ContentionStage.LOW:
            window /= _LOWERED
        if pause > self._span:
            window = max(window, self._most)
        self._growth.begin(window)
        if self._stage in _LASTS:
            self._share(now, self._span, _rarely(self._span) if known else _SOON)

    def end(self) -> None:
        """They do no more."""
        self._growth.begin(0.0)
        self._stage = ContentionStage.SHARE
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
        if self.away:
            if now >= self._round_ends:
                self._round_away(now, loop)
        elif self._stage is ContentionStage.SHARE:
            if now >= self._round_ends:
                self._round_over(now, news, loop=loop, limited=limited)
        elif self._told(news, excess):
            rate = self._gained / max(news.arrived_at - self._since, 1e-6)
            return self._stage_over(now, loop, rate)
        return False

    def lost(self, now: float, *, sent_at: float) -> None:
        """What was sent then is lost."""
        if self.away or not self.active or sent_at <= self._cut_at:
            return
        self._cut_at = now
        if self._stage is not ContentionStage.LOW:
            self._growth.cut()
        if self._stage is ContentionStage.HOLD:
            self._hold(ContentionStage.HOLD, now, self._span)
        elif self._stage in (ContentionStage.HIGH, ContentionStage.SHARE):
            self._share(now, self._span, max(self._rounds, 1))

    # -- the stages ---------------------------------------------------------------------------

    def _round_over(self, now: float, news: Arrived, *, loop: float, limited: bool) -> None:
        """One in which the window was shared."""
        longest, under_way = self._longest, self._under_way
        if _SUDDENLY * loop < self._usual:
            self._rounds = 0
        if news.sent_at > self._tells_from:
            self._usual = (3 * self._usual + loop) / 4 if self._usual else loop
        self._begin_round(now, loop)
        self._empty = self._empty + 1 if longest < _GONE * self._queue else 0
        self._queue = max(longest, _FADES * self._queue)
        if self._empty == _LEFT:
            self._gone(now)
        elif not self._competes():
            self._give_way(now, loop)
        elif not limited and under_way < self._growth.window / 2:
            self._rounds = max(self._rounds, _SOON)  # what does not go can't be less
        elif self._rounds <= 0:
            self._growth.rest(min(self._growth.window, float(under_way)))
            self._hold(ContentionStage.HOLD, now, loop)
        elif limited:  # else the window is not used (RFC 7661), or TCP's own is the smaller one
            self._growth.round(now, loop=loop)
        self._rounds -= 1

    def _round_away(self, now: float, loop: float) -> None:
        """One in which others had the line."""
        self._empty = self._empty + 1 if self._longest < _GONE * self._queue else 0
        self._queue = max(self._longest, _FADES * self._queue)
        if self._empty == _LEFT:
            self._gone(now)
        elif self._competes():
            self._growth.begin(self._most)
            self._share(now, loop, _SOON)
        else:
            self._begin_round(now, loop)

    def _told(self, news: Arrived, excess: float) -> bool:
        """A report of bytes that were sent while the window was held. Whether all has come that
        tells."""
        if news.sent_at > self._tells_from:
            self._late.add(excess)
            self._gained += news.gained
            return news.sent_at >= self._ends
        self._gained, self._since = 0, news.arrived_at
        self._longest = 0.0
        if -2 * self._span < news.sent_at - self._tells_from <= -self._span:
            self._early.add(excess)
        return False

    def _stage_over(self, now: float, loop: float, rate: float) -> bool:
        """At so many bytes/second. Whether the queue is ours."""
        if not self._competes():
            self._give_way(now, loop)
            return False
        stage, before, self._before = self._stage, self._before, rate
        empty = self._longest < _GONE * self._queue
        shorter = self._late.value < _SHORTER * self._early.value
        match stage:
            case ContentionStage.LOW if shorter or empty:
                return self._ours(now)
            case ContentionStage.LOW:
                self._growth.begin(self._most)
                self._hold(ContentionStage.HIGH, now, loop)
            case ContentionStage.HIGH if rate < _GAINED * before:
                return self._ours(now)
            case ContentionStage.HIGH:
                self._share(now, loop, _SOON)
            case ContentionStage.HOLD:
                self._dip = _DIP * self._growth.window
                self._hold(
                    ContentionStage.LONG_DIP if self._unclear else ContentionStage.DIP, now, loop
                )
            case _ if rate <= _ANSWERED * before and not empty and (self._unclear or not shorter):
                self._doubts, self._unclear, self._wary = 0, False, _WARY
                self._known_at = now
                self._share(now, loop, _rarely(loop))
            case _:
                self._doubts += _DOUBTS if rate >= _SAME * before else 1
                self._unclear = not empty
                known = now < self._known_at + _REMEMBERED and loop < _QUICK
                if self._doubts < (_KNOWN if known else _DOUBTS):
                    self._share(now, loop, 1 if empty or known else _SOON)
                elif empty:
                    self._gone(now)
                else:
                    return self._ours(now)
        return False

    def _ours(self, now: float) -> bool:
        self._wary_until = now + self._wary
        self._wary = min(_WARIEST, 2 * self._wary)
        self._ended = (float("-inf"), 0.0)
        self.end()
        return True

    def _give_way(self, now: float, loop: float) -> None:
        self._stage, self._empty = ContentionStage.AWAY, 0
        self._begin_round(now, loop)

    def _gone(self, now: float) -> None:
        self._ended = (now, self._growth.window)
        self.end()

    def _hold(self, stage: ContentionStage, now: float, loop: float) -> None:
        """What tells is sent in the last of some round trips."""
        lasts = _LASTS[stage]
        self._stage, self._span = stage, loop
        self._tells_from, self._ends = now + (lasts - 1) * loop, now + lasts * loop
        self._early, self._late = PlainMean(), PlainMean()

    def _share(self, now: float, loop: float, rounds: int) -> None:
        """A dip is tried after so many."""
        self._stage, self._rounds = ContentionStage.SHARE, rounds
        self._tells_from, self._usual = now, 0.0
        self._growth.rest(self._growth.window)
        self._begin_round(now, loop)

    def _begin_round(self, now: float, loop: float) -> None:
        self._span, self._round_ends = loop, now + loop
        self._longest, self._under_way = 0.0, 0
