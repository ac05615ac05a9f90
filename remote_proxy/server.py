"""Listens for local proxies; each link becomes a session with a hierarchy of its own.

Whoever has a link can fetch anything that this machine can reach. So links are for paired devices
only; without security it listens on loopback and nowhere else.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import Final

import structlog

from remote_proxy.jobs.services import Services
from remote_proxy.session import RemoteSession
from remote_proxy.statistics import OpenSession
from remote_proxy.turning_away import TurnedAway
from transport.link.interface import Link
from transport.link.records import ProvenPeer
from transport.spp.edge.udp import SppListener
from transport.spp.handshake.keys import ServerKeys
from transport.stream.accepting_end import Reception
from transport.stream.preamble import TOKEN
from transport.tcp.security import ServerSecurity, is_loopback
from transport.tcp.sockets import Listener

MAX_DEVICES: Final = 64
"""Served at a time unless set (remote.devices): each may hold `memory` and some MB besides."""
LINKS: Final = 4
"""Of one device: the one it uses, some that it has given up without saying so, and those of another
machine of the same pairing. A new one ends the oldest."""
_log = structlog.get_logger("sluice.remote")


class NotLoopback(Exception):
    """The address asked for can be reached from outside, and nothing keeps strangers out."""


def require_loopback(host: str) -> None:
    """Raises NotLoopback unless `host` is a loopback address or name."""
    if not is_loopback(host):
        raise NotLoopback(
            f"with security = none the remote listens on loopback only, not on {host}: whoever "
            "can connect could fetch through it. Use security = tls, or listen on 127.0.0.1 "
            "and reach it through a tunnel, for example: ssh -L 8119:127.0.0.1:8119 this-host"
        )


class RemoteServer:
    """The remote proxy's listening end."""

    def __init__(
        self,
        services: Services,
        *,
        quantum: int,
        memory: int,
        congestion: str,
        patience: float,
        devices: int = MAX_DEVICES,
        available: bool = False,
    ) -> None:
        """`patience`: seconds for which a device may be without a connection, at least. `devices`:
        how many are served at a time. `available`: measure what others leave of their links."""
        self._devices = devices
        self._services = services
        self._quantum = quantum
        self._memory = memory
        self._reception = Reception(
            lambda link: self.accept(link, peer=link.peer),
            patience=patience,
            congestion=congestion,
            new_token=lambda: secrets.token_bytes(TOKEN),
            measures=available,
        )
        self.udp: SppListener | None = None
        """What takes devices over UDP."""
        self._sessions: dict[asyncio.Task[None], RemoteSession] = {}
        self._turned_away: set[asyncio.Task[None]] = set()

    @property
    def sessions(self) -> list[RemoteSession]:
        """The sessions that are open now."""
        return list(self._sessions.values())

    def open_now(self) -> list[OpenSession]:
        """The same, for whoever counts."""
        return [
            OpenSession(one.statistics(), one.link.statistics(), one.rate) for one in self.sessions
        ]

    async def listen(
        self, host: str, port: int, *, security: ServerSecurity | None = None
    ) -> Listener:
        """Start to listen, with `security` for the devices that it knows. None: on loopback only.

        Raises NotLoopback, LinkError.
        """
        if security is None:
            require_loopback(host)
        listener = await self._reception.listen(host, port, security=security)
        self._services.origin.reach.guard.listens(listener.address[1])
        return listener

    async def listen_udp(self, host: str, port: int, *, keys: ServerKeys) -> SppListener:
        """Take the devices of `keys` over UDP too, until `close`. Raises LinkError."""
        self.udp = await self._reception.listen_udp(host, port, keys=keys)
        return self.udp

    def accept(self, link: Link, *, peer: ProvenPeer | None = None) -> None:
        """Serve a link that has just been made; refused when there are too many that are in use.

        `peer`: the device, if it had to prove who it is.
        """
        own = [one for one in self._sessions.values() if peer is not None and one.peer == peer]
        if len(own) >= LINKS:
            given_up = next((one for one in own if not one.connected), own[0])
            _log.warning("a device has too many links; its oldest ends", device=given_up.device)
            given_up.close()
        elif not own and self._served >= self._devices and not self._reception.give_one_up():
            self._turn_away(link)
            return
        session = RemoteSession(
            link,
            self._services,
            quantum=self._quantum,
            memory=self._memory,
            peer=peer,
            expect=lambda seconds: self._reception.expect(link, seconds),
        )
        task = asyncio.get_running_loop().create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(self._ended)

    @property
    def _served(self) -> int:
        """Devices that have sessions; who need not prove who it is counts as one each time."""
        peers = [session.peer for session in self._sessions.values()]
        return len({peer for peer in peers if peer is not None}) + peers.count(None)

    def _turn_away(self, link: Link) -> None:
        _log.warning("too many devices; a link was refused", devices=self._devices)
        if len(self._turned_away) >= self._devices:  # whoever asks again and again
            link.close()
            return
        reason = (
            f"it serves as many devices as it may already: {self._devices} "
            "(remote.devices). It will take this one when another has gone."
        )
        task = asyncio.get_running_loop().create_task(TurnedAway(link, reason).run())
        self._turned_away.add(task)
        task.add_done_callback(self._turned_away.discard)

    def end_unknown(self, security: ServerSecurity) -> None:
        """End the sessions of devices that `security` no longer lets in."""
        for session in self.sessions:
            if session.peer is not None and not security.knows(session.peer):
                _log.warning("a device was revoked; its session ends", device=session.peer.name)
                session.close()
        if self.udp is not None:
            self.udp.end_unknown()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._sessions.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a session failed", exc_info=error)

    async def close(self) -> None:
        """End all sessions."""
        self._reception.close()  # says farewell, over UDP too
        if self.udp is not None:
            self.udp.close()
        tasks = [*self._sessions, *self._turned_away]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
