"""Remembers one page in a browser: its driver, and its coarse pictures.

Must not know: HTTP, how a level is delivered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from local_proxy.export_drivers.browser.asker import Asker
from local_proxy.export_drivers.browser.standing import StandingPictures, WordPatience
from local_proxy.export_drivers.markup.csp import ConnectSources
from local_proxy.link.components import Component
from local_proxy.requests.waiting_films import WaitingFilms
from wire.skeleton import Level

AGAIN: Final = "again"
"""The level name that stands for fetching a picture anew, its component having failed."""

SHOWN: Final = ""
"""The level name of a step that says only that a picture is as fine as it gets."""

LEFT: Final = "left"
"""The level name of a step that says that a picture is left out."""

_LEFT_TOLD: Final = -1
"""Stands for the pictures that are left out among what a driver was told; no component has it."""

MAX_LEFT: Final = 1024
"""Pictures of which a page remembers that they are left out."""

MAX_WANTED: Final = 64
"""Pictures that a reader can want at a time."""


@dataclass(frozen=True, slots=True)
class PictureRequest:
    """How a picture was asked for, so that it can be asked for once more, to be kept."""

    accept: str
    cors: bool


@dataclass(frozen=True, slots=True)
class PictureStep:
    """A picture can be shown better than it is, or be kept by the browser as it is then."""

    url: str
    component: int
    level: str
    keep: PictureRequest | None = None
    """Of the last level, once it is shown; None: it is not to be kept."""
    beside: bool = False
    """It stands in while the picture's own response comes, whose end takes its place."""


class CoarsePicture:
    """A picture that went to the browser coarse."""

    def __init__(
        self,
        component: Component,
        delivered: Level | None,
        better: Callable[[], None],
        *,
        asker: Asker,
        keep: PictureRequest | None,
    ) -> None:
        """`delivered`: None where it goes to the browser as one response that has all of it."""
        self.component = component
        self.asker = asker
        """Who was given it; whoever asks for more of it must be no other."""
        self.keep = keep
        """How the browser may ask for its last level to keep it; None: not, or not any more."""
        self.beside = delivered is None
        self.delivered = -1 if delivered is None else component.levels.index(delivered)
        self.served_at: float | None = None
        """When its last level went out; it is forgotten a little later."""
        self._noted = self.rank()
        self._better = better
        self._unwatch = component.watch(self._changed)
        component.consumed(component.received)

    def best(self) -> int:
        """Index of the finest level here; one past the last: only fetching anew can help."""
        reached = self.component.reached()
        best = -1 if reached is None else self.component.levels.index(reached)
        last = len(self.component.levels) - 1
        if self.beside:
            return min(best, last - 1)
        over = self.component.complete or self.component.failure is not None
        return last + 1 if over and best < last else best

    def final(self) -> bool:
        """Nothing better will come of this component."""
        return self.best() >= len(self.component.levels) - 1

    def way(self) -> PictureRequest | None:
        """How the browser may ask for it to keep it, now that the origin's bytes are here."""
        return self.keep if self.final() and self.component.restorable else None

    def pending(self) -> bool:
        """Whether something better will come of it, or what it takes to keep it."""
        component = self.component
        over = component.complete or component.failure is not None
        if self.beside:
            return not over
        if component.stopped:
            return True  # as fine as it was wanted: a reader or a policy may want more of it
        return not self.final() or (self.keep is not None and not over)

    def rank(self) -> int:
        """Grows as it gets better: twice the level, one more where it may be kept."""
        return 2 * self.best() + (self.way() is not None)

    def forget(self) -> None:
        """Stop watching the component."""
        self._unwatch()

    def _changed(self) -> None:
        # Pictures are held whole, so that the sender may go on whether a browser reads or not.
        self.component.consumed(self.component.received)
        rank = self.rank()
        if rank != self._noted:
            self._noted = rank
            self._better()


