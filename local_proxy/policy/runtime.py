"""Runs policies in a session: events in, commands out, and no policy can hurt the session.

Policies react in a thread of their own (worker.py), one event of one policy at a time, while
the loop goes on. What a reaction asks for is checked and sent as soon as it is there; nothing is
gathered up, so it changes the very next quantum. A policy that raises, answers nonsense or takes
longer than a second is switched off, what it set is undone, and the others go on; if none is left,
the default takes over. It is a second of processor time, for a machine that is busy with something
else is no fault of a policy's; one that waits for something has ten.

The thin edge: loop, thread, clock and log. All decisions are in policies/host/chain.py.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from local_proxy.policy.queue import TurnQueue
from local_proxy.policy.worker import Abandoned, PolicyWorker, Worker
from policies.api import Command, Event, Policy, SessionOpened, SessionView
from policies.api.plan import Rule
from policies.builtin.default import Default
from policies.host.chain import HostStep, PolicyHost, PolicySlot, PolicyTurn, react

WARN_AFTER: Final = 0.05
"""Seconds of a reaction: two frames of a fast screen, long before anybody notices."""
OFF_AFTER: Final = 1.0
"""Seconds of processor time of a reaction."""
STUCK: Final = 10
"""Times as long may pass in all, whoever has the processors."""
INTERRUPTS: Final = 10
"""Times that a reaction is told to end, before its thread is left to itself."""
MAX_WAITING: Final = 10_000
"""Turns that wait. More: the policy that has used most time can't keep up, and goes."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PolicyStatistics:
    """How one policy fares. An immutable snapshot."""

    name: str
    on: bool
    why_off: str
    reactions: int
    commands: int
    refused: int
    """Commands that could not be carried out."""
    slowest: float
    """Seconds of the longest reaction."""
    waiting: int
    """Events it has still to hear."""
    rules: tuple[Rule, ...] = ()
    """Of the plan in force, its own; where two speak of the same, the later policy's holds."""


