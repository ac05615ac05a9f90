"""Whether a request comes from the user who runs the local proxy, on this machine.

What our own pages tell (what was browsed, tokens) and do (switches, starting programs) is that
user's alone; other users of the machine reach the same port. Linux tells whose a connection is
(users.py). Where nothing tells, a key does that only the user can read: programs send it in a
field, browsers in a cookie that they get by `http://sluice.local/?key=...`.
"""

from __future__ import annotations

import hmac
import os
import secrets
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import structlog

from local_proxy.front.clients import is_here
from local_proxy.front.users import user_at
from local_proxy.http.model import Request, Response
from local_proxy.kept.threads import USERS
from pairing.errors import PairingError
from pairing.files import read_private, write_private
from wire.fields import header

FIELD: Final = "x-sluice-key"
COOKIE: Final = "sluice-key"
_FILE: Final = "key"
"""In the state folder, mode 0600. It is made once, and is good for all proxies of this user."""
_log = structlog.get_logger("sluice.local")


class Owner:
    """Tells the owner's requests from others' requests."""

    def __init__(self, folder: Path | None) -> None:
        """`folder`: where the key is kept; None: there is none."""
        self._key = b""
        if folder is None:
            return
        try:
            write_private(folder / _FILE, secrets.token_urlsafe(24).encode(), replace=False)
            self._key = key(folder)
        except PairingError as error:
            _log.warning("there is no key to our own pages", why=str(error))

    async def asks(self, request: Request) -> bool:
        """Whether the request is the owner's own."""
        client, reached = request.peer, request.reached
        if client is None or reached is None or not is_here(client, reached):
            return False
        if self._is_key(header(request.headers, FIELD)) or self._is_key(_cookie(request)):
            return True
        return hasattr(os, "getuid") and (await USERS.run(user_at, client, reached) == os.getuid())

    def greets(self, request: Request) -> Response | None:
        """The answer to an address that has the key: a cookie, and the page without it."""
        parts = urlsplit(request.url)
        given = parse_qs(parts.query).get("key", [""])[0]
        if request.method != "GET" or not self._is_key(given):
            return None
        if not is_here(request.peer, request.reached):
            return None
        cookie = f"{COOKIE}={given}; HttpOnly; SameSite=Strict; Path=/"
        headers = [("location", parts.path or "/"), ("set-cookie", cookie)]
        return Response(303, [*headers, ("cache-control", "no-store")])

    def _is_key(self, given: str) -> bool:
        return bool(self._key) and hmac.compare_digest(given.encode(), self._key)


def key(folder: Path) -> bytes:
    """The key that is kept there; empty: none. Raises PairingError."""
    return read_private(folder / _FILE) or b""


def _cookie(request: Request) -> str:
    try:
        found = SimpleCookie(header(request.headers, "cookie")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""
