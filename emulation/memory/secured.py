"""Two ends of a link that know each other, made in memory: what `sluice pair` does with files."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from pairing.identity import device_identity, new_identity
from pairing.invitation import SEED_SIZE
from transport.spp.handshake.keys import ClientKeys, ServerKeys
from transport.tcp.security import ClientSecurity, ServerSecurity


class SecuredEnds(NamedTuple):
    """The security of both ends."""

    server: ServerSecurity
    client: ClientSecurity


class Keys(NamedTuple):
    """The same identities as SPP has them."""

    server: ServerKeys
    client: ClientKeys


def paired(name: str = "bench") -> SecuredEnds:
    """A remote that knows one device, and that device."""
    return paired_twice(name)[0]


def paired_twice(name: str = "bench") -> tuple[SecuredEnds, Keys]:
    """For TLS, and the same two for SPP."""
    remote, device = new_identity(), device_identity(secrets.token_bytes(SEED_SIZE))
    known = {device.certificate: name}
    tls = SecuredEnds(ServerSecurity(remote.pem, known), ClientSecurity(device.pem, pin=remote.pin))
    return tls, Keys(ServerKeys(remote.pem, known), ClientKeys(device.pem, pin=remote.pin))
