"""Tells remotes that are one to their devices who is paired, and who is not any more.

Each has its own files (store.py) and knows of the others' by what they put into a place that all of
them reach. Certificates that were let in, and those that were revoked, are two sets that only grow:
any two of them merge to the same, in whatever order they meet. A certificate that was revoked is
never let in again, for a device that is paired anew has another.

What lies there is sealed (sealing.py): who can read or write that place and has no identity lets
nobody in. He can put back what was there before; what a remote has in its files that takes nothing
from.

Pure. It knows neither files nor stores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec

from malformed import MALFORMED
from pairing.identity import Identity
from pairing.sealing import IdentitySeal, seal_of

MOST_REVOKED: Final = 100_000
"""Revocations that are remembered: a hundred times as many as devices can be paired."""
_PURPOSE: Final = b"sluice pairings of several remotes 1"


@dataclass(frozen=True, slots=True)
class PairedDevice:
    """A device that was let in."""

    certificate: bytes
    """DER."""
    name: str
    paired: str
    """ISO 8601; empty: not known."""

    @property
    def id(self) -> str:
        """SHA-256 of its certificate, hexadecimal."""
        return id_of(self.certificate)


@dataclass(frozen=True, slots=True)
class Pairings:
    """All that one or several remotes know."""

    devices: frozenset[PairedDevice] = frozenset()
    """None of them is revoked."""
    revoked: frozenset[str] = frozenset()
    """Digests of certificates."""


class _Form(msgspec.Struct, array_like=True, frozen=True):
    devices: list[tuple[bytes, str, str]]
    revoked: list[str]


_READER: Final = msgspec.msgpack.Decoder(_Form)
_WRITER: Final = msgspec.msgpack.Encoder()


def id_of(certificate: bytes) -> str:
    """The digest by which a certificate is known."""
    return hashlib.sha256(certificate).hexdigest()


def merged(one: Pairings, other: Pairings) -> Pairings:
    """What both know. Of a device that both have by two names, the name that sorts first."""
    revoked = one.revoked | other.revoked
    devices: dict[bytes, PairedDevice] = {}
    known = sorted(one.devices | other.devices, key=lambda device: (device.name, device.paired))
    for device in known:
        if device.id not in revoked:
            devices.setdefault(device.certificate, device)
    return Pairings(frozenset(devices.values()), frozenset(sorted(revoked)[:MOST_REVOKED]))


def exchange_seal(identity: Identity) -> IdentitySeal:
    """The seal with which remotes of that identity tell each other."""
    return seal_of(identity, _PURPOSE)


def sealed(pairings: Pairings, seal: IdentitySeal, nonce: bytes) -> bytes:
    """For the others. `nonce`: NONCE random bytes."""
    devices = sorted((one.certificate, one.name, one.paired) for one in pairings.devices)
    return seal.seal(_WRITER.encode(_Form(devices, sorted(pairings.revoked))), nonce)


def opened(data: bytes, seal: IdentitySeal) -> Pairings | None:
    """What others have sealed; None: nobody with that seal has."""
    found = seal.open(data)
    if found is None:
        return None
    try:
        form = _READER.decode(found)
    except MALFORMED:
        return None
    return merged(_pairings(form.devices, form.revoked), Pairings())


def _pairings(devices: Iterable[tuple[bytes, str, str]], revoked: Iterable[str]) -> Pairings:
    return Pairings(frozenset(PairedDevice(*one) for one in devices), frozenset(revoked))
