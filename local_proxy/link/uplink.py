"""Keeps a session with the remote proxy: connects, and connects again with back-off.

Starting either proxy first works. Whoever needs a session waits for one, for as long as his own
patience lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import structlog

from local_proxy.link.components import Component, ComponentFailed
from local_proxy.link.dictionaries import Dictionaries
from local_proxy.link.resumption import LOST, Memory
from local_proxy.link.session import LinkListener, LocalSession
from transport.link.activity import Activity
from transport.link.interface import Link, LinkError, OtherVersion
from transport.stream.dialling_end import forbids
from wire.frames import MAX_COMPONENT

BACKOFF: Final = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between attempts; the last one repeats. Short at first: a remote that restarts is back
within a second; a link that is down for minutes costs one packet in eight seconds."""
LASTS: Final = 10.0
"""Seconds after which a session has been one. Where each ends sooner, perhaps because others of the
same device take its place, and it theirs, attempts become as rare as if none had succeeded."""
DISTRUST: Final = 60.0
"""Seconds between attempts once one end has said that it does not know the other: only people can
change that, and a remote that is asked without pause may take us for an attacker."""
UPDATE: Final = 30.0
"""Seconds between attempts while the ends speak no common version, unless somebody waits for a
page: a handshake is 5 KB, and somebody has to update one end first."""
OPENING: Final = 20.0
"""Seconds for the remote's Hello after connecting: several round trips of the slowest link."""
RENUMBER: Final = (MAX_COMPONENT + 1) // 2
"""Component ids from which a new session begins at 1 again: those pages are long gone."""
FIRST_BEAT: Final = 4.0
"""Seconds of silence, while something is expected, before the peer is asked for a sign of life."""
LOOK: Final = 1.0
"""Seconds between two looks for a sign of life, while anything happens."""
LAST_BEAT: Final = 300.0
"""Seconds between signs of life of an idle link: a ping, its answer, their reports and TCP's and
IP's headers are 260 bytes, under 1 B/s; NATs forget a connection after longer silence."""
ECHO: Final = 10.0
"""Seconds for which the answer to one of them is waited for."""
ANSWER: Final = 64
"""Bytes that the answer to a ping may have brought, with reports: no progress."""
_log = structlog.get_logger("sluice.local")

Connect = Callable[[], Awaitable[Link]]
Update = Literal["", "device", "remote"]


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
    update: Update = ""
    """Which end must be updated before there can be one."""


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
        if self.wait(now, expecting=expecting) > 0:
            return False
        self._received, self._at = received, now
        self._interval = min(2 * self._interval, LAST_BEAT)
        return True

    def wait(self, now: float, *, expecting: bool) -> float:
        """Seconds until it is due, unless something comes."""
        return self._at + (self._interval if expecting else LAST_BEAT) - now


