"""The deliveries of one session that are under way: begun, counted, cancelled, forgotten.

One task per delivery, in a group that ends with the link. Must not know what a delivery does, or
how messages come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Protocol

import structlog

from remote_proxy.jobs.job import Job
from transport.sending.incoming import Incoming

SWEEP: Final = 32
"""Deliveries begun between two looks for what can be forgotten."""
_log = structlog.get_logger("sluice.remote")


class Work(Protocol):
    """What brings one component."""

    async def run(self) -> None:
        """Until it has gone to the outbox, or can't."""


@dataclass(slots=True)
class _Running:
    """A delivery under way."""

    task: asyncio.Task[None]
    upload: Incoming | None


class Deliveries:
    """A session knows them by component, and by document."""

    def __init__(
        self,
        make: Callable[[Job], Work],
        *,
        failed: Callable[[int], None],
        sweep: Callable[[set[int]], None],
        sending: Callable[[], Collection[int]],
    ) -> None:
        """`make`: what brings a job's component; `failed`: a component's delivery did, which is a
        defect; `sweep` is told now and then which components live; `sending`: those that have been
        fetched and are not sent yet."""
        self._make = make
        self._failed = failed
        self._sweep = sweep
        self._sending = sending
        self._running: dict[int, _Running] = {}
        self._documents: dict[int, set[int]] = {}
        """Components by their documents."""
        self._begun = 0
        self.tasks: asyncio.TaskGroup | None = None
        """In which deliveries run; None: none can."""

    def __contains__(self, component: int) -> bool:
        return component in self._running

    def __len__(self) -> int:
        return len(self._running)

    @property
    def documents(self) -> dict[int, int]:
        """How many components of each open document are remembered."""
        return {document: len(components) for document, components in self._documents.items()}

    def begin(self, job: Job, ended: Callable[[], None]) -> None:
        """`ended` is called when the delivery has, however it did."""
        assert self.tasks is not None
        self._begun += 1
        if self._begun % SWEEP == 0:
            self._forget_delivered()
        self.adopt(job.document, job.component)
        task = self.tasks.create_task(self._run(job.component, self._make(job), job.request.url))
        task.add_done_callback(lambda _: ended())
        self._running[job.component] = _Running(task, job.upload)

    def adopt(self, document: int, component: int) -> None:
        """A part that has no delivery of its own leaves with its document."""
        self._documents.setdefault(document, set()).add(component)

    def upload(self, component: int) -> Incoming | None:
        """Where the body of its request goes, while it is under way and has one."""
        running = self._running.get(component)
        return running.upload if running is not None else None

    def cancel(self, component: int) -> None:
        """Nobody wants it any more."""
        running = self._running.pop(component, None)
        if running is not None:
            running.task.cancel()

    def close_document(self, document: int) -> set[int]:
        """Forget it; the components that it had."""
        return self._documents.pop(document, set())

    def cancel_all(self) -> None:
        """The link has gone."""
        for running in list(self._running.values()):
            running.task.cancel()

    def _forget_delivered(self) -> None:
        """In documents that never close, too."""
        live = {*self._running, *self._sending()}
        self._sweep(live)
        for components in self._documents.values():
            components.intersection_update(live)

    async def _run(self, component: int, work: Work, url: str) -> None:
        try:
            await work.run()
        except Exception:  # one delivery must not end the session
            _log.exception("delivery failed", url=url)
            self._failed(component)
        finally:
            self._running.pop(component, None)
