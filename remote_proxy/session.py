"""One device's session: messages of the local proxy in, components out.

Coordinates and nothing more: the tree orders (tree.py), deliveries fetch and adapt (delivery.py),
the downlink sends (downlink.py). One task per delivery, all in one group that ends with the link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

import structlog

from hats.errors import HatsError, SchedulerError
from policies.plan import PlanError, Subject
from remote_proxy.delivery import Delivery, Services
from remote_proxy.importing import HTML_TYPES, DocumentImport, Importer
from remote_proxy.jobs import Job
from remote_proxy.origin import OriginResponse
from remote_proxy.plan import Plan
from remote_proxy.prefetch import Document, Prefetch
from remote_proxy.tree import Tree
from transport.incoming import Incoming
from transport.link import Link, LinkError
from transport.outbox import TreeOutbox
from transport.outgoing import Budget
from wire import messages as m
from wire.errors import PeerError, WireError
from wire.frames import Control, Data
from wire.session import Headers, Session, Side, State, header
from wire.skeleton import Kind, Use

AGENT: Final = "sluice"
CONFIDENT: Final = 0.5
"""Confidence from which an estimate of the link counts. Two small messages that a relay passed on
together look like a link of gigabits, and a quantum fitted to that is seconds of a slow one."""
MAX_DELIVERIES: Final = 1024
"""Components under way for one device; further requests are answered 503."""
MAX_SKELETON: Final = 32_768
"""Bytes of parts in one Skeleton message: half a frame, the shared headers have the rest."""
MAX_SHARED: Final = 16_384
"""Bytes of request headers that promises share; with more of them nothing is promised."""
PART: Final = 48
"""Bytes of a part besides its URL, generously."""
MAX_PARTS: Final = 1 << 20
"""Of one document, far above what is ever promised: the distance between two tiers."""
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
    documents: int = field(default=0)


class RemoteSession:
    """The remote side of one link. `run` returns when the link has closed."""

    def __init__(
        self,
        link: Link,
        services: Services,
        *,
        quantum: int,
        suggested_quantum: Callable[[float], int],
        memory: int,
    ) -> None:
        self._link = link
        self._services = services
        self._suggested_quantum = suggested_quantum
        self._fixed_quantum = 0
        self.session = Session(Side.REMOTE, agent=AGENT)
        self.tree = Tree(quantum=quantum)
        self.plan = Plan()
        self.budget = Budget(memory)
        self.outbox = TreeOutbox(
            self.session,
            self.tree.hierarchy,
            self.tree.multiplexer,
            self.budget,
            wake=link.wake,
        )
        self._running: dict[int, _Running] = {}
        self._started = 0
        self._subjects: dict[int, Subject] = {}
        """What the plan can ask about each component that has entered the tree."""
        self._fetched: set[int] = set()
        """Components that a policy wants whatever the plan says."""
        self._last_request = 0
        self._documents: dict[int, set[int]] = {}
        self._closed: asyncio.Future[LinkError | None] = asyncio.get_running_loop().create_future()
        self._tasks: asyncio.TaskGroup | None = None
        self._imports: dict[int, DocumentImport] = {}
        self._handlers: dict[type[m.Message], Callable[[m.Message, Headers], None]] = {
            m.Hello: self._on_hello,
            m.Request: self._on_request,
            m.Credit: self._on_credit,
            m.Cancel: self._on_cancel,
            m.Reset: self._on_reset,
            m.CloseDocument: self._on_close_document,
            m.SetScheduler: self._on_set_scheduler,
            m.SetWeight: self._on_set_weight,
            m.SetQuantum: self._on_set_quantum,
            m.SetPlan: self._on_set_plan,
            m.Fetch: self._on_fetch,
            m.Raise: self._on_raise,
            m.Hold: self._on_hold,
            m.Ping: self._on_ping,
            m.Pong: self._ignore,
            m.Goodbye: self._on_goodbye,
        }

    async def run(self) -> None:
        """Serve until the link closes."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._link.start(self.outbox, self)
            fitting = tasks.create_task(self._fit_quantum())
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
        _log.info("session ended", reason=str(error) if error else "closed")

    def statistics(self) -> SessionStatistics:
        """Counts for logs and tests."""
        return SessionStatistics(
            device=self.session.peer.device if self.session.peer else "",
            deliveries=len(self._running),
            held=self.budget.used,
            payload_sent=self.outbox.payload_sent,
            documents=len(self._documents),
        )

    # -- transport.link.Inbox ----------------------------------------------------------------

    def frames_received(self, frames: Sequence[Data | Control], *, now: float) -> None:
        """Frames of the local proxy. A peer that breaks the protocol loses the link."""
        try:
            for frame in frames:
                if isinstance(frame, Data):
                    self._on_data(frame)
                else:
                    message, headers = self.session.receive(frame.payload)
                    self._handlers[type(message)](message, headers)
        except WireError as error:
            _log.warning("the local proxy broke the protocol", error=str(error))
            self._link.close(LinkError(str(error)))
        self._link.wake()

    def link_closed(self, error: LinkError | None) -> None:
        """The link is gone; `run` ends."""
        if not self._closed.done():
            self._closed.set_result(error)

    # -- what a delivery needs of its session --------------------------------------------------

    @property
    def rate(self) -> float | None:
        """Bytes/second of the link; None: not measured yet."""
        estimate = self._link.statistics().outgoing
        if estimate is None or estimate.confidence < CONFIDENT:
            return None
        return estimate.rate

    def say(self, message: m.Message, headers: Headers | None = None) -> None:
        """Queue a control message."""
        self.session.enqueue(message, headers)
        self._link.wake()

    def start(self, job: Job) -> None:
        """Begin a delivery; beyond the limit it is refused with a clear answer."""
        if self._tasks is None or self.session.state is not State.OPEN:
            return
        if len(self._running) >= MAX_DELIVERIES:
            self.say(m.Failed(job.component, 503, "too many requests are under way"))
            return
        self._started += 1
        if self._started % SWEEP == 0:
            self._sweep()
        self._documents.setdefault(job.document, set()).add(job.component)
        delivery = Delivery(job, self, self._services)
        task = self._tasks.create_task(self._deliver(delivery))
        self._running[job.component] = _Running(task, job.document, job.upload)

    def _sweep(self) -> None:
        """Forget what was delivered, in documents that never close too."""
        live = self._running.keys() | {sent.component for sent in self.outbox.components()}
        self.tree.sweep(live)
        self._subjects = {id_: what for id_, what in self._subjects.items() if id_ in live}
        self._fetched &= live
        for components in self._documents.values():
            components.intersection_update(live)

    def entered(self, job: Job, kind: Kind) -> None:
        """A component is about to enter the tree as what it turned out to be."""
        subject = Subject(component=job.component, document=job.document, kind=kind, use=job.use)
        self._subjects[job.component] = subject
        self._hold_by_plan(subject)

    def place(self, job: Job, kind: Kind) -> int:
        """Its place among its siblings: by the plan's tiers, then in document order."""
        subject = Subject(component=job.component, document=job.document, kind=kind, use=job.use)
        return self.plan.decide_on(subject).tier * MAX_PARTS + job.order

    def _hold_by_plan(self, subject: Subject) -> None:
        """Send it or not, as the plan has it; a Fetch overrules the plan."""
        held = (
            self.plan.decide_on(subject).level == "none" and subject.component not in self._fetched
        )
        self.tree.hold(subject.component, on=held, why="plan")

    def importer(self, job: Job, response: OriginResponse) -> Importer | None:
        """Who reads a text for sub-resources: pages and the style sheets of documents."""
        if job.method != "GET" or response.status != 200:
            return None
        content_type = header(response.headers, "content-type")
        essence = content_type.partition(";")[0].strip().lower()
        if job.use is Use.DOCUMENT and essence in HTML_TYPES:
            imports = DocumentImport(
                Document(job.url, job.headers, response.headers),
                lambda wanted: self._promise(job.document, wanted),
            )
            self._imports.setdefault(job.document, imports)
            return imports.page()
        known = self._imports.get(job.document)
        if known is not None and essence == "text/css":
            return known.sheet(job.url, content_type=content_type)
        return None

    def _promise(self, document: int, wanted: list[Prefetch]) -> None:
        """Fetch without being asked, and tell the local proxy before the first byte."""
        jobs = [
            Job.prefetch(one, component=self.session.new_component(), document=document)
            for one in wanted
            if self._pushes(document, one)
        ]
        for headers, same in groupby(jobs, key=lambda job: job.headers):
            if sum(len(name) + len(value) for name, value in headers) > MAX_SHARED:
                continue
            self._promise_alike(document, list(same), list(headers))

    def _promise_alike(self, document: int, jobs: list[Job], headers: Headers) -> None:
        """Promises that share their request headers, in messages that fit a frame."""
        for batch in _batches(jobs):
            self.say(m.Skeleton(document, [job.part for job in batch], True), headers)
            for job in batch:
                kind = job.kind or Kind.OTHER
                self.entered(job, kind)
                order = self.place(job, kind)
                self.tree.promise(document, job.component, kind=kind.value, order=order)
                self.start(job)

    def _pushes(self, document: int, prefetch: Prefetch) -> bool:
        """Whether the plan lets it come unasked. Component 0: it has no number yet."""
        found = prefetch.found
        return self.plan.decide(0, document, found.kind, found.use).fetch == "push"

    async def _deliver(self, delivery: Delivery) -> None:
        component = delivery.job.component
        try:
            await delivery.run()
        except Exception:  # one delivery must not end the session
            _log.exception("delivery failed", url=delivery.job.url)
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
        _log.info("session opened", device=message.device, agent=message.agent)

    def _on_request(self, message: m.Message, headers: Headers) -> None:
        assert isinstance(message, m.Request)
        component = message.component
        if component <= self._last_request or component % 2 == 0:
            raise PeerError(f"component {component} is not a new one of the local side")
        self._last_request = component
        upload = None
        if message.body or message.method == "CONNECT":
            upload = Incoming(lambda more: self.say(m.Credit(component, more)))
        self.start(Job.requested(message, headers, upload))

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
        self._subjects.pop(component, None)
        self._fetched.discard(component)
        self.outbox.drop(component)
        self.tree.forget(component)

    def _on_reset(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Reset)
        running = self._running.get(message.component)
        if running is not None and running.upload is not None:
            running.upload.cut()

    def _on_close_document(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.CloseDocument)
        for component in self._documents.pop(message.document, set()):
            self._cancel(component)
        self._imports.pop(message.document, None)
        self.tree.close_document(message.document)

    def _on_set_scheduler(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.SetScheduler)
        path, name, params = tuple(message.path), message.name, message.params
        self._obey(lambda: self.tree.set_scheduler(path, name, params))

    def _on_set_weight(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.SetWeight)
        self._obey(lambda: self.tree.set_weight(tuple(message.path), message.weight))

    def _on_set_quantum(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.SetQuantum)
        self._obey(lambda: self._set_quantum(tuple(message.path), message.quantum))

    def _set_quantum(self, path: tuple[str, ...], quantum: int) -> None:
        if quantum and not 64 <= quantum <= 16384:
            raise SchedulerError(f"quantum of {quantum} bytes: must be 64 to 16384, or 0")
        if path:
            self.tree.set_quantum(path, quantum)
            return
        self._fixed_quantum = quantum
        if quantum:
            self.tree.multiplexer.quantum = quantum

    def _on_set_plan(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.SetPlan)
        self._obey(lambda: self.plan.replace(message.rules))
        for subject in self._subjects.values():
            self._hold_by_plan(subject)

    def _on_fetch(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Fetch)
        if message.component in self._subjects or message.component in self._running:
            self._fetched.add(message.component)
            for why in ("command", "plan"):
                self.tree.hold(message.component, on=False, why=why)
        self.tree.set_priority(message.component, message.urgency)

    def _on_raise(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Raise)
        self.tree.set_priority(message.component, message.urgency)

    def _on_hold(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Hold)
        if message.component in self._subjects or message.component in self._running:
            self.tree.hold(message.component, on=message.on)

    def _on_ping(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Ping)
        self.say(m.Pong(message.token))

    def _on_goodbye(self, message: m.Message, _: Headers) -> None:
        assert isinstance(message, m.Goodbye)
        self._link.close()

    def _ignore(self, message: m.Message, _: Headers) -> None:
        pass

    def _obey(self, command: Callable[[], None]) -> None:
        """Carry a policy's command out; a bad one is logged and changes nothing."""
        try:
            command()
        except (HatsError, PlanError) as error:
            _log.warning("a policy command was refused", error=str(error))

    # -- the quantum -----------------------------------------------------------------------------

    async def _fit_quantum(self) -> None:
        """Keep the quantum fitted to the link, and tell dynamic schedulers of its rate."""
        while True:
            await asyncio.sleep(0.25)
            rate = self.rate
            if rate is None:
                continue
            self.tree.hierarchy.bandwidth_changed(rate)
            if not self._fixed_quantum:
                self.tree.multiplexer.quantum = self._suggested_quantum(rate)


def _batches(jobs: list[Job]) -> Iterator[list[Job]]:
    """The jobs in order, cut where their URLs would fill a Skeleton message."""
    batch: list[Job] = []
    size = 0
    for job in jobs:
        size += len(job.url) + PART
        if batch and size > MAX_SKELETON:
            yield batch
            batch, size = [], len(job.url) + PART
        batch.append(job)
    yield batch
