"""The local proxy as a browser sees it: where it is, whom to trust, which hosts are not its own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from cryptography import x509

from local_proxy.front.tls.certificates import spki_sha256
from local_proxy.status.pac import sorted_out

NEAR: Final = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")
"""Addresses on this side of the slow link (RFC 1918, RFC 3927), as in the PAC file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """What a browser is started with."""

    host: str
    port: int
    certificate_pem: bytes | None = None
    """The authority to trust; None: https passes through untouched."""
    secure: bool = False
    """It speaks TLS at the same port."""
    private: tuple[str, ...] = ()
    """Private hosts and networks that are on its other side ([local] private)."""

    @property
    def near(self) -> tuple[str, ...]:
        """NEAR without the private networks that it reaches."""
        networks = [ipaddress.IPv4Network(one) for one in NEAR]
        for far in sorted_out(self.private)[1]:
            if isinstance(far, ipaddress.IPv4Network):
                networks = [rest for one in networks for rest in _without(one, far)]
        return tuple(str(one) for one in networks)

    @property
    def address(self) -> str:
        """Where it listens, as "host:port" or "[v6]:port"."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def spki_sha256(self) -> str | None:
        """Base64, of the authority's key."""
        if self.certificate_pem is None:
            return None
        return spki_sha256(x509.load_pem_x509_certificate(self.certificate_pem))


def _without(
    network: ipaddress.IPv4Network, far: ipaddress.IPv4Network
) -> Iterable[ipaddress.IPv4Network]:
    if network.subnet_of(far):
        return ()
    return network.address_exclude(far) if far.subnet_of(network) else (network,)


def is_near(url: str) -> bool:
    """Whether a browser would reach this page without its proxy: loopback, private addresses.

    Who names such a page on the command line wants it through the proxy: a test, a demonstration.
    """
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host != "" and ("." not in host or host.endswith(".localhost"))
    return address.is_private or address.is_loopback or address.is_link_local
