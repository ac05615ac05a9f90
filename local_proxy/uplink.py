"""Keeps a session with the remote proxy: connects, and connects again with back-off.

Starting either proxy first works. Whoever needs a session waits for one, for as long as his own
patience lasts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from local_proxy.components import Component, ComponentFailed
from local_proxy.resumption import LOST, Memory
from local_proxy.session import Listener, LocalSession
from transport.lasting import forbids
from transport.link import Link, LinkError
from wire.frames import MAX_COMPONENT

BACKOFF: Final = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts; the last one repeats. Short at first: a remote that restarts is back
within a second; a link that is down for minutes costs one packet in eight seconds."""
DISTRUST: Final = 60.0
"""Seconds between attempts once one end has said that it does not know the other: only people can
change that, and a remote that is asked without pause may take us for an attacker."""
OPENING: Final = 20.0
"""Seconds for the remote's Hello after connecting: several round trips of the slowest link."""
RENUMBER: Final = (MAX_COMPONENT + 1) // 2
"""Component ids from which a new session begins at 1 again: those pages are long gone."""
FIRST_BEAT: Final = 4.0
"""Seconds of silence, while something is expected, before the peer is asked for a sign of life."""
LAST_BEAT: Final = 300.0
"""Seconds between signs of life of an idle link: a ping, its answer, their reports and TCP's and
IP's headers are 260 bytes, under 1 B/s; NATs forget a connection after longer silence."""
ANSWER: Final = 64
"""Bytes that the answer to a ping may have brought, with reports: no progress."""
_log = structlog.get_logger("sluice.local")

Connect = Callable[[], Awaitable[Link]]


@dataclass(frozen=True, slots=True)
class UplinkState:
    """A snapshot for the status page and the error page."""

    connected: bool
    remote: str
    since: float
    """When the present state began, the loop's clock."""
    attempts: int
    """Failed ones since the last session."""
    reason: str
    """Why there is no session; empty while there is one."""
    was_up: bool
    """There has been a session since the start."""


class Heartbeat:
    """When to ask the peer for a sign of life. Pure."""

    def __init__(self) -> None:
        self._received = -1
        self._interval = FIRST_BEAT
        self._at = 0.0

    def due(self, now: float, *, received: int, expecting: bool) -> bool:
        """Whether to ask now; `received`: bytes in all, `expecting`: a response is under way."""
        if received - self._received > ANSWER or self._received < 0:
            self._received, self._at, self._interval = received, now, FIRST_BEAT
            return False
        interval = self._interval if expecting else LAST_BEAT
        if now - self._at < interval:
            return False
        self._received, self._at = received, now
        self._interval = min(2 * self._interval, LAST_BEAT)
        return True


