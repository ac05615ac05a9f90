"""Chooses how fine each picture of a document comes, so that all are there by a time.

Network-aware delivery as Bolliger and Gross describe it (section 1): a limit on the response time,
as much quality as fits into it, and a loop that decides anew at each estimate of the bandwidth.
Texts go first; then every picture has its coarsest level, and finer ones are added as long as they
fit: one level for all before the next for any, those that cost least first, so that a level has
either all its bytes by the time or none. What is spare at last goes to the next one in line.

Pure. Knows the tree's leaves and their levels; not plans, links or policies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from scheduling.tree import Tree
from wire.skeleton import LEVELS

GUESS: Final = 2_000
"""Bytes of a coarsest level that is not made yet, while none of its document is known."""
USED: Final = 0.95
"""Of the link, that is planned with: frames have headers, and estimates waver."""
SOON: Final = 0.3
"""Seconds: when what is chosen has gone by then, the link would rest until the next look, so one
picture may go on; before, it would take the place of those that are chosen."""
LAST: Final = 1.0
"""Seconds before its time in which nothing goes on that is not chosen, while there is any of that
left to send. Where there is none it takes nobody's place; and a link that rests is not measured, so
that two seconds of a fast link went unused after a fade."""
GRACE: Final = 2.0
"""Seconds after its time in which what was chosen and is late goes before what goes on: a link that
faded at last left a picture's level nearly done, and three seconds of other pictures came first."""
SURE: Final = 2
"""Looks in a row at which a time can't be met, until it is said: one may be of few bytes, which
tell little of the link, or of pictures that are guessed too large."""
MOST: Final = 4_096
"""Pictures of one device whose documents have a time."""
_TEXTS: Final = frozenset(("text", "style", "script", "deferred_script"))
"""Kinds that go before whatever is finer than coarse."""


class _Step(NamedTuple):
    """A level that a picture could come up to next."""

    place: int
    cost: int
    """Bytes, from the level before."""
    component: int
    level: str


@dataclass(slots=True)
class TimelyDocument:
    """A document that is to be there by a time."""

    until: float
    """On the loop's clock, seconds."""
    pictures: dict[int, None] = field(default_factory=dict)
    """In the order in which they entered."""
    levels: dict[int, str] = field(default_factory=dict)
    """Those that are chosen now, by component."""
    spare: int | None = None
    """The picture that may come up to the next level with what is left."""
    possible: bool = True
    """All texts and all coarsest levels fit."""
    earliest: float = 0.0
    """On the loop's clock, seconds: when these are there."""
    doubted: int = 0
    """Looks in a row at which they did not fit; SURE: it has been said."""


