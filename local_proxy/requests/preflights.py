"""Answers browsers' preflights here, and has what follows go with the question.

Before a script may ask another origin more than a form can, its browser asks that origin for leave
(Fetch, 4.8): a round trip of the slow link for each address that a script calls. Here it gets leave
at once, for this one request; the remote proxy asks the origin, and sends the request on only if
the origin agrees (remote_proxy/origin/preflights.py). To the origin and to the script nothing is
different.

So no request may get past that for which leave was given here. What was answered stays known until
its request has come; where too many have not, browsers ask their origins themselves. Must not know:
the link, what origins allow.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from local_proxy.http.model import Request, Response
from web.cors import METHOD, NAMES, Preflight
from wire.abilities import Takes
from wire.fields import header, without

MOST: Final = 1000
"""Answers whose requests have not come. Browsers send those at once, or never."""
FORGOTTEN: Final = 600.0
"""Seconds after which one has no request any more, should the place be needed."""
_SCRIPTED: Final = "Mozilla/"
_ELSE: Final = ("cookie", "authorization", "access-control-request-private-network")
"""Fields with which it is no preflight, or one that asks for more."""


class _Place(NamedTuple):
    """Who asks whom."""

    url: str
    origin: str
    client: str

    @classmethod
    def of(cls, request: Request) -> _Place:
        fields = request.headers
        return cls(request.url, header(fields, "origin"), header(fields, "user-agent"))


@dataclass(slots=True)
class _Answered:
    """AnsweredPreflights that ask for the same."""

    asked: Preflight
    at: float
    """When the newest was answered."""
    waiting: int = 0
    """Requests that have not come."""


class AnsweredPreflights:
    """What browsers of one local proxy have been told, and whose requests are to come."""

    def __init__(self) -> None:
        self.answered = 0
        """How many there were."""
        self._places: OrderedDict[_Place, list[_Answered]] = OrderedDict()
        """Of which requests are to come, the latest last."""
        self._waiting = 0
        self._led_back: OrderedDict[_Place, None] = OrderedDict()
        """Who is to ask for itself, once."""

    def answer(self, request: Request, *, now: float) -> Response | None:
        """Leave for what it asks; None: it is for its origin."""
        asked = _preflight(request)
        if asked is None or not self._has_room(now):
            return None
        place = _Place.of(request)
        if place in self._led_back:
            del self._led_back[place]
            return None
        here = self._places.setdefault(place, [])
        self._places.move_to_end(place)
        one = next((one for one in here if one.asked == asked), None)
        if one is None:
            one = _Answered(asked, now)
            here.append(one)
        one.at, one.waiting = now, one.waiting + 1
        self._waiting += 1
        self.answered += 1
        fields = [
            ("access-control-allow-origin", place.origin),
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
        if not self._places or header(fields, "sec-fetch-mode") != "cors":
            return request
        place = _Place.of(request)
        here = self._places.get(place, [])
        fits = [one for one in here if one.asked.fits(request.method, fields)]
        if not fits:
            return request
        one = max(fits, key=lambda one: (len(one.asked.names), one.waiting))
        self._waiting -= 1
        one.waiting -= 1
        if not one.waiting:
            here.remove(one)
            if not here:
                del self._places[place]
        own = without(fields, (METHOD, NAMES))
        own.append((METHOD, one.asked.method))
        if one.asked.names:
            own.append((NAMES, ",".join(one.asked.names)))
        return replace(request, headers=own, takes=request.takes | Takes.PREFLIGHT)

    def answered_with(self, request: Request, response: Response) -> None:
        """Such a request has got this: where that leads to the same address its browser is to hear
        from the origin whether it may."""
        led = response.status == 307 and header(response.headers, "location") == request.url
        if led and request.takes & Takes.PREFLIGHT:
            self._led_back[_Place.of(request)] = None
            if len(self._led_back) > MOST:
                self._led_back.popitem(last=False)

    def _has_room(self, now: float) -> bool:
        """Whether one more may wait, be it for those that have waited for long."""
        while self._waiting >= MOST:
            place, here = next(iter(self._places.items()))
            if now - max(one.at for one in here) < FORGOTTEN:
                return False
            self._waiting -= sum(one.waiting for one in here)
            del self._places[place]
        return True


def _preflight(request: Request) -> Preflight | None:
    """What a browser's preflight asks for; None: it is none that can be answered here."""
    fields = request.headers
    if request.method != "OPTIONS" or request.body is not None or request.original:
        return None
    if header(fields, "sec-fetch-mode") != "cors" or not header(fields, "origin"):
        return None
    if not header(fields, "user-agent").startswith(_SCRIPTED):
        return None
    if any(header(fields, name) for name in _ELSE):
        return None
    asked = Preflight.of(fields)
    return None if asked is None or asked.is_plain else asked
