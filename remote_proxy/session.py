"""One device's session: messages of the local proxy in, components out.

Coordinates and nothing more: the tree orders (scheduling/tree.py), deliveries fetch and adapt
(jobs/delivery.py), policies are obeyed (scheduling/commands.py), documents' parts promised
(promises/promise.py), the outbox sends (transport/sending/outbox.py). One task per delivery, all in
one group that ends with the link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Final

import structlog

from remote_proxy.documents.packages import Packaging
from remote_proxy.jobs.delivery import Delivery
from remote_proxy.jobs.device_texts import SessionTexts
from remote_proxy.jobs.economy import Economy
from remote_proxy.jobs.held_pictures import Gathered
from remote_proxy.jobs.job import Job
from remote_proxy.jobs.link_fit import Fitting, expired
from remote_proxy.jobs.link_rate import LinkRate
from remote_proxy.jobs.refusals import Refusals
from remote_proxy.jobs.services import Services
from remote_proxy.news import DeviceNews
from remote_proxy.playing.playing import Playing
from remote_proxy.promises.promise import Promising
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.request_ids import RequestIds
from remote_proxy.running import Deliveries
from remote_proxy.statistics import SessionStatistics
from scheduling.commands import SETTINGS, Obedience
from scheduling.long_way import LongWay
from scheduling.plan import Plan
from scheduling.tree import Tree
from transport.link.interface import Link, LinkError, PeerFault
from transport.link.records import ProvenPeer
from transport.sending.incoming import Incoming
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget
from wire import abilities
from wire import messages as m
from wire.abilities import Takes
from wire.credit import CreditWindows
from wire.errors import NoCommonVersion, WireError
from wire.fields import Headers
from wire.frames import Control, Data
from wire.session import Session, SessionState, Side

AGENT: Final = "sluice"
ACCEPTS: Final = (
    abilities.GROWING,
    abilities.APPLICATIONS,
    abilities.STOPPED,
    abilities.TIMELY,
    abilities.TREE,
    abilities.GOES_ON,
    abilities.SIMILAR,
    abilities.RESERVES,
    abilities.GIVES_WAY,
    abilities.ASKED_FOR,
    abilities.PLACED,
    abilities.PREFLIGHTS,
    abilities.CODED_BODIES,
)
_log = structlog.get_logger("sluice.remote")


class RemoteSession:
    """The remote side of one link. `run` returns when the link has closed."""

    def __init__(
        self,
        link: Link,
        services: Services,
        *,
        quantum: int,
        memory: int,
        peer: ProvenPeer | None = None,
        expect: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """`peer`: the device, as it has proved; None: as it calls itself.

        `expect` is told for how many seconds the device will try to get a lost link back.
        """
        self._link = link
        self._expect = expect
        self.peer = peer
        self._services = services
        texts = (abilities.DICTIONARIES,) if services.texts.max_bytes else ()
        self.session = Session(Side.REMOTE, agent=AGENT, accepts=(*ACCEPTS, *texts))
        self.tree = Tree(quantum=quantum, schedulers=services.schedulers)
        self.plan = Plan()
        self.obedience = Obedience(self.tree, self.plan)
        self.promising = Promising(
            self.session,
            self.tree,
            self.plan,
            self.obedience,
            start=self.start,
            may=services.origin.reach.might,
            spare=lambda: self._usage.spare(now=self._loop.time()),
            drivers=services.drivers,
            whose=lambda: self.device,
        )
        self.budget = Budget(memory, parked=lambda: self.tree.parked)
        self.outbox = TreeOutbox(
            self.session,
            self.tree.hierarchy,
            self.tree.multiplexer,
            self.budget,
            wake=self._wake,
            far=LongWay(self.tree.hierarchy).choose,
        )
        self._loop = asyncio.get_running_loop()
        self._windows = CreditWindows(self._loop.time, lambda: link.statistics().round_trip)
        self._link_rate = LinkRate(link, self._loop.time)
        self._fitting = Fitting(
            link,
            self.tree,
            self.obedience,
            self.outbox,
            rate=lambda: self.rate,
            say=self.say,
        )
        self._usage = services.devices.of("")
        self.packaging = Packaging(self, services.origin, services.transcoders, services.reading)
        self.refusals = Refusals()
        self.gathered = Gathered(memory)
        self.economy = Economy(worth=services.worth)
        self.texts = SessionTexts(
            *(services.texts, lambda: self.device),
            wanted=lambda: self.accepts(abilities.DICTIONARIES),
            proven=peer.id if peer is not None else "",
        )
        self.playing = Playing(self.obedience.guarantees)
        self._news = DeviceNews(
            self,
            self.refusals,
            self.economy,
            refused=lambda: services.transcoders.refused(self.device),
            measured=link.statistics,
            too_soon=self.obedience.timely.refused,
            guarantees=self.obedience.guarantees.news,
            later=self._fitting.activity.happened,
        )
        self._held = False
        self.deliveries = Deliveries(
            lambda job: Delivery(job, self, services),
            failed=self._delivery_failed,
            sweep=self._sweep,
            sending=lambda: [sent.component for sent in self.outbox.components()],
        )
        self._ids = RequestIds(self.session)
        self._closed: asyncio.Future[LinkError | None] = self._loop.create_future()
        self._handlers = self._handling()

    def _handling(self) -> dict[type[m.Message], Callable[[m.Message, Headers], None]]:
        return {
            m.Hello: self._on_hello,
            m.Request: self._on_request,
            m.Credit: self._on_credit,
            m.Cancel: self._on_cancel,
            m.Reset: self._on_reset,
            m.CloseDocument: self._on_close_document,
            **dict.fromkeys(SETTINGS, self._on_setting),
            m.Fetch: self._on_fetch,
            m.Hold: self._on_hold,
            m.Growing: self._on_growing,
            m.LookAtTree: lambda _, __: self._news.draw(self.tree, self._loop.time()),
            m.Ping: self._on_ping,
            m.Pong: lambda message, headers: None,
            m.Goodbye: self._on_goodbye,
        }

    @property
    def link(self) -> Link:
        """The link below, for its statistics."""
        return self._link

    @property
    def connected(self) -> bool:
        """Whether something carries bytes now, or will in a moment."""
        return self.deliveries.tasks is None or self._link.statistics().connected

    async def run(self) -> None:
        """Serve until the link closes."""
        try:
            await self._serve()
        finally:
            if self._held:
                await self._services.origin.pools.release(self.device)

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self.deliveries.tasks = tasks
            self._link.start(self.outbox, self, competes=lambda: not self.tree.giving_way.alone)
            fitting = tasks.create_task(self._fitting.run(self._tell))
            try:
                error = await asyncio.shield(self._closed)
            finally:
                self._link.close()
            self.session.link_lost()
            fitting.cancel()
            self.deliveries.cancel_all()
        for outgoing in self.outbox.components():
            self.outbox.drop(outgoing.component)
        _log.info(
            "session ended",
            reason=str(error) if error else "closed",
            device=self.device,
            refused=self._refused(),
            pictures=dict(self.economy.counts()),
            **asdict(self._usage.statistics(now=self._loop.time())),
        )

    def _tell(self) -> None:
        self._news.tell(self._loop.time())

    def close(self) -> None:
        """End it from outside; `run` returns."""
        self._link.close()

    @property
    def device(self) -> str:
        """The device's name: the one it was paired with, if it had to prove that."""
        if self.peer is not None:
            return self.peer.name
        return self.session.peer.device if self.session.peer else ""

    def statistics(self) -> SessionStatistics:
        """Counts for logs and tests."""
        return SessionStatistics(
            device=self.device,
            deliveries=len(self.deliveries),
            held=self.budget.used,
            payload_sent=self.outbox.payload_sent,
            usage=self._usage.statistics(now=self._loop.time()),
            documents=len(self.deliveries.documents),
            refused=self._refused(),
            pictures=self.economy.counts(),
        )

    def _refused(self) -> dict[str, int]:
        return self.refusals.counts(self._services.transcoders.refused(self.device))

    # -- transport.link.interface.Inbox ------------------------------------------------------------

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        """Frames of the local proxy. A peer that breaks the protocol loses the link."""
        try:
            for frame in frames:
                if isinstance(frame, Data):
                    self._on_data(frame)
                else:
                    message, headers = self.session.receive(frame.payload)
                    self._handlers[type(message)](message, headers)
        except NoCommonVersion as error:
            which = "that device" if error.peer_is_older else "this machine"
            told = {"device": self.device, "reason": str(error)}
            _log.warning(f"a device can't be served: update Sluice on {which}", **told)
            self._link.close(PeerFault(str(error)))
        except WireError as error:
            _log.warning("the local proxy broke the protocol", error=str(error))
            self._link.close(PeerFault(str(error)))
        self._wake()

    def link_closed(self, error: LinkError | None) -> None:
        """The link is gone; `run` ends."""
        if not self._closed.done():
            self._closed.set_result(error)

    # -- what a delivery needs of its session --------------------------------------------------

    @property
    def rate(self) -> float | None:
        """Bytes/second of the link; None: not measured yet."""
        return self._link_rate.measured

    @property
    def expected(self) -> float | None:
        """The same to reckon with, when it was asked last if need be; None: nothing is known."""
        return self._link_rate.expected

    @property
    def queued(self) -> int:
        """Bytes that the link could take now."""
        return self.budget.used

    @property
    def ahead(self) -> int:
        """Those, and of pictures that are being adapted."""
        return self.queued + self.gathered.used

    def count(self, amount: int) -> None:
        """Bytes have passed to or from an origin. Raises OriginError beyond the device's limit."""
        exceeded = self._usage.spend(amount, now=self._loop.time())
        if exceeded is not None:
            raise OriginError(Failure.LIMIT, str(exceeded), retry=exceeded.retry)

    def accepts(self, what: str) -> bool:
        """Whether the device said that it understands that message, or can undo that coding."""
        return self.session.peer is not None and what in self.session.peer.accepts

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        """Queue a control message."""
        self.session.enqueue(message, headers)
        self._wake()

    def _wake(self) -> None:
        self._fitting.activity.happened()
        self._link.wake()

    def adopt(self, document: int, component: int) -> None:
        """A part that has no delivery of its own leaves with its document."""
        self.deliveries.adopt(document, component)

    def start(self, job: Job) -> None:
        """Begin a delivery; beyond the device's limits it is refused with a clear answer."""
        if self.deliveries.tasks is None or self.session.state is not SessionState.OPEN:
            return
        tunnel = job.request.method == "CONNECT"
        exceeded = self._usage.begin(now=self._loop.time(), tunnel=tunnel)
        if exceeded is not None:
            _log.info("a limit was met", device=self.device, limit=exceeded.setting)
            failed = m.Failed(job.component, exceeded.status, str(exceeded), exceeded.retry)
            self.say(failed)
            return
        usage = self._usage
        self.deliveries.begin(job, lambda: usage.end(tunnel=tunnel))

    def _sweep(self, live: set[int]) -> None:
        self.tree.sweep(live)
        self.obedience.sweep(live)

    def _delivery_failed(self, component: int) -> None:
        self.outbox.drop(component)
        self.say(m.Failed(component, 502, "the remote proxy failed on this response"))

    # -- messages ------------------------------------------------------------------------------

    def _on_data(self, frame: Data) -> None:
        upload = self.deliveries.upload(frame.component)
        if upload is not None:
            upload.arrive(frame.payload, last=frame.last)

    def _on_hello(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Hello)
        self._usage = self._services.devices.of(self.device)
        self._services.origin.pools.hold(self.device)
        self._held = True
        self.refusals.begin(self._services.transcoders.refused(self.device))
        if message.patience:
            self._expect(message.patience)
        _log.info("session opened", device=self.device, agent=message.agent)

    def _on_request(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Request)
        component = message.component
        busy = component in self.deliveries or self.outbox.get(component) is not None
        self._ids.check(message, busy=busy)
        upload = None
        if message.has_body or message.method == "CONNECT":
            upload = Incoming(lambda more: self.say(m.Credit(component, more)), self._windows)
        if message.resume is not None and message.resume.level:
            self.obedience.want(component, message.resume.level)
        if component == message.document:
            way = (self._link.statistics().min_delay or 0.0) / 2  # so long ago it was said
            self.obedience.timely.opened(component, self._loop.time() - way)
        self.texts.named(message.document, message.dictionaries)
        job = Job.requested(message, headers, upload)
        self.start(self.promising.place(job, pictures=bool(message.takes & Takes.PLACE)))

    def _on_credit(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Credit)
        outgoing = self.outbox.get(message.component)
        if outgoing is not None:
            outgoing.grant(message.bytes)

    def _on_cancel(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Cancel)
        self._cancel(message.component)

    def _cancel(self, component: int) -> None:
        self.deliveries.cancel(component)
        self.obedience.forget(component)
        self.outbox.drop(component)
        self.tree.forget(component)

    def _on_reset(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Reset)
        upload = self.deliveries.upload(message.component)
        if upload is not None:
            upload.cut()

    def _on_close_document(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.CloseDocument)
        for component in self.deliveries.close_document(message.document):
            self._cancel(component)
        self.promising.close_document(message.document)
        self.texts.close_document(message.document)
        self.obedience.timely.left(message.document)
        self.tree.close_document(message.document)

    def _on_setting(self, message: m.Message, _: Headers) -> None:
        reason = self.obedience.obey(message, now=self._loop.time(), rate=self.rate)
        self._news.refused(self.session.commands, reason)
        self.budget.reconsider()

    def _on_fetch(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Fetch)
        running = message.component in self.deliveries
        missed = self.obedience.fetch(
            message,
            running=running,
            now=self._loop.time(),
            rate=self._link_rate.promised,
            latency=self._fitting.latency(self.rate),
        )
        if missed is not None and not message.goes_on:
            self.say(expired(missed))
        self.budget.reconsider()

    def _on_hold(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Hold)
        self.obedience.hold(message, running=message.component in self.deliveries)

    def _on_growing(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Growing)
        self.tree.grow(message.document)

    def _on_ping(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Ping)
        self.say(m.Pong(message.token))

    def _on_goodbye(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Goodbye)
        self._link.close()
