"""Where strangers knock: a remote's handshakes, bounded in number, time and work. Pure.

Up to some, a HELLO is answered at once. Beyond, its sender is sent a cookie first, and nothing is
kept or computed for it until the cookie comes back from the same address (RFC 9147, 5.1): floods
from forged addresses end there. Where handshakes are too many all the same, the network that has
most of them gives up its oldest, as over TCP (transport/tcp/handshakes.py). Devices that ask for a
connection that there is not are told so (reset.py).
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from typing import Final, NamedTuple

from transport.link.interface import LinkError
from transport.spp.core.packets import CONNECTION_ID
from transport.spp.core.paths import Address
from transport.spp.handshake.exchange import (
    COOKIE,
    HELLO,
    PROOF,
    Chance,
    Established,
    ServerHandshake,
    VerifiedHello,
    parse_hello,
    retry,
)
from transport.spp.handshake.keys import ServerKeys
from transport.spp.handshake.reset import QUERY, parse_query, reset
from transport.spp.handshake.seal import Forged
from transport.tcp.handshakes import network_of

MOST: Final = 64
"""Handshakes at a time."""
AT_EASE: Final = 16
"""So many, and cookies are asked for."""
TIMEOUT: Final = 20.0
"""Seconds for a handshake."""
_COOKIE_AGE: Final = 30.0
"""Seconds that a cookie's secret is used; cookies of the one before count too."""
_EASE_RATE: Final = 20.0
"""HELLOs a second that are answered without a cookie: 0.2 ms of work each."""


class Admitted(NamedTuple):
    """A device has proved who it is."""

    established: Established
    round_trip: float
    """Seconds."""


@dataclass(slots=True)
class _Guest:
    handshake: ServerHandshake
    address: Address
    key: bytes
    since: float


class Door:
    """The door of one socket: who knocks there, and who is let in."""

    def __init__(
        self, keys: ServerKeys, *, taken: Container[bytes], chance: Chance, now: float
    ) -> None:
        """`taken`: names of connections there are."""
        self._keys = keys
        self._taken = taken
        self._chance = chance
        self._guests: dict[bytes, _Guest] = {}
        """By our name of the connection, the oldest first."""
        self._secrets = (chance(32), chance(32))
        self._secrets_at = now
        self._ease = _EASE_RATE
        self._ease_at = now

    def __len__(self) -> int:
        return len(self._guests)

    def knock(
        self, datagram: bytes, address: Address, now: float
    ) -> tuple[bytes | None, Admitted | None]:
        """A datagram that is no connection's: what to answer, and who is let in.

        Raises Forged for what deserves no answer, LinkError for a device that breaks the protocol.
        """
        kind = datagram[0] if datagram else 0
        if kind == HELLO:
            return self._hello(datagram, address, now), None
        if kind == PROOF:
            return self._proof(datagram, now)
        if kind == QUERY:
            return self._query(datagram), None
        raise Forged

    def _query(self, datagram: bytes) -> bytes | None:
        remote, device = parse_query(self._keys.pin, datagram)
        if remote in self._taken or remote in self._guests:
            return None
        return reset(self._keys.reset, remote=remote, device=device)

    def _hello(self, datagram: bytes, address: Address, now: float) -> bytes | None:
        hello = parse_hello(self._keys.pin, datagram)
        self._forget(now)
        for guest in self._guests.values():
            if guest.key == hello.key and guest.address == address:
                return guest.handshake.reply  # it did not arrive, or not yet
        if self._busy(now) and not self._has_cookie(hello, address, now):
            return retry(self._keys.pin, hello, self._cookie(self._secrets[0], hello, address))
        if len(self._guests) >= MOST:
            self._give_one_up()
        own = self._name()
        handshake = ServerHandshake(self._keys, hello, own=own, chance=self._chance)
        self._guests[own] = _Guest(handshake, address, hello.key, now)
        return handshake.reply

    def _proof(self, datagram: bytes, now: float) -> tuple[bytes | None, Admitted | None]:
        own = datagram[1 : 1 + CONNECTION_ID]
        guest = self._guests.get(own)
        if guest is None:
            raise Forged
        try:
            outcome = guest.handshake.proof(datagram)
        except LinkError:
            del self._guests[own]
            raise
        if isinstance(outcome, bytes):
            return outcome, None  # the guest stays, so that a lost refusal is said again
        del self._guests[own]
        return None, Admitted(outcome, now - guest.since)

    def _busy(self, now: float) -> bool:
        """Is this a crowd? It counts as one more."""
        self._ease = min(_EASE_RATE, self._ease + (now - self._ease_at) * _EASE_RATE)
        self._ease_at = now
        if len(self._guests) >= AT_EASE or self._ease < 1:
            return True
        self._ease -= 1
        return False

    def _has_cookie(self, hello: VerifiedHello, address: Address, now: float) -> bool:
        if not any(hello.cookie):
            return False
        return any(
            hmac.compare_digest(self._cookie(secret, hello, address), hello.cookie)
            for secret in self._current(now)
        )

    def _cookie(self, secret: bytes, hello: VerifiedHello, address: Address) -> bytes:
        content = f"{address[0]} {address[1]} ".encode() + hello.named
        return hmac.digest(secret, content, "sha256")[:COOKIE]

    def _current(self, now: float) -> tuple[bytes, bytes]:
        if now - self._secrets_at > _COOKIE_AGE:
            self._secrets = (self._chance(32), self._secrets[0])
            self._secrets_at = now
        return self._secrets

    def _name(self) -> bytes:
        while True:
            name = self._chance(CONNECTION_ID)
            if name not in self._taken and name not in self._guests:
                return name

    def _forget(self, now: float) -> None:
        for name, guest in list(self._guests.items()):
            if now - guest.since < TIMEOUT:
                return
            del self._guests[name]

    def _give_one_up(self) -> None:
        crowds = Counter(network_of(guest.address[0]) for guest in self._guests.values())
        most = max(crowds.values())
        for name, guest in self._guests.items():
            if crowds[network_of(guest.address[0])] == most:
                del self._guests[name]
                return
