"""Preflights: what an origin is asked before scripts of another one may ask it more than forms can.

Sources: Fetch, 2.2.1 and 2.2.2 (CORS-safelisted methods, CORS-unsafe request-header names), 4.9
(CORS check), 4.8 (CORS-preflight fetch). Pure.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple, Self

from wire.fields import Fields, header

SAFE_METHODS: Final = ("GET", "HEAD", "POST")
"""Forms can do as much (Fetch, 2.2.1)."""
METHOD: Final = "access-control-request-method"
NAMES: Final = "access-control-request-headers"
"""Fields by which a preflight says what it asks for."""
DEFAULT_AGE: Final = 5.0
"""Seconds for which leave holds that says nothing of it (Fetch, 4.8, step 7.8)."""
MAX_AGE: Final = 7200.0
"""Seconds for which it holds at most; Chromium's limit."""
SAFE_BY_VALUE: Final = frozenset(("accept", "accept-language", "content-language", "range"))
"""Fields of which a form, or a browser by itself, can send some values (Fetch, 2.2.2)."""
_SAFE_TYPES: Final = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
_UNSAFE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\"():<>?@\[\\\]{}\x7f]")
_SAFE_LENGTH: Final = 128
"""Characters of a value, of which a longer one is not safe."""
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_AGE: Final = re.compile(r"[0-9]{1,9}")


class Preflight(NamedTuple):
    """What is asked for: a method, and fields that no form can send."""

    method: str
    names: tuple[str, ...]
    """In lower case."""

    @classmethod
    def of(cls, fields: Fields) -> Self | None:
        """What these fields of a preflight ask for; None: nothing, or it can't be read."""
        method, said = header(fields, METHOD), header(fields, NAMES)
        names = _list(said) if said else ()
        if names is None or not _TOKEN.fullmatch(method):
            return None
        return cls(method, tuple(name.lower() for name in names))

    @property
    def shows(self) -> bool:
        """Whether the request that follows shows by its fields' names that it needs leave, or by
        its type: not by other values, or by how much it is in all."""
        plain = self.method in SAFE_METHODS and not self.names
        return not plain and SAFE_BY_VALUE.isdisjoint(self.names)

    def fits(self, method: str, fields: Fields) -> bool:
        """Whether a request may be the one that it was asked for, and is none that needs no leave,
        as a page may send where it does not get that."""
        if method != self.method or not {name for name, _ in fields}.issuperset(self.names):
            return False
        return "content-type" not in self.names or not _is_safe(header(fields, "content-type"))


class Leave(Enum):
    """What an answer to a preflight comes to."""

    GIVEN = "given"
    REFUSED = "refused"
    UNLESS_INCLUDED = "unless included"
    """By a star that names nothing to scripts that want credentials sent, of which there may be
    none: given to others."""


def has_credentials(fields: Fields, asked: Preflight) -> bool:
    """Whether a browser has added any to a request; what its script has written is asked for."""
    logged_in = bool(header(fields, "authorization")) and "authorization" not in asked.names
    return logged_in or bool(header(fields, "cookie"))


def may_be_read(answer: Fields, origin: str, *, credentials: bool) -> bool:
    """The CORS check: whether scripts of this origin may have the answer."""
    allowed = header(answer, "access-control-allow-origin")
    if allowed == "*" and not credentials:
        return True
    return allowed == origin and (not credentials or _trusts(answer))


def leave(
    status: int, answer: Fields, asked: Preflight, *, origin: str, credentials: bool
) -> Leave:
    """Whether this answer lets scripts of `origin` do what they have asked for.

    `credentials`: their request has some. One that has none may be of a script that wants them sent
    all the same: what cannot be told is said so, but where the answer lets anybody read, whose
    request is nobody's. A star names `authorization` as well, as it does in Chromium and Firefox;
    the standard says otherwise.
    """
    if not 200 <= status <= 299 or not may_be_read(answer, origin, credentials=credentials):
        return Leave.REFUSED
    methods = _list(header(answer, "access-control-allow-methods"))
    names = _list(header(answer, "access-control-allow-headers"))
    if methods is None or names is None:
        return Leave.REFUSED
    named = {name.lower() for name in names}.issuperset(asked.names)
    if named and asked.method in (*methods, *SAFE_METHODS):
        return Leave.GIVEN
    named = named or "*" in names
    starred = named and (asked.method in (*methods, *SAFE_METHODS) or "*" in methods)
    if credentials or not starred:
        return Leave.REFUSED
    return Leave.UNLESS_INCLUDED if _trusts(answer) else Leave.GIVEN


def lifetime(answer: Fields) -> float:
    """Seconds for which leave holds."""
    said = header(answer, "access-control-max-age")
    return min(float(said), MAX_AGE) if _AGE.fullmatch(said) else DEFAULT_AGE


def _is_safe(content_type: str) -> bool:
    """Whether a form can send this type."""
    essence = content_type.partition(";")[0].strip(" \t").lower()
    odd = len(content_type) > _SAFE_LENGTH or _UNSAFE.search(content_type)
    return essence in _SAFE_TYPES and not odd


def _trusts(answer: Fields) -> bool:
    return header(answer, "access-control-allow-credentials") == "true"


def _list(said: str) -> list[str] | None:
    """The tokens of a list; None: it has something else in it."""
    found = [one.strip(" \t") for one in said.split(",")]
    tokens = [one for one in found if one]
    return tokens if all(_TOKEN.fullmatch(one) for one in tokens) else None
