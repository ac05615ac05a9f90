"""Tells policies what happens on the link and in the browser, and the link what they command.

Translates and keeps nothing but the components of open documents. The session calls it as its
listener, the tracking driver as its tracker, the core as its observer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from local_proxy.kept.wall_clock import wall_clock
from local_proxy.link.components import Component
from local_proxy.link.session import LocalSession
from local_proxy.link.uplink import Uplink
from local_proxy.policy.runtime import PolicyRuntime
from local_proxy.promises.browser_caches import Belief, BrowserCaches
from local_proxy.promises.keeper import PromiseKeeper
from local_proxy.requests.document_events import DocumentEvents
from local_proxy.requests.open_documents import Documents
from local_proxy.status.overview import Overview
from policies.api import events as e
from policies.api.commands import Cancel, Command
from policies.host.checks import MAX_DEPTH
from policies.host.to_wire import for_one_application, message_for, without
from transport.link.interface import LinkError
from wire import abilities
from wire.applications import Application
from wire.fields import Headers
from wire.messages import BACKGROUND, UNATTRIBUTED, Expired, Fetch, GiveWay, Message, Reserve
from wire.skeleton import LEVELS

Size = tuple[int, int]
MAX_NAME: Final = 64
"""Characters of a node's name that the remote may speak of."""
MAX_NOTICE: Final = 500
"""Characters of what the remote tells people."""
RULE_WORDS: Final = (
    (abilities.TIMELY, "within"),
    (abilities.SIMILAR, "similar"),
    (abilities.RESERVES, "steady"),
)
"""What a remote proxy accepts, and the word of rules that only such a one knows."""
_NEEDS: Final[Mapping[type[Message], str]] = {
    Reserve: abilities.RESERVES,
    GiveWay: abilities.GIVES_WAY,
}
"""Commands, and what a remote proxy accepts that knows them."""
WANTED: Final = 3
"""Urgency of a picture that a person has asked for: ahead of heads that browsers wait for."""


class Components:
    """The components of open documents, by id and by URL. Closing a document forgets its own."""

    def __init__(self) -> None:
        self._by_document: dict[int, dict[int, Component]] = {}

    def __len__(self) -> int:
        return sum(len(known) for known in self._by_document.values())

    def add(self, component: Component) -> None:
        """A component of a document that is open, or of none."""
        self._by_document.setdefault(component.document, {})[component.id] = component

    def forget(self, component: Component) -> None:
        """It is no longer of interest."""
        self._by_document.get(component.document, {}).pop(component.id, None)

    def of(self, document: int) -> list[Component]:
        """All of a document, in the order they became known."""
        return list(self._by_document.get(document, {}).values())

    def find(self, document: int, url: str) -> Component | None:
        """The newest component of a document with that URL."""
        found = [c for c in self._by_document.get(document, {}).values() if c.url == url]
        return found[-1] if found else None

    def close(self, document: int) -> list[Component]:
        """Forget a document; what it had."""
        return list(self._by_document.pop(document, {}).values())