class Uplink:
    """Holds at most one session at a time."""

    def __init__(
        self,
        connect: Connect,
        listener: Listener,
        *,
        remote: str,
        device: str,
        patience: float = 0.0,
        accepts: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`patience`: seconds that what was under way waits for another session.

        `accepts`: codings that this side can undo, asked at each new session.
        """
        self._accepts = accepts
        self._patience = patience
        self._memory = Memory()
        self._expiry: asyncio.TimerHandle | None = None
        """When orphans are given up."""
        self._connect = connect
        self._listener = listener
        self._remote = remote
        self._device = device
        self._session: LocalSession | None = None
        self._opened = asyncio.Event()
        self._changed = asyncio.Event()
        """Set for a moment whenever the link has come or gone."""
        self._since = asyncio.get_running_loop().time()
        self._attempts = 0
        self._reason = "not connected yet"
        self._hurry = asyncio.Event()
        self._session_before: LocalSession | None = None
        """The latest session, over or not: the next one goes on counting."""
        self._waiting = 0
        """Requests that wait for a session."""
        self._was_up = False
        self._distrusted = False
        """The latest attempt failed for want of trust."""

    @property
    def session(self) -> LocalSession | None:
        """The open session, if there is one."""
        session = self._session
        return session if session is not None and session.open else None

    @property
    def connected(self) -> bool:
        """Whether there is a session, and something carries its bytes now."""
        session = self.session
        return session is not None and session.link.statistics().connected

    def link_changed(self, error: LinkError | None) -> None:
        """The session's link has lost its connection, and why; None: it has another."""
        self._since = asyncio.get_running_loop().time()
        self._reason = str(error) if error is not None else ""
        self._pulse()

    def _pulse(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait_connected(self, patience: float) -> bool:
        """Whether bytes can cross, waiting up to `patience` seconds for that."""
        self._hurry.set()
        self._waiting += 1
        try:
            async with asyncio.timeout(patience):
                while not self.connected:
                    await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    def state(self) -> UplinkState:
        """How the link is."""
        connected = self.connected
        return UplinkState(
            connected,
            self._remote,
            self._since,
            self._attempts,
            "" if connected else self._reason,
            self._was_up,
        )

    def opened(self) -> None:
        """The session's Hello has come."""
        self._since = asyncio.get_running_loop().time()
        self._attempts = 0
        self._was_up = True
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self._session is not None:
            self._session.take_over()
        self._opened.set()
        self._pulse()

    def abandon(self, component: Component) -> None:
        """Nobody wants it any more, whether a session is bringing it or none."""
        session = self.session
        if session is not None:
            session.cancel(component)
        else:
            self._memory.forget(component)

    def close_document(self, document: int) -> None:
        """The document's window is gone."""
        session = self.session
        if session is not None:
            session.close_document(document)
        else:
            self._memory.close_document(document)

    async def wait_session(self, patience: float) -> LocalSession | None:
        """The session, waiting up to `patience` seconds for one; None if there is still none."""
        self._hurry.set()
        self._waiting += 1
        try:
            async with asyncio.timeout(patience):
                while self.session is None:
                    self._opened.clear()  # it speaks of a session that has just ended
                    await self._opened.wait()
        except TimeoutError:
            return None
        finally:
            self._waiting -= 1
        return self.session

    def hurry(self) -> None:
        """The network has changed: whoever dials shall do it now."""
        self._hurry.set()

    async def keep_alive(self) -> None:
        """Have the peer answer now and then, so that a dead link is found out; until cancelled.

        Soon while something is expected and does not come, then less and less often.
        """
        loop = asyncio.get_running_loop()
        heart = Heartbeat()
        while True:
            await asyncio.sleep(1.0)
            session = self.session
            if session is None or not self.connected:
                continue
            received = session.link.statistics().received
            if heart.due(loop.time(), received=received, expecting=session.expecting):
                session.ping()

    async def run(self) -> None:
        """Connect, serve until the link closes, connect again; until cancelled."""
        while True:
            try:
                await self._once()
            except asyncio.CancelledError:
                self._give_up()
                raise
            self._session = None
            self._wait_for_another()
            self._opened.clear()
            self._since = asyncio.get_running_loop().time()
            delay = BACKOFF[min(self._attempts, len(BACKOFF) - 1)]
            self._attempts += 1
            if not self._waiting:
                self._hurry.clear()
            if self._distrusted:  # whoever waits is told the reason instead
                await asyncio.sleep(DISTRUST)
                continue
            try:
                # Somebody who waits for a page may not wait out a long back-off.
                async with asyncio.timeout(delay):
                    await self._hurry.wait()
                await asyncio.sleep(min(delay, BACKOFF[1]))
            except TimeoutError:
                pass

    def _wait_for_another(self) -> None:
        """What was under way has this long until its readers are told."""
        if self._memory.orphans and self._expiry is None:
            loop = asyncio.get_running_loop()
            self._expiry = loop.call_later(self._patience, self._give_up)

    def _give_up(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        for orphan in self._memory.take():
            orphan.component.fail(ComponentFailed(504, LOST))

    async def _once(self) -> None:
        """One connection, from dialling to its end."""
        self._distrusted = False
        try:
            link = await self._connect()
        except (LinkError, OSError) as error:
            self._distrusted = forbids(error)
            if str(error) != self._reason:
                _log.warning("no link to the remote proxy", remote=self._remote, error=str(error))
            self._reason = str(error)
            return
        before = self._session_before
        first = before.session.next_component if before is not None else 1
        if max(first, self._memory.next_promise) >= RENUMBER:
            self._give_up()
            self._memory, first = Memory(), 1
        session = LocalSession(
            link,
            self._listener,
            self._memory,
            device=self._device,
            first_id=first,
            accepts=self._accepts(),
            patience=self._patience,
        )
        self._session_before = session
        self._session = session
        session.start()
        try:
            async with asyncio.timeout(OPENING):
                await self._hello_or_end(session)
            error_or_none = await asyncio.shield(session.closed)
            self._distrusted = forbids(error_or_none)
            self._reason = str(error_or_none) if error_or_none else "the link was closed"
            _log.warning("the link was lost", remote=self._remote, reason=self._reason)
        except TimeoutError:
            self._reason = f"{self._remote} accepted the connection but did not answer"
            session.close()
        except asyncio.CancelledError:
            session.close()
            raise

    async def _hello_or_end(self, session: LocalSession) -> None:
        opened = asyncio.ensure_future(self._opened.wait())
        try:
            # Not by cancelling one for the other: our own cancellation would look the same.
            await asyncio.wait((opened, session.closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
