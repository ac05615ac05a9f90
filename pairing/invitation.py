"""The pairing string: all that a device needs to reach one remote proxy and to be known there.

    sluice://<92 characters of base64url>@HOST:PORT[,HOST:PORT...]

    1 byte    version, 1
    32 bytes  pin: SHA-256 of the remote certificate's SubjectPublicKeyInfo (as in RFC 7469, 2.4)
    32 bytes  seed of the device's key (identity.py)
    4 bytes   SHA-256 over the 65 bytes before, its start: a slip of the hand is told from a refusal

Addresses stand outside the checksum: people may have to change them. Several are of one remote, or
of several that are one to their devices (docs/fleet.md). Whoever has the string *is* the device, so
it is as secret as a private key.

Pure. It knows neither files nor sockets.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass, field
from typing import Final

from pairing.errors import PairingError

SCHEME: Final = "sluice://"
VERSION: Final = 1
PIN_SIZE: Final = 32
SEED_SIZE: Final = 32
_CHECKSUM: Final = 4
_SIZE: Final = 1 + PIN_SIZE + SEED_SIZE + _CHECKSUM
CODE_SIZE: Final = _SIZE // 3 * 4
"""Characters; 69 bytes need no padding."""
MOST_ADDRESSES: Final = 8
_MOST: Final = 2048
"""Characters of a whole string: a host name has 253 at most."""
_CODE: Final = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})", re.ASCII
)
_AGAIN: Final = "copy it again from where `sluice pair` printed it"


@dataclass(frozen=True, slots=True)
class Invitation:
    """What the pairing string says. `str()` prints it; `repr` keeps the seed to itself."""

    host: str
    """A name or an address; IPv6 without brackets."""
    port: int
    pin: bytes
    seed: bytes = field(repr=False)
    more: tuple[tuple[str, int], ...] = ()
    """Hosts and ports at which it is, too."""

    @property
    def address(self) -> str:
        """Where the remote is, as `format_address` writes it; several separated by commas."""
        return ",".join(format_address(*one) for one in ((self.host, self.port), *self.more))

    def __str__(self) -> str:
        body = bytes([VERSION]) + self.pin + self.seed
        code = base64.urlsafe_b64encode(body + _checksum(body)).decode("ascii")
        return f"{SCHEME}{code}@{self.address}"


def parse(text: str) -> Invitation:
    """The pairing string, white space around it forgiven. Raises PairingError."""
    text = text.strip()
    if not text.startswith(SCHEME):
        raise PairingError(f"this is not a pairing string: it begins with {SCHEME}; {_AGAIN}")
    if len(text) > _MOST:
        raise PairingError(f"the pairing string is {len(text)} characters long, which none is")
    code, at, address = text.removeprefix(SCHEME).partition("@")
    if not at:
        raise PairingError(f"the pairing string has no @HOST:PORT at its end: it was cut; {_AGAIN}")
    pin, seed = _parse_code(code)
    (host, port), *more = parse_addresses(address)
    return Invitation(host, port, pin, seed, tuple(more))


def parse_address(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[v6]:port". Raises PairingError."""
    found = _ADDRESS.fullmatch(address)
    if found is None or not 1 <= int(found["port"]) <= 65535:
        raise PairingError(
            f"{address[:80]!r} is not an address: HOST:PORT or [IPv6]:PORT, the port 1 to 65535"
        )
    return found["v6"] or found["name"], int(found["port"])


def parse_addresses(text: str) -> list[tuple[str, int]]:
    """Hosts and ports of addresses separated by commas, each once. Raises PairingError."""
    found = [parse_address(one.strip()) for one in text.split(",")]
    if len(found) > MOST_ADDRESSES:
        raise PairingError(f"{len(found)} addresses are too many: {MOST_ADDRESSES} at most")
    return list(dict.fromkeys(found))


def format_address(host: str, port: int) -> str:
    """The address as "host:port" or "[v6]:port"."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _parse_code(code: str) -> tuple[bytes, bytes]:
    """Pin and seed."""
    if not _CODE.fullmatch(code):
        strange = next(letter for letter in code if not _CODE.fullmatch(letter))
        raise PairingError(f"the pairing string has a {strange!r} where none can be; {_AGAIN}")
    if len(code) != CODE_SIZE:
        what = "were lost" if len(code) < CODE_SIZE else "are too many"
        count = abs(CODE_SIZE - len(code))
        raise PairingError(f"{count} characters of the pairing string {what}; {_AGAIN}")
    try:
        raw = base64.urlsafe_b64decode(code)
    except binascii.Error as error:  # out of reach of the checks above; never a crash
        raise PairingError(f"the pairing string is damaged ({error}); {_AGAIN}") from error
    body, checksum = raw[:-_CHECKSUM], raw[-_CHECKSUM:]
    if checksum != _checksum(body):
        raise PairingError(f"the pairing string is damaged, a character is wrong; {_AGAIN}")
    if body[0] != VERSION:
        raise PairingError(
            f"the pairing string is of version {body[0]}, this program knows {VERSION}: "
            "take the same release on both ends"
        )
    return body[1 : 1 + PIN_SIZE], body[1 + PIN_SIZE :]


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECKSUM]
