"""Listens for local proxies; each link becomes a session with a hierarchy of its own.

Until devices can be paired it listens on loopback only: whoever can connect could fetch anything
that this machine can reach. Use a tunnel (`ssh -L`) across machines.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
from typing import Final

import structlog

from remote_proxy.delivery import Services
from remote_proxy.session import RemoteSession
from transport.endpoint import suggested_quantum
from transport.link import Link
from transport.preamble import TOKEN
from transport.reception import Reception
from transport.tcp import Listener

MAX_DEVICES: Final = 64
_log = structlog.get_logger("sluice.remote")


class NotLoopback(Exception):
    """The address asked for can be reached from outside."""


def require_loopback(host: str) -> None:
    """Raises NotLoopback unless `host` is a loopback address or name."""
    if host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise NotLoopback(
            f"the remote proxy listens on loopback only, not on {host}: without pairing anyone who "
            "can connect could fetch through it. Listen on 127.0.0.1 and reach it through a "
            "tunnel, for example: ssh -L 8119:127.0.0.1:8119 this-host"
        )


class RemoteServer:
    """The remote proxy's listening end."""

    def __init__(
        self, services: Services, *, quantum: int, memory: int, congestion: str, patience: float
    ) -> None:
        """`patience`: seconds for which a device may be without a connection."""
        self._services = services
        self._quantum = quantum
        self._memory = memory
        self._reception = Reception(
            self.accept,
            patience=patience,
            congestion=congestion,
            new_token=lambda: secrets.token_bytes(TOKEN),
        )
        self._sessions: dict[asyncio.Task[None], RemoteSession] = {}

    @property
    def sessions(self) -> list[RemoteSession]:
        """The sessions that are open now."""
        return list(self._sessions.values())

    async def listen(self, host: str, port: int) -> Listener:
        """Start to listen. Raises NotLoopback, LinkError."""
        require_loopback(host)
        return await self._reception.listen(host, port)

    def accept(self, link: Link) -> None:
        """Serve a link that has just been made; refused when there are too many."""
        if len(self._sessions) >= MAX_DEVICES:
            _log.warning("too many devices; a link was refused")
            link.close()
            return
        session = RemoteSession(
            link,
            self._services,
            quantum=self._quantum,
            suggested_quantum=suggested_quantum,
            memory=self._memory,
        )
        task = asyncio.get_running_loop().create_task(session.run())
        self._sessions[task] = session
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._sessions.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a session failed", exc_info=error)

    async def close(self) -> None:
        """End all sessions."""
        self._reception.close()
        for task in list(self._sessions):
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)
