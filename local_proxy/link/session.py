"""The local side of one link: requests and commands out, components in.

Says what is asked and tells one listener what happened; the demultiplexer fills `Component`
objects as their bytes come. Knows nothing of HTTP fronts, promises or policies (requests/core.py
joins them).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, Protocol

import structlog
from msgspec import structs

from coding.text_shelf import TextShelf
from local_proxy.link.arrival import Arrival
from local_proxy.link.components import Component
from local_proxy.link.demultiplexer import Demultiplexer
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.echoes import NOBODY
from local_proxy.link.remote_words import RemoteWords
from local_proxy.link.resumption import Memory
from local_proxy.link.uploads import Uploads
from monitor.estimate import BandwidthEstimate
from transport.link.activity import Activity
from transport.link.interface import Link, LinkError, OtherVersion, PeerFault
from transport.sending.outgoing import Outgoing
from wire import abilities
from wire import messages as m
from wire.abilities import Takes
from wire.continuation import Continuation
from wire.credit import CreditWindows
from wire.errors import NoCommonVersion, WireError
from wire.fields import Headers
from wire.frames import Control, Data
from wire.origin_request import OriginRequest
from wire.package import Held
from wire.session import Session, SessionState, Side

AGENT: Final = "sluice"
ACCEPTS: Final = (
    abilities.NOTICES,
    abilities.DECISIONS,
    abilities.BANDWIDTH,
    abilities.AVAILABLE,
    abilities.CONTENDED,
    abilities.APPLICATIONS,
    abilities.REFUSALS,
    abilities.TIMELY,
    abilities.RESERVES,
    abilities.PACED,
    abilities.APART,
)
"""What every device accepts."""
MAX_REASON: Final = 500
"""Characters of a goodbye's reason that people are shown."""
_log = structlog.get_logger("sluice.local")


class LinkListener(Protocol):
    """Who is told what happens on the link. Called from the event loop; must not raise."""

    def session_opened(self, session: LocalSession) -> None: ...

    def skeleton_grew(
        self, document: int, components: list[Component], headers: Headers, promised: bool
    ) -> None: ...

    def placed(self, document: int, components: list[Component]) -> None:
        """It is known by now where in the document these stand that were asked for."""

    def progressed(self, component: Component, amount: int) -> None:
        """`amount` bytes of it came over the link; 0: its head, levels, end or failure."""

    def expired(self, fetch: m.Expired) -> None:
        """The remote has suspended a fetch that can't be in time, or refused it."""

    def too_soon(self, document: int, earliest: float) -> None:
        """The document's pictures can't be here in the time that a rule gives them, but in so many
        seconds from when it was asked for."""

    def guaranteed(self, path: Sequence[str], rate: float, *, held: bool) -> None:
        """A node has a guaranteed rate, bytes/second, from now on; not `held`: it can't."""

    def refused(self, number: int, reason: str) -> None:
        """The remote can't carry out the command of that number."""

    def noticed(self, text: str) -> None:
        """The remote has something to tell people."""

    def session_closed(self, session: LocalSession, error: LinkError | None) -> None: ...


