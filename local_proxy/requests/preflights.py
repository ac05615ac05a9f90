"""Answers browsers' preflights here, and has what follows go with the question.

Before a script may ask another origin more than a form can, its browser asks that origin for leave
(Fetch, 4.8): a round trip of the slow link for each address that a script calls. Here it gets leave
at once, for this one request; the remote proxy asks the origin, and sends the request on only if
the origin agrees (remote_proxy/origin/preflights.py). To the origin and to the script nothing is
different.

So no request may get past that for which leave was given here. What was answered stays known long
after its request must have come; where that is too much, browsers ask their origins themselves.
Must not know: the link, what origins allow.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final, TypeVar

from local_proxy.http.model import WITHIN, Request, Response
from local_proxy.http.request_rules import end_to_end
from web.cors import METHOD, NAMES, SAFE_METHODS, Preflight, has_credentials
from wire.abilities import Takes
from wire.fields import header, without

MOST: Final = 4096
"""Different ones that are remembered,"""
MAX_NAMES: Final = 1024
"""and characters of the names that one asks for."""
FORGOTTEN: Final = 600.0
"""Seconds after which one is, should its place be needed: browsers send what follows at once."""
_SCRIPTED: Final = "Mozilla/"
_TAKEN: Final = frozenset(
    ("expect", "host", "if-modified-since", "if-none-match", "priority", "content-length", WITHIN)
)
"""Fields that fronts, or decisions before this one, take out of requests or change,"""
_MORE: Final = "access-control-request-"
"""and others of that name ask for more."""

_Place = bytes
"""Names who asks whom."""
T = TypeVar("T")


class AnsweredPreflights:
    """What browsers of one local proxy have been told."""

    def __init__(self) -> None:
        self.answered = 0
        """How many there were."""
        self._at: OrderedDict[tuple[_Place, Preflight], float] = OrderedDict()
        """When each was answered last; the latest last."""
        self._asked: dict[_Place, set[Preflight]] = {}
        self._led_back: OrderedDict[_Place, None] = OrderedDict()
        """Who is to ask for itself, once;"""
        self._passes: OrderedDict[tuple[_Place, Preflight], None] = OrderedDict()
        """and has, so that what follows is as its browser has judged it."""

    def answer(self, request: Request, *, now: float) -> Response | None:
        """Leave for what it asks; None: it is for its origin."""
        asked = _preflight(request)
        if asked is None:
            return None
        place = _place(request)
        if place in self._led_back:
            del self._led_back[place]
            _add(self._passes, (place, asked))
            return None
        if not self._remember(place, asked, now):
            return None
        self._passes.pop((place, asked), None)  # what comes now has not been judged
        self.answered += 1
        fields = [
            ("access-control-allow-origin", header(request.headers, "origin")),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", asked.method),
            ("access-control-allow-headers", ", ".join(asked.names)),
            ("access-control-max-age", "0"),  # so that each request has one of its own
        ]
        return Response(204, fields)

    def follow(self, request: Request) -> Request:
        """The request; if leave for it was given here, with the word that its origin is to be
        asked."""
        fields = request.headers
        if not self._asked or header(fields, "sec-fetch-mode") != "cors":
            return request
        place = _place(request)
        known = [one for one in self._asked.get(place, ()) if one.method == request.method]
        fits = [one for one in known if one.fits(request.method, fields)]
        if not fits and request.method not in SAFE_METHODS:
            fits = known  # it needs leave, and the remote proxy refuses what it can't explain
        if not fits:
            return request
        asked = max(fits, key=lambda one: len(one.names))
        if (place, asked) in self._passes and not has_credentials(fields, asked):
            del self._passes[place, asked]
            return request
        own = [*without(fields, (METHOD, NAMES)), (METHOD, asked.method)]
        if asked.names:
            own.append((NAMES, ",".join(asked.names)))
        return replace(request, headers=own, takes=request.takes | Takes.PREFLIGHT)

    def answered_with(self, request: Request, response: Response) -> None:
        """Such a request has got this: where that leads to the same address its browser is to hear
        from the origin whether it may."""
        led = response.status == 307 and header(response.headers, "location") == request.url
        if led and request.takes & Takes.PREFLIGHT:
            _add(self._led_back, _place(request))

    def _remember(self, place: _Place, asked: Preflight, now: float) -> bool:
        """False: there is no room for one more."""
        if (place, asked) not in self._at and len(self._at) >= MOST:
            (other, oldest), at = next(iter(self._at.items()))
            if now - at < FORGOTTEN:
                return False
            del self._at[other, oldest]
            self._asked[other].discard(oldest)
            if not self._asked[other]:
                del self._asked[other]
        self._at[place, asked] = now
        self._at.move_to_end((place, asked))
        self._asked.setdefault(place, set()).add(asked)
        return True


def _add(known: OrderedDict[T, None], one: T) -> None:
    known[one] = None
    if len(known) > MOST:
        known.popitem(last=False)


def _place(request: Request) -> _Place:
    fields = request.headers
    parts = request.url, header(fields, "origin"), header(fields, "user-agent")
    return sha256("\0".join(parts).encode("utf-8", "surrogateescape")).digest()


def _preflight(request: Request) -> Preflight | None:
    """What a browser's preflight asks for; None: it is none that can be answered here."""
    fields = request.headers
    if request.method != "OPTIONS" or request.body is not None or request.original:
        return None
    if header(fields, "sec-fetch-mode") != "cors" or not header(fields, "origin"):
        return None
    if not header(fields, "user-agent").startswith(_SCRIPTED):
        return None
    if header(fields, "cookie") or header(fields, "authorization"):
        return None
    if len(header(fields, NAMES)) > MAX_NAMES:
        return None
    if any(name.startswith(_MORE) and name not in (METHOD, NAMES) for name, _ in fields):
        return None
    asked = Preflight.of(fields)
    return asked if asked is not None and asked.shows and _arrive(asked.names) else None


def _arrive(names: Sequence[str]) -> bool:
    """Whether fields of these names come here as a browser sends them."""
    come = end_to_end([(name, "") for name in names])
    return len(come) == len(names) and _TAKEN.isdisjoint(names)
