"""Which devices may use the proxy: this one, and those that its owner has named.

A proxy that listens beyond loopback is one for everybody on the network unless somebody says for
whom it is, so it says nothing without that. Pure.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

Endpoint = tuple[str, int]
"""Address and port."""

_EXAMPLE: Final = "192.168.1.0/24"


class ClientsError(ValueError):
    """The settings would let in nobody knows whom; the text says what to write."""


class Clients:
    """The devices that may connect."""

    def __init__(self, listen: str, networks: Sequence[str]) -> None:
        """`listen`: host:port; `networks`: addresses and networks. Raises ClientsError."""
        self._networks = [_network(one) for one in networks]
        host = listen.rpartition(":")[0].strip("[]")
        if not networks and not is_loopback(host):
            raise ClientsError(
                f"listening on {listen}, every device that reaches this one could use its proxy, "
                f'its link and its pairing: say which may, with allow_clients = ["{_EXAMPLE}"] in '
                f"[local] or --allow-clients {_EXAMPLE}, or listen on 127.0.0.1"
            )

    def admits(self, client: Endpoint | None, reached: Endpoint | None) -> bool:
        """Whether to serve who has connected from `client` to our address `reached`."""
        if client is None:
            return False
        if is_here(client, reached):
            return True
        try:
            address = ipaddress.ip_address(client[0])
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def is_here(client: Endpoint | None, reached: Endpoint | None) -> bool:
    """Whether both ends are on this machine: over loopback, or from an address of ours to itself
    (which no network brings: a packet from one's own address is dropped, RFC 1812, 5.3.7)."""
    if client is None or reached is None:
        return False
    return is_loopback(client[0]) or client[0] == reached[0]


def is_loopback(host: str) -> bool:
    """Whether the name or address stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise ClientsError(
            f"local.allow_clients: {text!r} is no address or network, such as 192.168.1.7 or "
            f"{_EXAMPLE}"
        ) from error