class Uplink:
    """Holds at most one session at a time."""

    def __init__(
        self,
        connect: Connect,
        listener: LinkListener,
        *,
        remote: Callable[[], str],
        device: str,
        patience: float = 0.0,
        accepts: Callable[[], Sequence[str]] = tuple,
        dictionaries: Dictionaries | None = None,
        turned_away: Callable[[], object] = lambda: None,
    ) -> None:
        """`remote`: where it is, in words. `patience`: seconds that what was under way waits for
        another session. `turned_away`: told that the remote has answered and let none begin.

        `accepts`: codings that this side can undo, asked at each new session. `dictionaries`: texts
        of earlier visits; None: none are kept.
        """
        self._dictionaries = dictionaries
        self.activity = Activity()
        """Of the link, over all sessions."""
        self._accepts = accepts
        self._patience = patience
        self._memory = Memory()
        self._expiry: asyncio.TimerHandle | None = None
        """When orphans are given up."""
        self._connect = connect
        self._turned_away = turned_away
        self._next_link: Link | None = None
        """Made already: the next session is over that one."""
        self._listener = listener
        self._remote = remote
        self._device = device
        self._session: LocalSession | None = None
        self._opened = asyncio.Event()
        self._changed = asyncio.Event()
        """Set for a moment whenever the link has come or gone."""
        self._since = asyncio.get_running_loop().time()
        self._attempts = self._brief = 0
        """Attempts since there was a link; sessions in a row that did not last."""
        self._opened_at = float("-inf")
        self._reason = "not connected yet"
        self._hurry = asyncio.Event()
        self._session_before: LocalSession | None = None
        """The latest session, over or not: the next one goes on counting."""
        self._waiting = 0
        """Requests that wait for a session."""
        self._was_up = False
        self._away = set[str]()
        """Why there is no link, all that was found out since there was one; empty: there is."""
        self._distrusted = False
        """The latest attempt failed for want of trust."""
        self._update: Update = ""
        """As it failed: for want of a common version."""

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

    @property
    def expecting(self) -> bool:
        """Whether anything is on its way in."""
        session = self.session
        return session is not None and session.expecting

    @property
    def at_rest(self) -> bool:
        """There is a session, nothing is under way on it, and nobody waits for one."""
        session = self.session
        if session is None or not self.connected or self._waiting:
            return False
        return not session.expecting and not session.uploads.under_way

    async def round_trip(self) -> float | None:
        """Seconds until the remote itself answers; None: it does not."""
        session = self.session
        if session is None:
            return None
        try:
            async with asyncio.timeout(ECHO):
                return await session.round_trip()
        except TimeoutError:
            return None

    def move(self, link: Link) -> None:
        """Go on over that link, to another remote. What is under way is asked for there."""
        self._next_link = link
        if self._session is not None:
            self._session.close()

    def link_changed(self, error: LinkError | None) -> None:
        """The session's link has no connection, and why (the latest reason); None: it has one."""
        if error is None:
            self._back()
        else:
            self._gone(str(error))
        self._pulse()

    def _gone(self, reason: str) -> None:
        """There is no link, for this reason. Each is said once, until there is a link again."""
        if not self._away:
            self._since = asyncio.get_running_loop().time()
        if reason not in self._away:
            _log.warning("no link to the remote proxy", remote=self._remote(), reason=reason)
        self._away.add(reason)
        self._reason = reason

    def _back(self) -> None:
        """There is a link."""
        now = asyncio.get_running_loop().time()
        if self._away:
            after = f"{now - self._since:.0f} s"
            _log.warning("a link to the remote proxy again", remote=self._remote(), after=after)
            self._away.clear()
            self._since = now

    def _pulse(self) -> None:
        self.activity.happened()
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def wait_connected(self, patience: float) -> bool:
        """Whether bytes can cross, waiting up to `patience` seconds for that, unless only people
        can help."""
        self._hurry.set()
        self._waiting += 1
        try:
            async with asyncio.timeout(patience):
                while not self.connected and not self._distrusted:
                    await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return self.connected

    def state(self) -> UplinkState:
        """How the link is."""
        connected = self.connected
        return UplinkState(
            connected,
            self._remote(),
            self._since,
            self._attempts,
            "" if connected else self._reason,
            self._was_up,
            "" if connected else self._update,
        )

    def opened(self) -> None:
        """The session's Hello has come."""
        self._back()
        self._update = ""
        self._since = self._opened_at = asyncio.get_running_loop().time()
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
        """Nobody wants the rest of it any more, whether a session is bringing it or none."""
        if component.complete:
            return
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
        """The session, waiting up to `patience` seconds for one, unless only people can help; None
        if there is still none. Whoever gets it may take an id at once."""
        while (session := await self._any_session(patience)) is not None:
            await session.turn()
            if self.session is session:
                return session
        return None

    async def _any_session(self, patience: float) -> LocalSession | None:
        self._hurry.set()
        self._waiting += 1
        try:
            async with asyncio.timeout(patience):
                while self.session is None and not self._distrusted:
                    await self._changed.wait()
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
        watch = self.activity.watch()
        while True:
            wait, session = None, self.session
            if session is not None and self.connected:
                received, expecting = session.link.statistics().received, session.expecting
                if heart.due(loop.time(), received=received, expecting=expecting):
                    session.ping()
                wait = heart.wait(loop.time(), expecting=expecting)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await watch.news(pause=LOOK)

    async def run(self) -> None:
        """Connect, serve until the link closes, connect again; until cancelled."""
        while True:
            try:
                await self._once()
            except asyncio.CancelledError:
                self._give_up()
                if self._next_link is not None:
                    self._next_link.close()
                raise
            self._session = None
            self._wait_for_another()
            if self._opened.is_set():
                lasted = asyncio.get_running_loop().time() - self._opened_at >= LASTS
                self._brief = 0 if lasted else self._brief + 1
            self._opened.clear()
            if self._next_link is not None:
                continue
            delay = BACKOFF[min(max(self._attempts, self._brief - 1), len(BACKOFF) - 1)]
            if self._update:
                delay = UPDATE
            self._attempts += 1
            if not self._waiting:
                self._hurry.clear()
            if self._distrusted:  # whoever waits is told the reason instead
                self._give_up()
                self._pulse()
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
        link, self._next_link = self._next_link, None
        try:
            link = link or await self._connect()
        except (LinkError, OSError) as error:
            self._distrusted = forbids(error)
            self._gone(str(error))
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
            activity=self.activity,
            dictionaries=self._dictionaries,
        )
        self._session_before = session
        self._session = session
        session.start()
        try:
            async with asyncio.timeout(OPENING):
                await self._hello_or_end(session)
            self._lost(await asyncio.shield(session.closed))
        except TimeoutError:
            self._gone(f"{self._remote()} accepted the connection but did not answer")
            self._turned_away()
            session.close()
        except asyncio.CancelledError:
            session.close()
            raise

    def _lost(self, error: LinkError | None) -> None:
        """The session's link is closed."""
        if self._next_link is not None and error is None:
            return
        if not self._opened.is_set():
            self._turned_away()
        self._distrusted = forbids(error)
        self._gone(str(error) if error is not None else "the link was closed")
        if isinstance(error, OtherVersion):
            self._update = "remote" if error.update_peer else "device"

    async def _hello_or_end(self, session: LocalSession) -> None:
        opened = asyncio.ensure_future(self._opened.wait())
        try:
            # Not by cancelling one for the other: our own cancellation would look the same.
            await asyncio.wait((opened, session.closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            opened.cancel()
