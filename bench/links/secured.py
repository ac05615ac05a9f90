"""Two ends of a link that know each other, made in memory: what `sluice pair` does with files."""

from __future__ import annotations

import secrets
from typing import NamedTuple

from pairing.identity import device_identity, new_identity
from pairing.invitation import SEED_SIZE
from transport.security import ClientSecurity, ServerSecurity


class Ends(NamedTuple):
    """The security of both ends."""

    server: ServerSecurity
    client: ClientSecurity


def paired(name: str = "bench") -> Ends:
    """A remote that knows one device, and that device."""
    remote, device = new_identity(), device_identity(secrets.token_bytes(SEED_SIZE))
    return Ends(
        ServerSecurity(remote.pem, {device.certificate: name}),
        ClientSecurity(device.pem, pin=remote.pin),
    )