class PolicyRuntime:
    """All policies of one session. Use it from the event loop's thread only."""

    def __init__(
        self,
        policies: Sequence[Policy],
        *,
        send: Callable[[Command], int | None],
        fallback: Callable[[], Policy] = Default,
        off_after: float = OFF_AFTER,
        warn_after: float = WARN_AFTER,
        worker: Callable[[], Worker] = PolicyWorker,
    ) -> None:
        """`send` gets each command for the remote proxy; it must neither block nor raise. It
        returns the command's number in the session, by which `refused` may name it; None: it has
        none.

        `worker` makes what policies react in: a thread, unless time is virtual.
        """
        self._host = PolicyHost(policies, fallback=fallback)
        self._send = send
        self._off_after, self._warn_after = off_after, warn_after
        self._queue = TurnQueue()
        self._loop = asyncio.get_running_loop()
        self._new_worker = worker
        self._worker = worker()
        self._under_way: PolicyTurn | None = None
        self._watchdog: asyncio.TimerHandle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._awaited: dict[asyncio.Future[None], int] = {}
        """Who waits until the turns up to a number have been taken."""
        self._closed = False

    def __repr__(self) -> str:
        on = [slot.name for slot in self._host.slots if slot.on]
        return f"<PolicyRuntime {'+'.join(on)}, {len(self._queue)} turns wait>"

    @property
    def view(self) -> SessionView:
        """What policies see now."""
        return self._host.view(now=self._loop.time())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The plan in effect, for what the local proxy itself decides by it."""
        return self._host.rules

    def hear(self, event: Event) -> None:
        """Something happened. Returns at once."""
        self._take(self._host.hear(event, now=self._loop.time()))

    def measured(
        self, rate: float, *, confidence: float = 1.0, available: float | None = None
    ) -> None:
        """The bandwidth estimate was renewed: bytes/second towards the device, and those of it that
        others leave."""
        self._take(self._host.measured(rate, confidence=confidence, available=available))

    def missed(
        self, component: int, *, level: str = "", within: float = 0.0, refused: bool = False
    ) -> None:
        """The remote proxy has suspended a fetch whose timer can't be kept, or `refused` it."""
        self._take(self._host.missed(component, level=level, within=within, refused=refused))

    def refused(self, number: int, reason: str) -> None:
        """The remote proxy can't carry out the command of that number."""
        self._take(self._host.refused(number, reason))

    def begin_again(self) -> None:
        """The remote proxy lost the session: send all that stands, then SessionOpened."""
        self._take(self._host.begin_again())
        self.hear(SessionOpened())

    def statistics(self) -> tuple[PolicyStatistics, ...]:
        """One snapshot each, in the order of the policies."""
        return tuple(
            PolicyStatistics(
                name=slot.name,
                on=slot.on,
                why_off=slot.why_off,
                reactions=slot.reactions,
                commands=slot.commands,
                refused=slot.refused,
                slowest=slot.slowest,
                waiting=self._queue.waiting_for(slot),
                rules=self._host.rules_of(slot),
            )
            for slot in self._host.slots
        )

    async def reacted(self) -> None:
        """Until every policy has reacted to all that it has heard so far, whatever else comes."""
        last = self._queue.latest
        if not self._closed and (self._under_way is not None or self._queue.done < last):
            waiting: asyncio.Future[None] = self._loop.create_future()
            self._awaited[waiting] = last
            try:
                await waiting
            finally:
                self._awaited.pop(waiting, None)

    async def idle(self) -> None:
        """Until no policy has anything to react to."""
        await self._idle.wait()

    def close(self) -> None:
        """Stop reacting. A reaction under way is abandoned."""
        self._closed = True
        for handle in (self._watchdog, self._timer):
            if handle is not None:
                handle.cancel()
        if self._under_way is not None:
            self._worker.abandon()
        else:
            self._worker.stop()
        self._under_way = None
        self._idle.set()
        for waiting in self._awaited:
            _wake(waiting)

    # -- one step after the other ------------------------------------------------------------

    def _take(self, step: HostStep) -> None:
        if self._closed:
            return
        for given in step.given:
            number = self._send(given.command)
            if number is not None:
                self._host.said(number, given)
        for refusal in step.refused:
            _log.warning("policy command refused", command=refusal)
        self._queue.put(step.turns)
        if len(self._queue) > MAX_WAITING:
            slowest = max((s for s in self._host.slots if s.on), key=lambda slot: slot.seconds)
            self._switch_off(slowest, f"can't keep up: {len(self._queue)} events wait")
        self._set_timer()
        self._next()

    def _next(self) -> None:
        """Hand the next turn to the thread, if it is free."""
        if self._under_way is not None or self._closed:
            return
        for waiting, last in self._awaited.items():
            if last <= self._queue.done:
                _wake(waiting)
        turn = self._queue.take()
        if turn is None:
            self._idle.set()
            return
        self._idle.clear()
        self._under_way = turn
        self._watch(turn, self._off_after, since=self._loop.time())
        self._worker.submit(partial(self._react, turn, self.view))

    def _react(self, turn: PolicyTurn, view: SessionView) -> None:
        """In the thread: let the policy react and report back."""
        start = self._loop.time()
        commands: list[Command] = []
        failure = ""
        try:
            commands = react(turn, view)
        except Abandoned:
            raise
        except BaseException as error:  # containment: whatever a policy raises, SystemExit too
            failure = "".join(traceback.format_exception(error))
        took = self._loop.time() - start
        try:
            self._loop.call_soon_threadsafe(self._done, turn, commands, failure, took)
        except RuntimeError:  # the loop was closed in the meantime
            return

    def _done(self, turn: PolicyTurn, commands: list[Command], failure: str, took: float) -> None:
        if turn is not self._under_way:
            return  # abandoned before it could answer
        self._free()
        slot = turn.slot
        if failure:
            last = failure.strip().rsplit("\n", 1)[-1]
            _log.error("policy failed", policy=slot.name, heard=repr(turn.event), trace=failure)
            self._switch_off(slot, last)
            return
        if took > self._warn_after:
            _log.warning("policy is slow", policy=slot.name, seconds=round(took, 3))
        now = self._loop.time()
        self._take(self._host.reacted(turn, commands, seconds=took, now=now))

    def _watch(self, turn: PolicyTurn, after: float, *, since: float) -> None:
        self._watchdog = self._loop.call_later(after, self._look, turn, since)

    def _look(self, turn: PolicyTurn, since: float) -> None:
        """Whether it has had its time; else look again when it can have had it."""
        if turn is not self._under_way:
            return
        left = self._off_after - self._worker.spent()
        patience = since + STUCK * self._off_after - self._loop.time()
        if left <= 0 or patience <= 0:
            self._overdue(turn)
        else:
            self._watch(turn, min(left, patience), since=since)

    def _overdue(self, turn: PolicyTurn) -> None:
        self._interrupt(self._worker, INTERRUPTS)
        self._worker = self._new_worker()
        self._free()
        event = type(turn.event).__name__
        self._switch_off(turn.slot, f"took more than {self._off_after:g} s over {event}")

    def _interrupt(self, worker: Worker, times: int) -> None:
        """Again, should it not have ended: its thread would spin for ever."""
        if worker.abandon() and times > 1:
            self._loop.call_later(self._off_after, self._interrupt, worker, times - 1)

    def _free(self) -> None:
        self._under_way = None
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def _switch_off(self, slot: PolicySlot, reason: str) -> None:
        _log.error("policy switched off", policy=slot.name, reason=reason)
        self._queue.drop(slot)
        self._take(self._host.failed(slot, reason))

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        at = self._host.next_timer()
        if at is not None:
            self._timer = self._loop.call_at(at, self._expired)

    def _expired(self) -> None:
        self._timer = None
        self._take(self._host.expired(now=self._loop.time()))


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