class Timely:
    """The documents of one device that are to be there by a time."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._asked: dict[int, float] = {}
        self._documents: dict[int, TimelyDocument] = {}
        self._owner: dict[int, int] = {}
        self._refused: list[tuple[int, float]] = []

    def __len__(self) -> int:
        return len(self._documents)

    def opened(self, document: int, at: float) -> None:
        """The document was asked for, by the loop's clock."""
        self._asked[document] = at

    def want(self, component: int, document: int, within: float) -> None:
        """A picture of the document is to be there so many seconds after that was asked for."""
        asked = self._asked.get(document)
        if asked is None or len(self._owner) >= MOST:
            return
        found = self._documents.setdefault(document, TimelyDocument(asked + within))
        if found.until != asked + within:
            found.until, found.doubted = asked + within, 0
        found.pictures[component] = None
        self._owner[component] = document

    def document(self, document: int) -> TimelyDocument | None:
        """What is decided of a document whose time is not over."""
        return self._documents.get(document)

    def level(self, component: int) -> str | None:
        """The level at which a picture is to stop for now; None: that is not for us to say."""
        found = self._documents.get(self._owner.get(component, -1))
        if found is None or component == found.spare:
            return None
        return found.levels.get(component)

    def forget(self, component: int) -> None:
        """It has left."""
        found = self._documents.get(self._owner.pop(component, -1))
        if found is not None:
            found.pictures.pop(component, None)
            found.levels.pop(component, None)

    def close(self, document: int) -> list[int]:
        """The document's time is over, or it has gone; the pictures that it had."""
        found = self._documents.pop(document, None)
        for component in found.pictures if found is not None else ():
            self._owner.pop(component, None)
        return [] if found is None else list(found.pictures)

    def left(self, document: int) -> None:
        """It is not open any more."""
        self.close(document)
        self._asked.pop(document, None)

    def look(self, now: float, *, rate: float | None, latency: float = 0.0) -> Iterator[int]:
        """Decide anew at `rate` bytes/second; the pictures of which something else holds now.

        None or 0: nothing is known of the link, all stays. `latency`: seconds until a byte is
        there.
        """
        for document, found in list(self._documents.items()):
            if now >= found.until:
                yield from self._over(document, found, now)
            elif rate and now + latency < found.until:  # else it would be there late
                before = {one: self.level(one) for one in found.pictures}
                self._choose(found, rate, now + latency)
                if found.doubted < SURE:
                    found.doubted = 0 if found.possible else found.doubted + 1
                    if found.doubted == SURE:
                        self._refuse(document, found)
                yield from [one for one in found.pictures if self.level(one) != before[one]]

    def refused(self) -> list[tuple[int, float]]:
        """Documents whose time can't be met, as was found since this was asked last, once each: the
        document, and seconds from when it was asked for in which it could."""
        refused, self._refused = self._refused, []
        return refused

    def _refuse(self, document: int, found: TimelyDocument) -> None:
        self._refused.append((document, found.earliest - self._asked[document]))

    def _over(self, document: int, found: TimelyDocument, now: float) -> Iterator[int]:
        """Its time is over: all goes on, but for what is late of what was chosen."""
        if 0 < found.doubted < SURE:
            found.doubted = SURE
            self._refuse(document, found)
        if now >= found.until + GRACE or not any(
            self._late(component, level) for component, level in found.levels.items()
        ):
            yield from self.close(document)
        elif found.spare is not None:
            spare, found.spare = found.spare, None
            yield spare

    def _late(self, component: int, level: str) -> bool:
        """Bytes of that level are still to be sent, and can be: the link does not rest for them."""
        leaf, end = self._tree.find_leaf(component), self._tree.level_end(component, level)
        able = leaf is not None and leaf.pending and not leaf.holds
        return leaf is not None and able and end is not None and leaf.sent < end

    def _choose(self, found: TimelyDocument, rate: float, soonest: float) -> None:
        """`soonest`: when a byte that is sent now is there, on the loop's clock."""
        seconds = found.until - soonest
        texts = sum(leaf.backlog for leaf in self._tree.leaves() if leaf.kind in _TEXTS)
        room = USED * rate * max(0.0, seconds) - texts
        first, steps, unknown = self._ladders(found)
        known = [step.cost for step in first]
        guess = sum(known) / len(known) if known else GUESS
        base = sum(known) + unknown * guess
        found.possible = base <= room
        found.earliest = soonest + (texts + base) / (USED * rate)
        found.levels = {step.component: step.level for step in first}
        found.spare, spent = None, base
        stuck: list[int] = []
        for step in sorted(steps):
            if step.component in stuck:
                continue
            if spent + step.cost <= room or not step.cost:
                spent += step.cost
                found.levels[step.component] = step.level
            else:
                stuck.append(step.component)
        rest = texts + spent
        if stuck and (not rest or (rest <= SOON * rate and seconds > LAST)):
            found.spare = stuck[0]

    def _ladders(self, found: TimelyDocument) -> tuple[list[_Step], list[_Step], int]:
        """The coarsest levels, the steps to finer ones, and how many pictures have none yet."""
        first: list[_Step] = []
        steps: list[_Step] = []
        unknown = 0
        for component in found.pictures:
            leaf = self._tree.find_leaf(component)
            if leaf is None:
                continue  # it is here, or has left
            ends = self._tree.level_ends(component)
            if not ends:
                unknown += 1
                continue
            sent, begin = leaf.sent, True
            for place, name in enumerate(LEVELS):
                if name in ends:
                    step = _Step(place, max(0, ends[name] - sent), component, name)
                    (first if begin else steps).append(step)
                    sent, begin = max(sent, ends[name]), False
        return first, steps, unknown
