"""Clients that do not take our certificates, and so get their tunnels opaque from then on. Pure.

Two sorts look alike at first. One does not know our authority: it refuses every host, until someone
makes it trust us. The other trusts us but pins a host's own key. Until a client has taken one of
our certificates it counts as the first sort, and all of its hosts are left alone, so that its user
sees one error and not one a site; it's tried again after ever longer pauses. Must not know: TLS,
sockets, files.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

PIN: Final = 24 * 3600.0
"""Seconds for which a host is left alone that a trusting client has refused."""
FIRST_PAUSE: Final = 600.0
"""Seconds until a client that trusts us in nothing is tried again; doubles up to PIN."""
DOUBT: Final = 60.0
"""Seconds in which connections that end without a word add up to a refusal."""
SILENT: Final = 3
"""So many of them, to a host at which the client has never made a request. They tell of that host
alone: a busy browser drops connections that it opened ahead of need, and says nothing."""
MAX_CLIENTS: Final = 64
MAX_HOSTS: Final = 512
"""Per client."""
_MAX_NAME: Final = 256
"""Characters of a client's name that count, and of a host that is kept."""
ALL: Final = "*"
"""Stands for every host."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """One line for people."""

    client: str
    """Its User-Agent."""
    host: str
    """ALL, because it has taken none of our certificates; or one."""
    until: float


class Lesson(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a later run should know of a client. Where it has been is not among it."""

    trusts: bool
    pause: float
    left_alone: dict[str, float]
    """Hosts, or ALL, and for how many seconds yet."""


@dataclass(slots=True)
class _Client:
    changed: bool = False
    """Since its lesson was taken."""
    trusts: bool = False
    """It has taken a certificate of ours."""
    until: float = 0.0
    """All its hosts are left alone so long, while it doesn't trust."""
    pause: float = FIRST_PAUSE
    suspected: OrderedDict[str, list[float]] = field(default_factory=OrderedDict)
    """When connections to a host ended without a word."""
    hosts: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """Until when a host is left alone."""
    taken: OrderedDict[str, float] = field(default_factory=OrderedDict)
    """When a request was last made to a host, inside our TLS."""


class Rejections:
    """What was learnt about clients; bounded, forgets by itself."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, _Client] = OrderedDict()

    def __repr__(self) -> str:
        return f"<Rejections of {len(self._clients)} clients>"

    def refuses(self, host: str, client: str, *, now: float) -> bool:
        """Whether this client's tunnel to `host` must stay opaque. `client`: its User-Agent."""
        known = self._clients.get(client[:_MAX_NAME])
        if known is None:
            return False
        return known.until > now or known.hosts.get(host, 0.0) > now

    def rejected(self, host: str, client: str, *, now: float) -> str | None:
        """It refused our certificate; what that means, in words for a log, if it is news."""
        known = self._known(client)
        known.suspected.pop(host, None)
        known.taken.pop(host, None)
        if not known.trusts:
            if known.until > now:
                return None
            known.until, known.pause = now + known.pause, min(2 * known.pause, PIN)
            known.changed = True
            return (
                "this browser or program does not trust the certificates that sluice makes on this "
                "device, so its https pages pass through without being made faster; to change "
                "that, let it trust sluice's certificate authority"
            )
        return self._leave_alone(known, host, now=now, until=now + PIN)

    def suspected(self, host: str, client: str, *, now: float) -> str | None:
        """It had our certificate and left without a request: once is no news.

        Browsers open connections that they then do not need; some programs judge a certificate
        and leave without a word. What is learnt from that is soon forgotten again.
        """
        known = self._known(client)
        if now - known.taken.get(host, -PIN) < PIN:
            return None
        times = [at for at in known.suspected.get(host, []) if now - at < DOUBT]
        if len(times) + 1 >= SILENT:
            known.suspected.pop(host, None)
            return self._leave_alone(known, host, now=now, until=now + FIRST_PAUSE)
        _put(known.suspected, host, [*times, now])
        return None

    def accepted(self, host: str, client: str, *, now: float) -> None:
        """It made a request inside TLS of ours: it trusts us."""
        known = self._known(client)
        known.changed |= not known.trusts or host in known.hosts
        known.trusts, known.until, known.pause = True, 0.0, FIRST_PAUSE
        known.suspected.pop(host, None)
        known.hosts.pop(host, None)
        _put(known.taken, host, now)

    def learnt(self, *, now: float) -> tuple[Learnt, ...]:
        """All that stands, for the status page."""
        found = []
        for name, client in self._clients.items():
            if client.until > now:
                found.append(Learnt(name, ALL, client.until))
            found += [Learnt(name, h, until) for h, until in client.hosts.items() if until > now]
        return tuple(found)

    def forget(self) -> None:
        """Try everybody again, as after the authority was installed."""
        self._clients.clear()

    def lessons(self, *, now: float) -> dict[str, Lesson]:
        """The clients of which something was learnt since this was asked last, and what."""
        found = {name: known for name, known in self._clients.items() if known.changed}
        for known in found.values():
            known.changed = False
        return {name: _lesson(known, now=now) for name, known in found.items()}

    def recall(self, client: str, lesson: Lesson, *, age: float, now: float) -> None:
        """A lesson of an earlier run, `age` seconds old. What is known of the client wins."""
        if client in self._clients:
            return
        known = self._known(client)
        known.trusts = lesson.trusts
        known.pause = min(max(lesson.pause, FIRST_PAUSE), PIN)
        for host, seconds in lesson.left_alone.items():
            until = now + min(seconds, PIN) - max(age, 0.0)
            if host != ALL:
                _put(known.hosts, host, until)
            elif not known.trusts:
                known.until = until

    @staticmethod
    def _leave_alone(known: _Client, host: str, *, now: float, until: float) -> str | None:
        news = known.hosts.get(host, 0.0) <= now
        _put(known.hosts, host, until)
        known.changed = True
        if not news:
            return None
        return (
            "this program takes only the site's own certificate, so its connections to it pass "
            "through untouched for now; [local] tunnel makes that permanent"
        )

    def _known(self, client: str) -> _Client:
        name = client[:_MAX_NAME]
        known = self._clients.setdefault(name, _Client())
        self._clients.move_to_end(name)
        if len(self._clients) > MAX_CLIENTS:
            self._clients.popitem(last=False)
        return known


def _lesson(known: _Client, *, now: float) -> Lesson:
    until = {ALL: known.until, **known.hosts}
    left_alone = {
        host: at - now for host, at in until.items() if at > now and len(host) <= _MAX_NAME
    }
    return Lesson(known.trusts, known.pause, left_alone)


_T = TypeVar("_T")


def _put(table: OrderedDict[str, _T], host: str, value: _T) -> None:
    """Newest last, oldest out."""
    table[host] = value
    table.move_to_end(host)
    if len(table) > MAX_HOSTS:
        table.popitem(last=False)
