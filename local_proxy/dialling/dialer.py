"""Makes the link to the remote proxy: over TCP, padded TCP, or UDP where that is preferred.

Knows settings and transports; not what the link carries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from local_proxy.dialling import which_remote
from local_proxy.dialling.endpoints import Endpoints
from local_proxy.dialling.which_remote import Remote
from pairing.invitation import format_address
from transport.link.connection import Connection
from transport.link.interface import Link, LinkError
from transport.paths.interfaces import Change
from transport.paths.preferring_udp import PreferringUdp, dial_udp
from transport.paths.several import dial_paths
from transport.paths.terms import BACKGROUND, USUAL, all_terms
from transport.paths.usable import usable
from transport.spp.handshake.keys import ClientKeys
from transport.stream.dialling_end import LastingLink, in_segments
from transport.tcp.handshakes import dial_secured

_UDP_STAGGER: Final = 0.5
"""Seconds: where UDP is blocked TCP is to have its turn soon, however many addresses there are."""
_OF_TCP: Final = ""
"""TCP's own congestion control, where the link is to give way: the gate sees to that."""


class Dialer:
    """Makes one link after the other; each lasts from connection to connection."""

    def __init__(
        self,
        settings: which_remote.PairingSettings,
        remote: Remote,
        *,
        congestion: str,
        patience: float,
        on_change: Callable[[LinkError | None], None],
        expecting: Callable[[], bool],
    ) -> None:
        """`congestion`: of TCP, or BACKGROUND: of whatever carries it.

        `patience`: seconds that a link waits for a new connection; `on_change`: it lost
        its connection, and why; None: it has another. `expecting`: bytes should be coming."""
        self._settings = settings
        background = congestion == BACKGROUND
        self.terms = all_terms(
            *(settings.roles, settings.budgets, settings.path_congestion),
            usual=BACKGROUND if background else USUAL,
        )
        """Of the interfaces; their budgets count what crosses."""
        self._remote = remote
        self._endpoints = Endpoints.of(remote.address)
        self._congestion = _OF_TCP if background else congestion
        self._patience = patience
        self._on_change = on_change
        self._expecting = expecting
        self._lasting: LastingLink | None = None
        self._preferring: PreferringUdp | None = None

    async def dial(self) -> Link:
        """A link. Raises LinkError where there is none."""
        keys = self._remote.keys
        if keys is not None and self._preferring is None:
            self._preferring = PreferringUdp(partial(self._udp, keys), self._tcp)
        self._lasting = LastingLink(
            self._preferring.dial if self._preferring is not None else self._tcp,
            congestion=self._congestion,
            patience=self._patience,
            on_change=self._on_change,
            better=self._preferring,
            expecting=self._expecting,
        )
        return await self._lasting.open()

    def network_changed(self, change: Change) -> None:
        """Addresses of this device came or went."""
        if self._lasting is not None:
            self._lasting.network_changed(change.gone)

    def why_not_udp(self) -> str:
        """For people; empty where it is not wanted, or works."""
        return self._preferring.why_not if self._preferring is not None else ""

    async def _tcp(self) -> Connection:
        interface, security = self._free_interface(), self._remote.security

        async def connect(host: str, port: int) -> Connection:
            connection = await dial_secured(host, port, security=security, interface=interface)
            segments = self._settings.transport == "atp-tcp"
            return await in_segments(connection) if segments else connection

        return await self._endpoints.dial(connect)

    async def _udp(self, keys: ClientKeys) -> Connection:
        wanted = self._settings.paths

        async def connect(host: str, port: int) -> Connection:
            if not wanted:
                return await dial_udp(host, port, keys=keys)
            interfaces = partial(usable, wanted)
            return await dial_paths(host, port, keys=keys, interfaces=interfaces, terms=self.terms)

        return await self._endpoints.dial(connect, stagger=_UDP_STAGGER)

    def _free_interface(self) -> str:
        """What TCP is to take, where some have budgets: only UDP is counted. Raises LinkError."""
        if not self.terms.budgets:
            return ""
        for name in usable(self._settings.paths):
            if name not in self.terms.budgets:
                return name
        raise LinkError("only interfaces with a budget are up, and none of them carries more")

    @property
    def address(self) -> str:
        """The remote's, host:port, as it is used now."""
        return format_address(*self._endpoints.first)
