"""One device's session: messages of the local proxy in, components out.

Coordinates and nothing more: the tree orders (tree.py), deliveries fetch and adapt (delivery.py),
policies are obeyed (commands.py), documents' parts promised (promise.py), the outbox sends
(transport/sending/outbox.py). One task per delivery, all in one group that ends with the link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

import structlog

from monitor.announcements import Announcements
from remote_proxy.documents.packages import Packaging
from remote_proxy.jobs.delivery import Delivery
from remote_proxy.jobs.economy import Economy
from remote_proxy.jobs.held_pictures import Gathered
from remote_proxy.jobs.job import Job
from remote_proxy.jobs.link_fit import Fitting
from remote_proxy.jobs.link_rate import CONFIDENT, LinkRate
from remote_proxy.jobs.refusals import Refusals
from remote_proxy.jobs.services import Services
from remote_proxy.promises.promise import Promising
from remote_proxy.reach.failures import Failure, OriginError
from remote_proxy.reach.limits import UsageStatistics
from scheduling.commands import SETTINGS, Obedience
from scheduling.plan import Plan
from scheduling.tree import Tree
from transport.link.interface import Link, LinkError, PeerFault
from transport.link.records import ProvenPeer
from transport.sending.incoming import Incoming
from transport.sending.outbox import TreeOutbox
from transport.sending.outgoing import Budget
from wire import messages as m
from wire.errors import NoCommonVersion, PeerError, WireError
from wire.fields import Headers
from wire.frames import Control, Data
from wire.session import Session, SessionState, Side

AGENT: Final = "sluice"
SWEEP: Final = 32
"""Deliveries begun between two looks for what can be forgotten."""
_log = structlog.get_logger("sluice.remote")


@dataclass(slots=True)
class _Running:
    """A delivery under way."""

    task: asyncio.Task[None]
    document: int
    upload: Incoming | None = None


@dataclass(slots=True)
class SessionStatistics:
    """A snapshot for logs and tests."""

    device: str
    deliveries: int
    held: int
    payload_sent: int
    usage: UsageStatistics
    documents: int = field(default=0)
    refused: Mapping[str, int] = field(default_factory=dict)
    """What there was no room or time for (transcoders.make.registry.Transcoders.refused)."""
    pictures: Mapping[str, int] = field(default_factory=dict)
    """By what decided whether they were adapted (economy.py)."""


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
        self.session = Session(Side.REMOTE, agent=AGENT, accepts=(m.GROWING,))
        self.tree = Tree(quantum=quantum)
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
        )
        self.budget = Budget(memory)
        self.outbox = TreeOutbox(
            self.session,
            self.tree.hierarchy,
            self.tree.multiplexer,
            self.budget,
            wake=self._wake,
        )
        self._loop = asyncio.get_running_loop()
        self._link_rate = LinkRate(link, self._loop.time)
        self._fitting = Fitting(
            link,
            self.tree,
            self.obedience,
            self.outbox,
            rate=lambda: self.rate,
            say=self.say,
        )
        self._announcements = Announcements()
        self._usage = services.devices.of("")
        self.packaging = Packaging(self, services.origin, services.transcoders, services.reading)
        self.refusals = Refusals()
        self.gathered = Gathered(memory)
        self.economy = Economy(worth=services.worth)
        self._held = False
        self._running: dict[int, _Running] = {}
        self._started = 0
        self._last_request = 0
        self.documents: dict[int, set[int]] = {}
        """Components by their documents."""
        self._closed: asyncio.Future[LinkError | None] = self._loop.create_future()
        self._tasks: asyncio.TaskGroup | None = None
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
        return self._tasks is None or self._link.statistics().connected

    async def run(self) -> None:
        """Serve until the link closes."""
        try:
            await self._serve()
        finally:
            if self._held:
                await self._services.origin.pools.release(self.device)

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._link.start(self.outbox, self)
            fitting = tasks.create_task(self._fitting.run(self._tell))
            try:
                error = await asyncio.shield(self._closed)
            finally:
                self._link.close()
            self.session.link_lost()
            fitting.cancel()
            for running in list(self._running.values()):
                running.task.cancel()
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
            deliveries=len(self._running),
            held=self.budget.used,
            payload_sent=self.outbox.payload_sent,
            usage=self._usage.statistics(now=self._loop.time()),
            documents=len(self.documents),
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
        self.documents.setdefault(document, set()).add(component)

    def start(self, job: Job) -> None:
        """Begin a delivery; beyond the device's limits it is refused with a clear answer."""
        if self._tasks is None or self.session.state is not SessionState.OPEN:
            return
        tunnel = job.request.method == "CONNECT"
        exceeded = self._usage.begin(now=self._loop.time(), tunnel=tunnel)
        if exceeded is not None:
            _log.info("a limit was met", device=self.device, limit=exceeded.setting)
            failed = m.Failed(job.component, exceeded.status, str(exceeded), exceeded.retry)
            self.say(failed)
            return
        self._started += 1
        if self._started % SWEEP == 0:
            self._sweep()
        self.documents.setdefault(job.document, set()).add(job.component)
        delivery = Delivery(job, self, self._services)
        task = self._tasks.create_task(self._deliver(delivery))
        usage = self._usage
        task.add_done_callback(lambda _: usage.end(tunnel=tunnel))
        self._running[job.component] = _Running(task, job.document, job.upload)

    def _sweep(self) -> None:
        """Forget what was delivered, in documents that never close too."""
        live = self._running.keys() | {sent.component for sent in self.outbox.components()}
        self.tree.sweep(live)
        self.obedience.sweep(live)
        for components in self.documents.values():
            components.intersection_update(live)

    async def _deliver(self, delivery: Delivery) -> None:
        component = delivery.job.component
        try:
            await delivery.run()
        except Exception:  # one delivery must not end the session
            _log.exception("delivery failed", url=delivery.job.request.url)
            self.outbox.drop(component)
            self.say(m.Failed(component, 502, "the remote proxy failed on this response"))
        finally:
            self._running.pop(component, None)

    # -- messages ------------------------------------------------------------------------------

    def _on_data(self, frame: Data) -> None:
        running = self._running.get(frame.component)
        if running is not None and running.upload is not None:
            running.upload.arrive(frame.payload, last=frame.last)

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
        self._check_new(component, message)
        upload = None
        if message.has_body or message.method == "CONNECT":
            upload = Incoming(lambda more: self.say(m.Credit(component, more)))
        self.start(Job.requested(message, headers, upload))

    def _check_new(self, component: int, message: m.Request) -> None:
        """Raises PeerError unless the id is a new one of the local side, or an old promise's."""
        promise = message.resume is not None and message.resume.part is not None
        first = self.session.peer.first_promise if self.session.peer is not None else 0
        if promise and component % 2 == 0 and component < first:
            if component not in self._running and self.outbox.get(component) is None:
                return
        elif component > self._last_request and component % 2 and not promise:
            self._last_request = component
            return
        raise PeerError(f"component {component} is not a new one of the local side")

    def _on_credit(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Credit)
        outgoing = self.outbox.get(message.component)
        if outgoing is not None:
            outgoing.grant(message.bytes)

    def _on_cancel(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Cancel)
        self._cancel(message.component)

    def _cancel(self, component: int) -> None:
        running = self._running.pop(component, None)
        if running is not None:
            running.task.cancel()
        self.obedience.forget(component)
        self.outbox.drop(component)
        self.tree.forget(component)

    def _on_reset(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Reset)
        running = self._running.get(message.component)
        if running is not None and running.upload is not None:
            running.upload.cut()

    def _on_close_document(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.CloseDocument)
        for component in self.documents.pop(message.document, set()):
            self._cancel(component)
        self.promising.close_document(message.document)
        self.tree.close_document(message.document)

    def _on_setting(self, message: m.Message, _: Headers) -> None:
        self.obedience.obey(message)

    def _on_fetch(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Fetch)
        running = message.component in self._running
        self.obedience.fetch(message, running=running, now=self._loop.time())

    def _on_hold(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Hold)
        self.obedience.hold(message, running=message.component in self._running)

    def _on_growing(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Growing)
        self.tree.grow(message.document)

    def _on_ping(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Ping)
        self.say(m.Pong(message.token))

    def _on_goodbye(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Goodbye)
        self._link.close()

    def _tell(self) -> None:
        """What the device's people may want to know."""
        self._tell_refusals()
        self._tell_bandwidth()
        if not self.accepts(m.DECISIONS):
            return
        counts = self.economy.news(self._loop.time())
        if counts is not None:
            self.say(m.Decisions(dict(counts)))
        elif self.economy.untold:
            self._fitting.activity.happened()  # there will be another look

    def _tell_bandwidth(self) -> None:
        """What the device's policies go by: only this end knows what its gate has found."""
        estimate = self._link.statistics().outgoing
        if estimate is None or estimate.confidence < CONFIDENT or not self.accepts(m.BANDWIDTH):
            return
        due = self._announcements.due(estimate, self._loop.time())
        if due is not None:
            self.say(m.Carries(round(due.rate), round(100 * due.confidence)))
        elif self._announcements.untold(estimate):
            self._fitting.activity.happened()  # there will be another look

    def _tell_refusals(self) -> None:
        refused = self._services.transcoders.refused(self.device)
        news = self.refusals.news(refused, now=self._loop.time())
        if not news:
            return
        _log.warning("a device was refused", device=self.device, what=news)
        if self.accepts(m.NOTICES):
            self.say(m.Notice(news))
