"""The ways to a remote proxy: over TCP, padded TCP, or UDP where that is preferred.

Each link has its own, which it takes again where its connection breaks. Knows settings and
transports; not what links carry.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from local_proxy.dialling.endpoints import Endpoints
from local_proxy.dialling.which_remote import PairingSettings, Remote
from transport.link.connection import Connection
from transport.link.interface import LinkError
from transport.paths.preferring_udp import PreferringUdp, dial_udp
from transport.paths.several import dial_paths
from transport.paths.terms import AllTerms
from transport.paths.usable import usable
from transport.spp.handshake.keys import ClientKeys
from transport.stream.dialling_end import in_segments
from transport.tcp.handshakes import dial_secured

_UDP_STAGGER: Final = 0.5
"""Seconds: where UDP is blocked TCP is to have its turn soon, however many addresses there are."""


class Ways:
    """How one link gets its connections."""

    def __init__(
        self, settings: PairingSettings, remote: Remote, endpoints: Endpoints, terms: AllTerms
    ) -> None:
        self.endpoints = endpoints
        """Where the remote is, or several that are one; the link prefers the first."""
        self._settings = settings
        self._security = remote.security
        self._terms = terms
        keys = remote.keys
        self.preferring = (
            PreferringUdp(partial(self._udp, keys), self._tcp) if keys is not None else None
        )
        """UDP, where it is to be tried first."""

    async def dial(self) -> Connection:
        """A connection. Raises LinkError, NotTrusted, OSError."""
        if self.preferring is not None:
            return await self.preferring.dial()
        return await self._tcp()

    async def _tcp(self) -> Connection:
        interface = self._free_interface()

        async def connect(host: str, port: int) -> Connection:
            connection = await dial_secured(
                host, port, security=self._security, interface=interface
            )
            segments = self._settings.transport == "atp-tcp"
            return await in_segments(connection) if segments else connection

        return await self.endpoints.dial(connect)

    async def _udp(self, keys: ClientKeys) -> Connection:
        wanted = self._settings.paths

        async def connect(host: str, port: int) -> Connection:
            if not wanted:
                return await dial_udp(host, port, keys=keys)
            interfaces = partial(usable, wanted)
            return await dial_paths(host, port, keys=keys, interfaces=interfaces, terms=self._terms)

        return await self.endpoints.dial(connect, stagger=_UDP_STAGGER)

    def _free_interface(self) -> str:
        """What TCP is to take, where some have budgets: only UDP is counted. Raises LinkError."""
        if not self._terms.budgets:
            return ""
        for name in usable(self._settings.paths):
            if name not in self._terms.budgets:
                return name
        raise LinkError("only interfaces with a budget are up, and none of them carries more")
