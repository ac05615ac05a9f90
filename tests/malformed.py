"""Bytes at which msgspec ends with errors that are not its own."""

from __future__ import annotations

from typing import Final

NESTED: Final = b"\x91" * 4_000 + b"\xc0"
"""MessagePack, deeper than a decoder goes: for behind the fields of an array."""
NO_UTF8: Final = b"\xa1\xff"
"""MessagePack's string of one byte."""
NESTED_JSON: Final = b'{"more":' + b"[" * 4_000 + b"]" * 4_000 + b"}"
"""Its depth is in a field that nobody has asked for."""
