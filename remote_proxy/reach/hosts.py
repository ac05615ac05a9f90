"""Understands a host however it is written. Pure.

One address has many notations: decimal, octal, hexadecimal, short, mapped, full-width digits. They
are read here as the most generous of resolvers reads them, so that none of them gets past the
guard as a mere name. Must not know what may be reached. Sources: WHATWG URL, 3.5 (hosts; "ends in
a number", the IPv4 parser), RFC 4007, 11 (zone ids), RFC 6761, 6.3 (localhost).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import unquote

Address = IPv4Address | IPv6Address

MAX_NAME: Final = 253
"""Characters (RFC 1035, 2.3.4)."""
_DOTS: Final = str.maketrans("\u3002\uff0e\uff61", "...")
"""What IDNA takes for full stops (RFC 3490, 3.1)."""
_DIGITS: Final = {8: "01234567", 10: "0123456789", 16: "0123456789abcdef"}


@dataclass(frozen=True, slots=True)
class Host:
    """A name, or an address literal."""

    name: str
    """Lower case, without a final dot; of a literal its one proper notation."""
    address: Address | None = None
    proper: bool = True
    """The literal was written in its one proper notation."""
    zone: str = ""
    absolute: bool = False
    """The name had a final dot: no search domain is to be tried."""

    @property
    def is_localhost(self) -> bool:
        """Names of loopback, which no resolver is to be asked for (RFC 6761, 6.3)."""
        return self.name == "localhost" or self.name.endswith(".localhost")


def parse(text: str) -> Host:
    """The host that a URL or an authority names; brackets may be there. Raises ValueError."""
    return _remembered(text) if len(text) <= MAX_NAME else _parse(text)


def _parse(text: str) -> Host:
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    plain = unicodedata.normalize("NFKC", unquote(bare)).translate(_DOTS).lower()
    if ":" in plain:
        literal, _, zone = plain.partition("%")
        address = IPv6Address(literal)
        return Host(str(address), address, True, zone)
    name = plain[:-1] if plain.endswith(".") else plain
    if not 0 < len(name) <= MAX_NAME or not all(name.split(".")):
        raise ValueError(f"{text!r} is no host")
    if not _ends_in_a_number(name):
        return Host(name, absolute=plain.endswith("."))
    number = _ipv4(name)
    return Host(str(number), number, proper=text == str(number))


_remembered: Final = lru_cache(maxsize=1024)(_parse)
"""A page names the same host a hundred times."""


def _ends_in_a_number(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.isdecimal() or (last.startswith("0x") and _is_number(last[2:] or "0", 16))


def _ipv4(name: str) -> IPv4Address:
    """One to four numbers, of which the last fills what is left (the IPv4 parser)."""
    numbers = [_number(part) for part in name.split(".")]
    *heads, last = numbers
    if len(numbers) > 4 or any(head > 255 for head in heads) or last >= 256 ** (5 - len(numbers)):
        raise AddressValueError(f"{name!r} is no address")
    return IPv4Address(last + sum(head << (24 - 8 * at) for at, head in enumerate(heads)))


def _number(part: str) -> int:
    digits, base = part, 10
    if part.startswith("0x"):
        digits, base = part[2:] or "0", 16
    elif part.startswith("0") and len(part) > 1:
        digits, base = part[1:], 8
    if not _is_number(digits, base):
        raise AddressValueError(f"{part!r} is no number")
    return int(digits[-64:], base) if not digits[:-64].strip("0") else 1 << 32


def _is_number(digits: str, base: int) -> bool:
    return bool(digits) and all(digit in _DIGITS[base] for digit in digits)