class Bridge:
    """Between one local proxy's session, browser and policies."""

    def __init__(
        self,
        components: Components,
        promises: PromiseKeeper,
        caches: BrowserCaches,
        events: DocumentEvents,
        *,
        now: Callable[[], float],
    ) -> None:
        self._components = components
        self._promises = promises
        self._caches = caches
        self._events = events
        self._now = now
        self._session: LocalSession | None = None
        self._lost = False
        self._uplink: Uplink
        self._runtime: PolicyRuntime
        self._overview: Overview
        self._look: Callable[[Component], None]
        self._documents: Documents

    def connect(
        self,
        *,
        uplink: Uplink,
        runtime: PolicyRuntime,
        overview: Overview,
        documents: Documents,
        look: Callable[[Component], None],
    ) -> None:
        """The other ends; they need this one to be made, so they come after. Called once.

        `look` is told of what is promised, and of bytes that have come before any browser has them.
        """
        self._look = look
        self._uplink = uplink
        self._runtime = runtime
        self._overview = overview
        self._documents = documents

    # -- local_proxy.link.session.Listener ---------------------------------------------------------

    def session_opened(self, session: LocalSession) -> None:
        """The remote said hello: all standing commands go first, before any request."""
        self._session = session
        self._runtime.begin_again()
        if self._lost:
            self._hear(e.LinkRestored())
        self._lost = False
        self._uplink.opened()

    def skeleton_grew(
        self, document: int, components: list[Component], headers: Headers, promised: bool
    ) -> None:
        """The import driver found components."""
        if promised:
            components = [one for one in components if self._wanted(one)]
            if not components:
                return
        for component in components:
            self._components.add(component)
            self._look(component)
        if promised:
            self._promises.promised(components, headers, now=self._now())
        self._hear(e.SkeletonGrew(document, tuple(component.part for component in components)))

    def placed(self, document: int, components: list[Component]) -> None:
        """It is known by now what these are that were asked for."""
        if components:
            self._hear(e.SkeletonGrew(document, tuple(component.part for component in components)))

    def _wanted(self, component: Component) -> bool:
        """Whether its browser is likely to ask for it; what it has need not come."""
        document, url = component.document, component.url
        component.withheld = self._caches.withheld(document, url)
        if component.withheld:
            return True
        if self._caches.belief(document, url, now=wall_clock()) is not Belief.FRESH:
            return True
        self._caches.spare(document, url)
        self._uplink.abandon(component)
        return False

    def progressed(self, component: Component, amount: int) -> None:
        """Bytes came, or something else about it changed."""
        self._look(component)
        self._overview.carried(component, amount)
        reached = component.reached()
        name = "original" if component.complete and reached is None else ""
        name = reached.name if reached is not None else name
        if name != component.told or component.complete or component.failure is not None:
            component.told = name
            over = component.complete or component.failure is not None
            if over and component.document in (UNATTRIBUTED, BACKGROUND):  # which never close
                self._components.forget(component)
            length = component.head.length if component.head is not None else None
            self._hear(
                e.Progress(component.id, component.received, name, component.complete, length)
            )

    def noticed(self, text: str) -> None:
        """The remote proxy has something to tell people."""
        self._overview.problem(text[:MAX_NOTICE])

    def expired(self, fetch: Expired) -> None:
        """A fetch can't be in time."""
        self._runtime.missed(
            fetch.component, level=fetch.level, within=fetch.within, refused=fetch.refused
        )

    def too_soon(self, document: int, earliest: float) -> None:
        """A document's pictures can't be here in the time that a rule gives them."""
        self._hear(e.TimeRefused(document, earliest))

    def guaranteed(self, path: Sequence[str], rate: float, *, held: bool) -> None:
        """A node has a guaranteed rate from now on, or can't have it."""
        if len(path) <= MAX_DEPTH and all(len(name) <= MAX_NAME for name in path):
            self._hear(e.RateGuaranteed(tuple(path), rate, held))

    def refused(self, number: int, reason: str) -> None:
        """A command can't be carried out over there."""
        self._runtime.refused(number, reason)

    def session_closed(self, session: LocalSession, error: LinkError | None) -> None:
        """The link is gone."""
        self._overview.session_ended(session.link.statistics())
        if self._session is session:
            self._session = None
            self._lost = True
            self._overview.problem(f"The link was lost: {error or 'closed by the remote proxy'}")
            self._hear(e.LinkLost(str(error) if error else ""))

    # -- local_proxy.requests.ask.Observer ---------------------------------------------------------

    def document_opened(
        self,
        document: int,
        url: str,
        *,
        save_data: bool = False,
        within: float | None = None,
        application: Application = Application.BROWSER,
    ) -> None:
        """A navigation, or an office program, has begun a document."""
        self._overview.opened(document, url)
        self._hear(e.DocumentOpened(document, url, application.node, save_data, within))

    async def reacted(self) -> None:
        """Until policies have reacted to all that was told so far."""
        await self._runtime.reacted()

    def document_moved(self, document: int, url: str) -> None:
        """A document goes on with another page: policies hear that the one before was closed, and
        what is known of the other by now."""
        self._hear(e.DocumentClosed(document))
        self.document_opened(document, url)
        if parts := tuple(component.part for component in self._components.of(document)):
            self._hear(e.SkeletonGrew(document, parts))

    def document_came_back(self, document: int, url: str) -> None:
        """A page whose document was let go asks for something: behind what is in front."""
        self.document_opened(document, url)
        self._hear(e.VisibilityChanged(document, False))

    def document_closed(self, document: int) -> None:
        """A document's window is gone."""
        self._components.close(document)
        self._overview.closed(document)
        self._hear(e.DocumentClosed(document))

    def component_requested(self, component: Component) -> None:
        """Something was asked for that no skeleton had."""
        self._components.add(component)
        self._hear(e.SkeletonGrew(component.document, (component.part,)))

    # -- local_proxy.tracking_drivers.browser.Tracker ----------------------------------------------

    def visible(self, document: int, visible: bool) -> None:
        """Its tab was shown or hidden."""
        self._documents.shown(document, visible, now=self._now())
        self._hear(e.VisibilityChanged(document, visible))

    def focus(self, document: int, focused: bool) -> None:
        """Its window got the focus. Losing it says nothing: another application has it."""
        if focused:
            self._documents.shown(document, True, now=self._now())
            self._hear(e.FocusChanged(document))

    def pointer(self, document: int, url: str | None) -> None:
        """The pointer rests on a picture, or on none."""
        self._documents.looked_at(document, now=self._now())
        component = self._components.find(document, url) if url else None
        self._hear(e.PointerOn(component.id if component else None))

    def original(self, document: int, url: str) -> bool:
        """A person asks for this picture: before all tiers, whatever a plan withholds."""
        component = self._components.find(document, url)
        if component is None or component.failure is not None:
            return False
        session, goes_on = self._session, False
        short = bool(component.levels) and component.levels[-1].name != LEVELS[-1]
        if session is not None and session.open and (short or not component.complete):
            goes_on = self._fetch(session, Fetch(component.id, LEVELS[-1], urgency=WANTED))
        return goes_on or not short

    def in_view(self, document: int, urls: Iterable[str]) -> None:
        """The pictures that are on the screen."""
        self._documents.looked_at(document, now=self._now())
        found = (self._components.find(document, url) for url in urls)
        ids = tuple(component.id for component in found if component is not None)
        self._hear(e.ScrolledInView(document, ids))

    def layout(self, document: int, sizes: dict[str, Size]) -> None:
        """Sizes of pictures in the layout, CSS pixels."""
        boxes = []
        for url, (width, height) in sizes.items():
            component = self._components.find(document, url)
            if component is not None:
                boxes.append(e.Box(component.id, width, height))
        self._hear(e.LayoutKnown(document, tuple(boxes)))

    def plays(self, document: int, on: bool) -> None:
        """A sound or film of the page plays, or none."""
        self._documents.looked_at(document, now=self._now())
        self._hear(e.PlayingChanged(document, on))

    def titled(self, document: int, title: str) -> None:
        """What the page calls itself."""
        self._overview.titled(document, title)

    def closed(self, document: int) -> None:
        """The page was left for good."""
        self._events.close(document)

    # -- commands ------------------------------------------------------------------------------

    def command(self, command: Command) -> int | None:
        """A policy's command, on its way at once; its number in the session, if it can be refused.

        Without a link the runtime keeps what stands.
        """
        session = self._session
        if session is None or not session.open:
            return None
        if isinstance(command, Cancel):  # whoever waits for it must hear of it here, too
            session.call_off(command.component)
            return None
        message = message_for(command)
        if message is None:
            return None
        if isinstance(message, Fetch):
            session.refine(message.component, message.level)
        if not session.remote_accepts(abilities.APPLICATIONS):
            message = for_one_application(message)
        for ability, word in RULE_WORDS:
            if message is not None and not session.remote_accepts(ability):
                message = without(message, word)
        if message is None:
            return None
        if isinstance(message, GiveWay) and not message.path:
            session.gives_way = message.on
        needed = _NEEDS.get(type(message))
        if needed is not None and not session.remote_accepts(needed):
            return None
        return session.command(message)

    @staticmethod
    def _fetch(session: LocalSession, fetch: Fetch) -> bool:
        """Say it for a reader; a picture that ended at a coarser level goes on where it ended.
        Whether that level may be had so."""
        goes_on = session.refine(fetch.component, fetch.level)
        session.command(fetch)
        return goes_on

    def _hear(self, event: e.Event) -> None:
        self._runtime.hear(event)
