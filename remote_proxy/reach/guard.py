"""Decides where the remote proxy may connect: to the public internet, and what its operator names.
Pure.

Whoever can make it fetch (a device, but any page that a device opens too) would otherwise reach
whatever this machine reaches: its own services, its neighbours, its cloud's keys. Names are judged
twice, as names and by each address they resolve to; connecting is the edge's (connector.py). Says
in each refusal what the operator may do about it. Sources: OWASP, Server-Side Request Forgery;
Fetch, 2.9 (bad ports).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Final

from remote_proxy.reach.hosts import Address, Host, parse
from remote_proxy.reach.networks import SITES, Network, Realm, meant, realm

BAD_PORTS: Final = frozenset(
    (
        *(1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161),
        *(179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563),
        *(587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060),
        *(5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    )
)
"""No browser sends HTTP there (Fetch, 2.9): what listens may take a request for its own tongue."""
BAD_TUNNELS: Final = frozenset((25, 135, 137, 138, 139, 445))
"""Ports that a tunnel does not lead to: mail between servers (spam would be this machine's) and
Windows file sharing. Submission of mail, IMAP and SSH are people's own business."""
_LOCAL_NAMES: Final = ("local", "internal", "home.arpa")
"""Names of the remote's neighbours (RFC 6762, 3; ICANN 2024-07-29; RFC 8375): not even looked up,
since for .local that would ask the neighbours."""
_NAME: Final = re.compile(r"(\*\.)?[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?")
_LOOPBACK: Final = (ip_address("127.0.0.1"), ip_address("::1"))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something is not reached, and how it could be. `str()` is for people."""

    where: str
    why: str
    entry: str = ""
    """For the allow-list; empty: it cannot be allowed like this."""

    def __str__(self) -> str:
        text = f"{self.where} is {self.why}: the remote proxy does not connect to it."
        if not self.entry:
            return text
        return (
            f"{text} If it should, its operator allows it by name in the remote's sluice.toml: "
            f'[remote] allow = ["{self.entry}"]'
        )


@dataclass(frozen=True, slots=True)
class AllowEntry:
    """One line of the allow-list: a network or a name (or all names below one), maybe a port."""

    network: Network | None
    name: str
    port: int | None

    def names(self, host: Host, port: int) -> bool:
        """Whether this very name is allowed at this port."""
        if not self.name or self.port not in (None, port):
            return False
        if self.name.startswith("*."):
            return host.name.endswith(self.name[1:])
        return host.name == self.name

    def covers(self, address: Address, port: int) -> bool:
        """Whether this address is allowed at this port, whatever name led to it."""
        if self.network is None or self.port not in (None, port):
            return False
        # One network of many must not open a metadata service that happens to be in it.
        alone = self.network.prefixlen == self.network.max_prefixlen
        return address in self.network and (alone or realm(address) is not Realm.METADATA)


def entry(text: str) -> AllowEntry:
    """A line of the allow-list. Raises ValueError, in words for the operator."""
    if "://" in text:
        raise ValueError(f"{text!r} is a URL; an entry is its host, with or without :port")
    host, port = _split(text)
    if port and not (port.isascii() and port.isdecimal() and 0 < int(port[:8]) < 65536):
        raise ValueError(f"{text!r}: {port!r} is no port")
    number = int(port) if port else None
    if "/" in host or ":" in host or re.fullmatch(r"[0-9.]+", host):
        try:
            return AllowEntry(ip_network(host), "", number)
        except ValueError as error:
            raise ValueError(f"{text!r} is no network: {error}") from None
    name = host.lower().removesuffix(".")
    if not _NAME.fullmatch(name) or ".." in name:
        raise ValueError(
            f"{text!r} is no host, *.domain, address or network, with or without :port"
        )
    parse(name.removeprefix("*."))
    return AllowEntry(None, name, number)


def _split(text: str) -> tuple[str, str]:
    """Host and port as text: a:1, [::1]:1, [::1], ::1, fd00::/8, 10.0.0.0/8:1."""
    if text.startswith("[") and "]" in text:
        host, _, port = text[1:].partition("]")
        return host, port.removeprefix(":")
    host, colon, port = text.rpartition(":")
    return (text, "") if not colon or ":" in host else (host, port)


class Guard:
    """Judges names and addresses. With no allow-list, only the public internet is open."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        """`allow`: see `entry`. Raises ValueError."""
        self._entries = tuple(entry(text) for text in allow)
        self._listening: set[int] = set()

    def listens(self, port: int) -> None:
        """The remote proxy itself is at this port; never to be reached through it."""
        self._listening.add(port)

    def host(self, host: Host, port: int, *, tunnel: bool = False) -> Refusal | None:
        """What can be said of a host before any lookup; None: nothing against it yet."""
        if host.address is not None:
            return self.address(host, host.address, port, tunnel=tunnel)
        if host.is_localhost:
            refusals = [self.address(host, one, port, tunnel=tunnel) for one in _LOOPBACK]
            return refusals[0] if all(refusals) else None
        below = next((top for top in _LOCAL_NAMES if host.name.endswith("." + top)), None)
        if below and not any(one.names(host, port) for one in self._entries):
            return Refusal(host.name, f"a name of the remote's own network (.{below})",
                           f"{host.name}:{port}")  # fmt: skip
        return None

    def address(
        self, host: Host, address: Address, port: int, *, ours: bool = False, tunnel: bool = False
    ) -> Refusal | None:
        """Whether `host` may be reached at `address`, which it resolved to or is.

        `ours`: the address is one of this machine's own. A firewall guards those against the
        world, not against us.
        """
        if host.zone:
            return Refusal(f"{host.name}%{host.zone}", "an address with a zone")
        address = meant(address)
        found = realm(address) or (Realm.OWN if ours else None)
        if port in self._listening and (ours or found in (Realm.LOOPBACK, Realm.UNSPECIFIED)):
            return Refusal(_shown(host, port), "the remote proxy itself")
        if found is not None and not self._opens(host, address, port, found):
            return self._refusal(host, address, port, found)
        if port in (BAD_TUNNELS if tunnel else BAD_PORTS) and not self._opens_port(
            host, address, port
        ):
            where = _shown(host, port)
            why = "closed to tunnels" if tunnel else "not one for requests"
            return Refusal(where, f"at port {port}, which is {why}", where)
        return None

    def _opens(self, host: Host, address: Address, port: int, found: Realm) -> bool:
        """A name opens what an operator's servers are at; anything else takes an address."""
        return any(
            one.covers(address, port) or (found in SITES and one.names(host, port))
            for one in self._entries
        )

    def _opens_port(self, host: Host, address: Address, port: int) -> bool:
        return any(
            one.port == port and (one.covers(address, port) or one.names(host, port))
            for one in self._entries
        )

    @staticmethod
    def _refusal(host: Host, address: Address, port: int, found: Realm) -> Refusal:
        """Where a name leads stays untold: the page may be read by who asked."""
        if host.address is not None:
            literal = Host(str(address), address)
            return Refusal(_shown(host, port), found, _shown(literal, port))
        if found in SITES:
            return Refusal(_shown(host, port), found, _shown(host, port))
        return Refusal(_shown(host, port), f"{found}, which only its address could open")


def loopback(host: Host) -> tuple[Address, ...]:
    """The addresses of a name of loopback, for which nobody is asked; empty: another name."""
    return _LOOPBACK if host.is_localhost else ()


def _shown(host: Host, port: int) -> str:
    """host:port as an entry of the allow-list is written."""
    name = f"[{host.name}]" if ":" in host.name else host.name
    return f"{name}:{port}"
