"""The band that the queue may fill: above it the link has become slower, or the path longer.

Or others fill it (transport/contention/yielding.py): then the queue is shared with them
(transport/contention/contention.py). Pure. Told of each report what its delay says.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from typing import Final

from monitor.progress import ReportedProgress
from transport.contention.contention import Contention
from transport.contention.found_queue import RESTED, FoundQueue
from transport.contention.yielding import Yielding
from transport.gate.margin import TARGET
from transport.gate.path_facts import PathFacts
from transport.gate.report_spacing import REPORT_EVERY_THIN

_BAND: Final = 3.1
"""Times the target: a queue above it means that the link has become slower."""
_LONGER_PATH: Final = 4
"""Delays that must pass above the band with nothing queued until the path counts as longer."""

_SILENCE: Final = 4 * REPORT_EVERY_THIN
"""Seconds without arrivals, after which what comes together was not spaced by the link;"""
_REPAIR: Final = 2
"""delays above the band that it takes then until the link counts as slower: the last bytes of a
page, with a loss among them, come a round trip late and are followed by nothing."""
_FICKLE: Final = 60.0
"""Seconds after a longer path was none."""
_AGAIN_AND_AGAIN: Final = 4
"""Times that a link becomes slower"""
_WITHIN: Final = 20
"""within so many round trips, where others take what the gate leaves, perhaps."""


class QueueVerdict(enum.Enum):
    """What a delay above its band means."""

    SLOWER = "slower"
    """The link carries less: what was delivered before is to be forgotten."""
    LONGER = "longer"
    """Nothing of ours is queued, yet the delay stays: another route."""
    OTHERS = "others"
    """The same, where a longer path was none before: others fill a queue."""


class Band:
    """Watches one gate's delays for a standing queue."""

    def __init__(self) -> None:
        self._since: float | None = None
        """When the delay rose above the band; None: it is within."""
        self._ends = 0.0
        """Seconds of excess that end it."""
        self._overfull_at = float("-inf")
        """When more than the cap was under way, last."""
        self.rate = 0.0
        """Bytes/second delivered when the delay rose above the band."""
        self._accepted = self._fickle_until = float("-inf")
        """One-way delay below which a longer path was none; until when none is believed in."""

    @property
    def above(self) -> bool:
        """Whether the queue is above the band."""
        return self._since is not None

    def judge(
        self, now: float, path: PathFacts, *, overfull: bool, at_once: bool = False
    ) -> QueueVerdict | None:
        """A report came; None: nothing is to be done. `overfull`: the cap is exceeded. `at_once`:
        it tells of bytes that came together after a silence, as behind the repair of a loss."""
        excess, jitter, window = path.excess, path.jitter, path.window
        if path.least < self._accepted:
            self._accepted, self._fickle_until = float("-inf"), now + _FICKLE
        if overfull:
            self._overfull_at = now
        if self._since is None and excess > _BAND * path.target + jitter:
            self._since, self._ends, self.rate = now, _BAND * path.target, path.rate
        if self._since is None:
            return None
        since, delay = now - self._since, window + excess
        if excess <= self._ends + jitter:
            self._since = None
        elif since > _LONGER_PATH * delay and now - self._overfull_at > delay:
            self._since = None
            if now < self._fickle_until:
                return QueueVerdict.OTHERS
            self._accepted = path.least + excess / 2
            return QueueVerdict.LONGER
        elif since > (_REPAIR * delay if at_once else window / 2):
            return QueueVerdict.SLOWER
        return None


class QueueWatch:
    """Finds out whose one gate's queue is, and holds the window while it is others'."""

    def __init__(self, *, competes: Callable[[], bool] = lambda: True) -> None:
        """`competes`: while it says yes, others who fill the queue are given way to no more than
        TCP does."""
        self.contention = Contention(competes=competes)
        self._band = Band()
        self._yielding = Yielding()
        self._found = FoundQueue()
        self._arrived_at = 0.0
        """When the newest bytes had come, by the receiver's clock."""
        self._slower_at: deque[float] = deque(
            _AGAIN_AND_AGAIN * [float("-inf")], maxlen=_AGAIN_AND_AGAIN
        )

    @property
    def rate(self) -> float:
        """Bytes/second delivered when the delay rose above the band."""
        return self._band.rate

    def sent_first(self, now: float, *, pause: float, loop: float) -> None:
        """Something is sent while nothing is under way, for so many seconds now; what came last had
        left `loop` seconds before."""
        self._found.paused(now, enough=pause > RESTED * loop)
        self.contention.resumed(now, pause=pause)

    def drained(self, at: float) -> None:
        """A drain is over then."""
        self._found.drained(at)

    def judge(
        self,
        now: float,
        progress: ReportedProgress,
        path: PathFacts,
        *,
        under_way: int,
        cap: float,
        most: float,
        level: bool,
    ) -> QueueVerdict | None:
        """A report came while nobody else was known of; what is to be done.

        `under_way`, of `cap` bytes that may be, and `most` that have been of late; `level`: what is
        found now is no consequence of the last decision.
        """
        found = self._found
        if found.heard(
            now,
            progress,
            excess=path.excess,
            least=_BAND * TARGET + path.jitter,
            takes=progress.gained / path.rate if path.rate else path.excess,
        ):
            self._join(now, path, window=cap)
            if self.contention.active:
                return None
        silence, self._arrived_at = progress.arrived_at - self._arrived_at, progress.arrived_at
        at_once = silence > _SILENCE and progress.gained > progress.part
        verdict = self._band.judge(now, path, overfull=under_way > cap, at_once=at_once)
        if found.seconds:
            return None
        yielding = self._yielding
        if verdict is QueueVerdict.OTHERS:
            most = max(most, self._band.rate * path.window)
            return self._share(now, path, window=cap, most=most, otherwise=QueueVerdict.LONGER)
        if verdict is QueueVerdict.SLOWER and not level:
            verdict = None
        if not self._band.above:
            yielding.end()
        elif verdict is QueueVerdict.SLOWER and not yielding.most:
            yielding.begin(now, progress.arrived_at, under_way=under_way)
            self._slower_at.append(now)
            if now < self._slower_at[0] + _WITHIN * path.loop:
                return self._share(now, path, window=cap, most=most, otherwise=verdict)
        elif yielding.most and yielding.heard(
            now, progress, under_way=under_way, excess=path.excess, jitter=path.jitter
        ):
            most = max(most, yielding.most)
            return self._share(now, path, window=cap, most=most, otherwise=verdict)
        return verdict

    def round_ended(self, now: float, path: PathFacts, *, least: float, cap: float) -> None:
        """A round trip, at whose end the gate limits, has left at least so many seconds of
        queue."""
        if self.contention.again(now, least):
            self._share(now, path, window=cap, most=cap)

    def _join(self, now: float, path: PathFacts, *, window: float) -> None:
        """Others fill it, and have before us."""
        loop, excess = path.loop, path.excess
        self._found.end()
        window = max(window, path.rate * loop / 2)
        self.contention.join(now, window=window, loop=loop, excess=excess)
        self._yielding.end()

    def _share(
        self,
        now: float,
        path: PathFacts,
        *,
        window: float,
        most: float,
        otherwise: QueueVerdict | None = None,
    ) -> QueueVerdict | None:
        """Others fill it, it seems: None, or what is so if that is not believed."""
        loop, excess = path.loop, path.excess
        self.contention.begin(now, window=window, most=most, loop=loop, excess=excess)
        if not self.contention.active:
            return otherwise
        self._yielding.end()
        self._slower_at.extend(_AGAIN_AND_AGAIN * [float("-inf")])
        return None
