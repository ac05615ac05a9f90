"""Whose answers may go to whom, where many people's devices share one cache. Pure.

The origin's rules (RFC 9111, 3.5, 4.1) say what may be shared; ours are narrower. Nothing is kept
that was asked for with credentials or came with a cookie, whatever it says: origins err. Nor what
was asked for with a field that browsers don't send of their own, unless the origin says that it
tells answers apart by it (`Vary`): such a field may be a login that only a script knows, or one
that makes an origin say to all what its sender alone should hear ("cache poisoning"). Must not
know: how fresh it is, where it is kept.
"""

from __future__ import annotations

from typing import Final

from web.caching.fields import CacheControl
from web.request_fields import unusual
from wire.fields import Fields, header

READS: Final = ("GET", "HEAD")
"""Methods whose requests may be answered from a cache."""
CREDENTIALS: Final = ("authorization", "cookie", "proxy-authorization")
_OF_CONNECTIONS: Final = frozenset(("kerberos", "nego2", "negotiate", "ntlm"))
_OF_SCRIPTS: Final = frozenset(("x-requested-with",))
"""It says nothing of who asks, but servers answer scripts that send it with a part of the page."""


def may_share(method: str, asked: Fields, *, body: bool) -> bool:
    """Whether an answer to that may be kept for others, if the answer lets it (`kept_apart`)."""
    if method != "GET" or body or any(header(asked, name) for name in CREDENTIALS):
        return False
    return not header(asked, "range") and "no-store" not in CacheControl.of(asked)


def logs_connection_in(asked: Fields) -> bool:
    """Whether it may log in a connection and not itself alone: later requests over it say nothing.

    No others than Windows' schemes do (RFC 4559, 6): RFC 9110 (16.4.2) forbids it.
    """
    scheme = header(asked, "authorization").strip().partition(" ")[0].lower()
    return scheme in _OF_CONNECTIONS


def kept_apart(asked: Fields, answered: Fields) -> bool:
    """Whether who does not say the same unusual things as that request can't get its answer."""
    return _unusual(asked) <= set(varying(answered))


def may_be_given(asked: Fields, answered: Fields) -> bool:
    """Whether what anybody gets may go to who asks with credentials, or what may be some: the
    origin must have said so.

    Many answer with a page of one's own and tell caches nothing of that.
    """
    if header(asked, "authorization"):
        return False
    named = any(header(asked, name) for name in CREDENTIALS)
    if not named and kept_apart(asked, answered):
        return True
    control = CacheControl.of(answered)
    return bool({"public", "s-maxage", "immutable"} & control.arguments.keys())


def from_anybody(answered: Fields) -> bool:
    """Whether an answer that may be shared is nobody's own."""
    return not any(header(answered, name) for name in ("set-cookie", "set-cookie2"))


def varying(answered: Fields) -> tuple[str, ...]:
    """Names of the request's fields that chose this answer (RFC 9111, 4.1), sorted.

    One that lets one origin's scripts read it was chosen by Origin, and a coded one by what its
    client can decode, whether it says so or not.
    """
    names = {name.strip().lower() for name in header(answered, "vary").split(",")} - {""}
    if header(answered, "access-control-allow-origin") not in ("", "*"):
        names.add("origin")
    if header(answered, "content-encoding"):
        names.add("accept-encoding")
    return tuple(sorted(names))


def chosen_by(asked: Fields, names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What a request says in these fields; two that say the same in all get the same answer.

    Lines are joined, blanks around commas don't count, nor does the order of codings.
    """
    return tuple((name, _normal(name, header(asked, name))) for name in names)


def _normal(name: str, value: str) -> str:
    parts = [part.strip() for part in value.split(",")]
    return ",".join(sorted(parts) if name == "accept-encoding" else parts)


def _unusual(asked: Fields) -> frozenset[str]:
    names = {name for name, _ in asked}
    return (unusual(asked) | (_OF_SCRIPTS & names)) - set(CREDENTIALS)