class BrowserPage:
    """A document as it is shown in one window."""

    def __init__(
        self, document: int, url: str, *, name: str, key: str, word: WordPatience | None = None
    ) -> None:
        """`word`: how long its pictures wait for word of their <img>s, as all pages' do."""
        self.document = document
        self.url = url
        self.origin = "/".join(url.split("/", 3)[:3])
        self.name = name
        """Stands in the addresses of its levels, where the page can read it; unlocks nothing."""
        self.key = key
        """The driver's own, in no address: who knows it may hear which pictures the page has."""
        self.injected = False
        """The page was given the driver's tag."""
        self.to_worker = False
        """A service worker may have got it, and put it away."""
        self.claimed = False
        """A driver has been handed out for it."""
        self.shut = False
        """A meta policy keeps the driver from its event channel."""
        self.connections: ConnectSources | None = None
        """What its scripts may fetch, as far as that is known."""
        self.restricted = False
        """A meta policy says something of that, too."""
        self.replacing = 0
        """Pictures that are under way as responses whose parts replace each other."""
        self.given_up = False
        """The driver was waited for once and did not come."""
        self.growing = False
        """Its pictures are responses that grow, and the remote has been told."""
        self.alive = asyncio.Event()
        self.changed = asyncio.Event()
        self.channel: object | None = None
        """The event channel in use; an older one ends itself."""
        self.closed_at: float | None = None
        self.pictures: dict[int, CoarsePicture] = {}
        self.films: WaitingFilms | None = None
        """Where its reader saves data."""
        self.patience: float | None = None
        """Until when its pictures wait for its scripts to be known; None: none has waited."""
        self.known = asyncio.Event()
        """Set while it is known what its scripts can do."""
        self.known.set()
        self._coming: set[int] = set()
        """Components that its scripts come in, not whole yet: itself, and what its markup names."""
        self._anew: list[str] = []
        """Pictures to be fetched anew, because their reader wants more than was to come."""
        self._left: dict[str, None] = {}
        """Pictures that are left out."""
        self.standing = StandingPictures(word or WordPatience())

    def __repr__(self) -> str:
        return f"<BrowserPage {self.document} {self.url} {len(self.pictures)} coarse>"

    def expect(self, component: Component, *, known: bool) -> None:
        """Scripts of the page come in this; which they are is not known before it is whole, or the
        remote has told.

        `known`: what would be looked for has been found.
        """
        told = component.reads_pixels is not None
        if told or component.withheld or component.complete or component.failure is not None:
            self._coming.discard(component.id)
        else:
            self._coming.add(component.id)
        if self._coming and not known:
            self.known.clear()
        else:
            self.known.set()

    def fetches(self, url: str) -> bool:
        """Whether its driver may fetch this for the browser to keep."""
        return self.connections is not None and not self.restricted and self.connections.allow(url)

    def owns(self, url: str) -> bool:
        """Whether its scripts may read what is at this address: it is of the page's origin."""
        return url.startswith(self.origin + "/")

    def remember(
        self,
        component: Component,
        delivered: Level | None,
        *,
        asker: Asker,
        keep: PictureRequest | None,
    ) -> None:
        """This picture went out coarse, or in full by a response that browsers do not keep; or it
        will (None), and its coarse levels stand in."""
        older = self.pictures.pop(component.id, None)
        if older is not None:
            older.forget()
        self.pictures[component.id] = CoarsePicture(
            component, delivered, self.changed.set, asker=asker, keep=keep
        )
        self.changed.set()

    def want(self, url: str) -> None:
        """The reader wants the original of a picture that is not to come by itself."""
        self._anew = [*self._anew[1 - MAX_WANTED :], url]
        self.changed.set()

    def leave_out(self, url: str) -> None:
        """Nothing of this picture comes."""
        if url not in self._left and len(self._left) < MAX_LEFT:
            self._left[url] = None
            self.changed.set()

    def forget(self, component: int) -> None:
        """This picture is shown as fine as it gets."""
        picture = self.pictures.pop(component, None)
        if picture is not None:
            picture.forget()

    def forget_all(self) -> None:
        """The page is gone for good."""
        for component in list(self.pictures):
            self.forget(component)
        self.channel = None
        self.changed.set()

    def steps(self, told: dict[int, int]) -> list[PictureStep]:
        """What to tell a driver that has been `told` these ranks already; notes it there."""
        steps = [PictureStep(url, 0, AGAIN) for url in self._anew]
        self._anew.clear()
        steps += [PictureStep(url, 0, LEFT) for url in list(self._left)[told.get(_LEFT_TOLD, 0) :]]
        told[_LEFT_TOLD] = len(self._left)
        for number, picture in self.pictures.items():
            rank, best, way = picture.rank(), picture.best(), picture.way()
            before = told.get(number, 2 * picture.delivered)
            if rank <= before:
                continue
            told[number] = rank
            levels, name = picture.component.levels, SHOWN
            if best > before // 2:
                name = levels[best].name if best < len(levels) else AGAIN
            url, beside = picture.component.url, picture.beside
            steps.append(PictureStep(url, number, name, way, beside))
        return steps

    def pending(self) -> bool:
        """Whether any of its pictures is still to become better, or to be kept."""
        return self.replacing > 0 or any(picture.pending() for picture in self.pictures.values())
