"""Serves what a browser or a phone needs to use the proxy: certificate, PAC file, instructions.

All of it is public. Served at http://sluice.local/ and at the proxy's own address, because a
browser fetches its PAC file before it has a proxy.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec

from local_proxy.http.model import Request
from local_proxy.status import pac
from local_proxy.status.offer import Offer, der, fingerprint
from web.templates import template

HOST: Final = "sluice.local"
PLACES: Final = ("/setup", "/setup.json", "/proxy.pac", "/ca.pem", "/ca.crt")
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_DEFAULT_PORT: Final = {"http": 80, "https": 443}
_PAGE: Final = template(__package__, "setup.html")


class Setup:
    """Answers for PLACES."""

    def __init__(
        self,
        certificate_pem: bytes | None = None,
        *,
        secure: bool = False,
        private: Sequence[str] = (),
    ) -> None:
        """As in Offer. Raises pac.PrivateError."""
        pac.sorted_out(private)
        self._private = list(private)
        self.address: tuple[str, int] = (HOST, 80)
        """Where the proxy listens, for clients of whom it isn't known where they reached it."""
        self._pem = certificate_pem
        self._secure = secure

    def answer(self, path: str, request: Request) -> tuple[bytes, str] | None:
        """Body and content type; None: there is nothing at this path."""
        if path == "/setup":
            return self._instructions(request).encode(), "text/html; charset=utf-8"
        if path == "/setup.json":
            offer = Offer(
                self._pem.decode("ascii") if self._pem else None, self._secure, self._private
            )
            return msgspec.json.encode(offer), "application/json"
        if path == "/proxy.pac":
            text = pac.pac(
                address_of(request, default=self.address),
                secure=self._secure and self._pem is not None,
                private=self._private,
            )
            return text.encode(), pac.CONTENT_TYPE
        if self._pem is None:
            return None
        if path == "/ca.pem":
            return self._pem, "application/x-pem-file"
        if path == "/ca.crt":  # in DER: phones and Windows offer to install what is of this type
            return der(self._pem), "application/x-x509-ca-cert"
        return None

    def _instructions(self, request: Request) -> str:
        address = address_of(request, default=self.address)
        host, _, port = address.rpartition(":")
        return _PAGE.render(
            address=address,
            host=host.strip("[]"),
            port=port,
            fingerprint="" if self._pem is None else fingerprint(self._pem),
            loopback=_is_loopback(host),
            private=", ".join(self._private) or "none",
        )


def is_own(request: Request) -> bool:
    """Whether a request names the proxy itself: its own host, or the address it came in at.

    Only addresses and names that are this machine's for sure: a site whose name is made to point
    here (DNS rebinding) must not read the status page.
    """
    parts = urlsplit(request.url)
    host = (parts.hostname or "").rstrip(".")
    if host == HOST:
        return True
    if request.reached is None:
        return False
    address, port = request.reached
    if (parts.port or _DEFAULT_PORT.get(parts.scheme)) != port:
        return False
    return host in (address, *_own_names()) or (_is_loopback(address) and host in _LOOPBACK)


def address_of(request: Request, *, default: tuple[str, int] = (HOST, 80)) -> str:
    """host:port at which this client reaches the proxy."""
    parts = urlsplit(request.url)
    if parts.hostname != HOST and is_own(request):
        return parts.netloc.rpartition("@")[2]
    host, port = request.reached or default
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _own_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, f"{name.partition('.')[0]}.local"}


def _is_loopback(host: str) -> bool:
    host = host.strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", HOST)