class LocalSession:
    """One session over one link."""

    def __init__(
        self,
        link: Link,
        listener: LinkListener,
        memory: Memory,
        *,
        device: str,
        first_id: int = 1,
        accepts: Sequence[str] = (),
        patience: float = 0.0,
        activity: Activity | None = None,
        dictionaries: Dictionaries | None = None,
    ) -> None:
        """`first_id`: odd; ids name documents, which outlive the session, as `memory` does.

        `accepts`: codings of pictures that whoever shows them undoes. `patience`: seconds for
        which the link may be without a connection; the remote is told. `activity` hears of all
        that is said and comes. `dictionaries`: texts that are here; None: none ever are.
        """
        self._activity = activity or Activity()
        self._link = link
        self._listener = listener
        self._memory = memory
        self._dictionaries = dictionaries or Dictionaries(TextShelf(max_bytes=0))
        texts = (abilities.DICTIONARIES,) if self._dictionaries.kept else ()
        self.session = Session(
            Side.LOCAL,
            agent=AGENT,
            device=device,
            first_component=first_id,
            first_promise=memory.next_promise,
            accepts=(*accepts, *ACCEPTS, *texts),
            patience=math.ceil(patience),
        )
        self.gives_way = False
        """What goes up gives way to other programs of the line."""
        self._decided = asyncio.Event()
        self._decided.set()
        self.uploads = Uploads(self.session, wake=link.wake)
        self._arrivals = Demultiplexer(
            memory,
            accepts=accepts,
            say=self.say,
            progressed=listener.progressed,
            ended=self.uploads.drop,
            ask=self._ask_on,
            dictionaries=self._dictionaries,
            windows=CreditWindows(
                asyncio.get_running_loop().time, lambda: link.statistics().round_trip
            ),
        )
        self.words = RemoteWords(
            self,
            listener,
            arrivals=self._arrivals,
            memory=memory,
            uploads=self.uploads,
        )
        """What the remote says, and has said of the link, the tree and its pictures."""
        self.closed: asyncio.Future[LinkError | None] = asyncio.get_running_loop().create_future()

    @property
    def open(self) -> bool:
        """Whether requests can be sent and answered."""
        return self.session.state is SessionState.OPEN

    @property
    def link(self) -> Link:
        """The link below, for its statistics."""
        return self._link

    @property
    def expecting(self) -> bool:
        """Whether anything is on its way in."""
        return bool(self._arrivals)

    @property
    def held(self) -> int:
        """Bytes that are here of what is on its way in."""
        return sum(len(arrival.component.data) for arrival in self._arrivals.values())

    def ping(self) -> None:
        """Have the remote answer."""
        self.say(m.Ping(NOBODY))

    async def round_trip(self) -> float:
        """Seconds until the remote itself answers; whoever asks sets a limit."""
        return await self.words.echoes.wait(lambda token: self.say(m.Ping(token)))

    def grow(self, document: int) -> None:
        """No driver runs in this document: its pictures are responses that grow."""
        if self.remote_accepts(abilities.GROWING):
            self.say(m.Growing(document))

    def remote_accepts(self, what: str) -> bool:
        """Whether the remote has said that it understands that."""
        return self.session.peer is not None and what in self.session.peer.accepts

    def start(self) -> None:
        """Begin: say hello and listen."""
        self._link.start(self.uploads.outbox, self, competes=lambda: not self.gives_way)

    def close(self) -> None:
        """End the session on purpose."""
        self._link.close()

    def end(self, error: LinkError | None) -> None:
        """The other end has ended it."""
        self._link.close(error)

    # -- out -----------------------------------------------------------------------------------

    def new_id(self) -> int:
        """An id for a request, and for the document that it opens.

        Requests go in the order of their ids, so whoever says it later has all others wait in
        `turn`, by `undecided`.
        """
        return self.session.new_component()

    @contextmanager
    def undecided(self) -> Iterator[None]:
        """While policies decide what is asked for with the newest id, nobody takes another."""
        self._decided.clear()
        try:
            yield
        finally:
            self._decided.set()

    async def turn(self) -> None:
        """Until an id may be taken, and used before anything else is waited for."""
        while not self._decided.is_set():
            await self._decided.wait()

    def request(
        self, component: Component, request: OriginRequest, *, held: Held | None = None
    ) -> None:
        """Ask for a component; its bytes will fill it. `held`: what is here of a document."""
        if component.id == component.document:
            self._memory.document_asked(component.id, request)
        if self.remote_accepts(abilities.DICTIONARIES):
            named = self._dictionaries.names(component, request)
            request = replace(request, dictionaries=named)
        arrival = Arrival(component, request, held)
        self._arrivals.expect(arrival)
        self._ask(arrival, Continuation(0, held=held) if held is not None else None)

    def _ask(self, arrival: Arrival, resume: Continuation | None) -> None:
        component, request = arrival.component, arrival.request
        message = request.message(component.id, component.document, resume)
        if request.levels and self.remote_accepts(abilities.PLACED):
            message = structs.replace(message, takes=message.takes | Takes.PLACE)
        self.say(message, request.headers)

    def take_over(self) -> None:
        """Ask for the rest of what an earlier session was bringing. Before any other request."""
        for arrival in self._memory.take():
            self._arrivals.expect(arrival)
            self._ask_on(arrival)

    def _ask_on(self, arrival: Arrival) -> None:
        """For the rest of what is here in part."""
        placed = self.remote_accepts(abilities.PLACED)
        self._ask(arrival, self._memory.resume(arrival, placed=placed))

    def upload(self, component: int, *, tunnel: bool = False) -> Outgoing:
        """The way up for a request's body, or the input of a tunnel in which two ends talk."""
        return self.uploads.open(component, tunnel=tunnel)

    def set_talk(self, up: Outgoing, talks: bool) -> None:
        """Whether a tunnel's input is talk, which goes before uploads, or a transfer."""
        self.uploads.set_talk(up, talks)

    @property
    def rate_up(self) -> float | None:
        """Bytes/second towards the remote; None: not measured yet."""
        estimate = self._link.statistics().outgoing
        return None if estimate is None else estimate.rate

    def bandwidth(self, now: float) -> BandwidthEstimate | None:
        """What the link carries towards this device, as the remote has measured it; None: it has
        not yet."""
        return self.words.bandwidth.at(now)

    def available(self, now: float) -> BandwidthEstimate | None:
        """What others leave of the link towards this device, its own share included; None: the
        remote does not measure it, or has not for a while."""
        return self.words.available.lately(now)

    def look_at_tree(self, now: float) -> None:
        """Somebody looks at the tree: ask the remote for it, as often as the link allows."""
        peer = self.session.peer
        if not self.open or peer is None or abilities.TREE not in peer.accepts:
            return
        estimate = self.bandwidth(now)
        if self.words.tree.ask(now, rate=None if estimate is None else estimate.rate):
            self.say(m.LookAtTree())

    def cut_upload(self, component: int, reason: str) -> None:
        """The rest of a body that was going up will not come."""
        if self.uploads.drop(component):
            self.say(m.Reset(component, reason))

    def cancel(self, component: Component) -> None:
        """Nobody wants it any more; who reads it all the same is told that it ends here."""
        self._arrivals.cancel(component)

    def refine(self, component: int, level: str) -> bool:
        """Go on with a picture that ended at a coarser level; False: there is nothing to go on
        with. What is here of it is not sent again."""
        peer = self.session.peer
        return (
            peer is not None
            and abilities.STOPPED in peer.accepts
            and self._arrivals.refine(component, level)
        )

    def call_off(self, component: int, *, reason: str = "A policy called this off.") -> None:
        """It is to be stopped for good; one that is not under way is ignored."""
        arrival = self._arrivals.get(component)
        if arrival is not None:
            self._arrivals.cancel(arrival.component, status=403, reason=reason)

    def close_document(self, document: int) -> None:
        """The document's window is gone, and its promises with it."""
        self._arrivals.close_document(document)

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        """Queue a control message."""
        self.session.enqueue(message, headers)
        self._wake()

    def command(self, message: m.Message) -> int:
        """Queue one of wire.session's COMMANDS; the number by which a refusal will name it."""
        self.say(message)
        return self.session.commands

    # -- transport.link.interface.Inbox ------------------------------------------------------------

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        """Frames of the remote proxy. A peer that breaks the protocol loses the link."""
        try:
            for frame in frames:
                if isinstance(frame, Data):
                    self._arrivals.data(frame)
                else:
                    message, headers = self.session.receive(frame.payload)
                    self.words.hear(message, headers)
            data = [frame for frame in frames if isinstance(frame, Data)]
            if data:
                nbytes = sum(len(frame.payload) for frame in data)
                self.words.bandwidth.arrived(nbytes, paced=all(one.paced for one in data), now=now)
        except NoCommonVersion as error:
            self._link.close(_other_version(error))
        except WireError as error:
            _log.warning("the remote proxy broke the protocol", error=str(error))
            self._link.close(PeerFault(str(error)))
        self._wake()

    def _wake(self) -> None:
        self._activity.happened()
        self._link.wake()

    def link_closed(self, error: LinkError | None) -> None:
        """The link is gone."""
        self.session.link_lost()
        self._arrivals.lost(error)
        self.uploads.drop_all()
        if not self.closed.done():
            self.closed.set_result(error)
        self._listener.session_closed(self, error)


def _other_version(error: NoCommonVersion) -> OtherVersion:
    """For people: which end is to be updated."""
    if error.peer_is_older:
        what = (
            "Update Sluice on the machine of the remote proxy: it speaks an older protocol "
            f"(version {error.theirs}) than this device ({error.ours})"
        )
    else:
        what = (
            "Update Sluice on this device: it speaks an older protocol "
            f"(version {error.ours}) than the remote proxy ({error.theirs})"
        )
    return OtherVersion(what, update_peer=error.peer_is_older)
