"""Header fields as both proxies hold them: names in lower case, in order, repeated as they came.

Pure. Sources: RFC 9110, 5 and 7.6.1; RFC 7541.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

Headers = list[tuple[str, str]]
"""Fields that whoever has them may change."""
Fields = Sequence[tuple[str, str]]
"""Fields to read."""

REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
"""Statuses of an answer whose Location leads on (RFC 9110, 15.4)."""
FIELD: Final = 8
"""Bytes that HPACK adds to a field at most, for its lengths (RFC 7541, 6.2)."""
MAX_REQUEST: Final = 50_000
"""Bytes of a request's fields: with its URL they must fit a frame (wire.messages.MAX_MESSAGE)."""
MAX_RESPONSE: Final = 60_000
"""Bytes of a response's fields: with its message they must fit a frame."""


def header(fields: Fields, name: str, default: str = "") -> str:
    """The value of a field, repeated ones joined with ", " (RFC 9110, 5.3)."""
    values = [value for key, value in fields if key == name]
    return ", ".join(values) if values else default


def size(fields: Fields) -> int:
    """Bytes that they take on the link at most."""
    return sum(len(name) + len(value) + FIELD for name, value in fields)


def of_connection(fields: Iterable[tuple[str, str]]) -> set[str]:
    """Names of fields that concern this connection only, as its sender says (RFC 9110, 7.6.1)."""
    return {
        token.strip().lower()
        for name, value in fields
        if name == "connection"
        for token in value.split(",")
    }


def without(fields: Iterable[tuple[str, str]], names: Collection[str]) -> Headers:
    """The fields but for those of these names."""
    return [(name, value) for name, value in fields if name not in names]
