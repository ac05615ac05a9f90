"""Limits what one device may use of the remote proxy, and counts what it has used. Pure.

A device that runs wild, or is in wrong hands, must not take what others need: each has requests
under way, requests a minute, tunnels and bytes a day of its own. People never meet the defaults;
what is fetched unasked stops first (`spare`). Must not know sessions, sockets or how a device is
told from another. Source: Turner, "New directions in communications" (the token bucket).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

DAY: Final = 86_400.0
"""Seconds. A day begins with a device's first byte: its midnight may be elsewhere than ours."""
NEAR: Final = 0.75
"""Share of a limit from which nothing is fetched unasked: the rest is for what people ask for."""
MAX_KNOWN: Final = 1024
"""Devices remembered, of which those idle for longest are forgotten."""
UNLIMITED: Final = 1 << 30
"""More requests than there will be."""


@dataclass(frozen=True, slots=True)
class Limits:
    """For each device. 0: no limit."""

    requests: int = 1024
    """Under way at a time. A page's prefetches are 256 at most, a browser asks for 6 to a host."""
    requests_per_minute: int = 6000
    """Twenty pages of three hundred parts each, opened within one minute."""
    connections: int = 256
    """To origins, what browsers keep in all (Chromium's pool); tunnels as many again."""
    bytes_per_day: int = 0
    """Bodies and tunnels, both ways, between the remote proxy and origins. Nobody but the operator
    knows what traffic costs, so there is none by default."""


@dataclass(frozen=True, slots=True)
class Exceeded:
    """Which limit a device has met. `str()` is for people."""

    status: HTTPStatus
    what: str
    setting: str
    again: str
    retry: int = 0
    """Seconds after which asking again makes sense; 0: that depends on what is under way."""

    def __str__(self) -> str:
        return f"This device {self.what}, which is its limit (remote.{self.setting}). {self.again}"


@dataclass(frozen=True, slots=True)
class UsageStatistics:
    """A snapshot for logs and tests."""

    requests: int
    """Under way."""
    tunnels: int
    """Of these."""
    requests_made: int
    requests_refused: int
    bytes_today: int


class TokenBucket:
    """So many a minute, all of them at once after a minute's rest."""

    def __init__(self, per_minute: int) -> None:
        self._size = float(per_minute)
        self._tokens = self._size
        self._at: float | None = None

    def left(self, now: float) -> float:
        """Tokens there are at `now` (seconds, any origin)."""
        if self._at is not None:
            now = max(now, self._at)
            gained = (now - self._at) * self._size / 60
            self._tokens = min(self._size, self._tokens + gained)
        self._at = now
        return self._tokens

    def take(self, now: float) -> bool:
        """One of them, if there is one."""
        if self.left(now) < 1:
            return False
        self._tokens -= 1
        return True

    def wait(self, now: float) -> float:
        """Seconds until there is one."""
        return max(0.0, 1 - self.left(now)) * 60 / self._size


class Usage:
    """What one device uses. `now`: seconds, monotonic."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._bucket = TokenBucket(limits.requests_per_minute)
        self._requests = 0
        self._tunnels = 0
        self._made = 0
        self._refused = 0
        self._bytes = 0
        self._elsewhere = 0
        """Bytes of the same day that others have moved for it."""
        self._day_began: float | None = None

    def moved(self, *, now: float) -> int:
        """Bytes of its day that have passed here."""
        self._new_day(now)
        return self._bytes

    def elsewhere(self, amount: int, *, left: float, now: float) -> None:
        """Other remotes have moved so many bytes for it in a day that ends in `left` seconds."""
        self._new_day(now)
        self._elsewhere = amount
        self._day_began = now + left - DAY

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        return not self._requests

    def begin(self, *, now: float, tunnel: bool = False) -> Exceeded | None:
        """A request begins; counted unless it meets a limit. Each is to `end`."""
        exceeded = self._exceeded(now, tunnel=tunnel)
        if exceeded is not None:
            self._refused += 1
            return exceeded
        self._requests += 1
        self._tunnels += tunnel
        self._made += 1
        return None

    def end(self, *, tunnel: bool = False) -> None:
        """A request that began has ended."""
        self._requests -= 1
        self._tunnels -= tunnel

    def spend(self, amount: int, *, now: float) -> Exceeded | None:
        """Bytes have passed. Whoever moved them is to stop where they are too many."""
        self._new_day(now)
        if self._day_began is None:
            self._day_began = now
        self._bytes += amount
        # The last byte that is allowed ends nothing.
        return self._bytes_exceeded(now) if self._all > self._limits.bytes_per_day else None

    def spare(self, *, now: float) -> int:
        """How many requests that nobody asked for may begin."""
        limits = self._limits
        self._new_day(now)
        if limits.bytes_per_day and self._all >= NEAR * limits.bytes_per_day:
            return 0
        spare = [UNLIMITED]
        if limits.requests:
            spare.append(int(NEAR * limits.requests) - self._requests)
        if limits.requests_per_minute:
            kept = (1 - NEAR) * limits.requests_per_minute
            spare.append(int(self._bucket.left(now) - kept))
        return max(0, min(spare))

    def statistics(self, *, now: float) -> UsageStatistics:
        """Counts for logs and tests."""
        self._new_day(now)
        return UsageStatistics(self._requests, self._tunnels, self._made, self._refused, self._all)

    @property
    def _all(self) -> int:
        """Bytes of its day, wherever they passed."""
        return self._bytes + self._elsewhere

    def _exceeded(self, now: float, *, tunnel: bool) -> Exceeded | None:
        limits = self._limits
        if exceeded := self._bytes_exceeded(now):
            return exceeded
        if limits.requests and self._requests >= limits.requests:
            return Exceeded(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"has {self._requests} requests under way",
                "max_requests",
                "It may ask again when one of them has ended.",
            )
        if tunnel and limits.connections and self._tunnels >= limits.connections:
            return Exceeded(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"has {self._tunnels} tunnels open",
                "max_connections",
                "It may open another when one of them has closed.",
            )
        if limits.requests_per_minute and not self._bucket.take(now):
            return Exceeded(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"has made {limits.requests_per_minute} requests within a minute",
                "max_requests_per_minute",
                f"It may ask again in {in_words(self._bucket.wait(now))}.",
                math.ceil(self._bucket.wait(now)),
            )
        return None

    def _bytes_exceeded(self, now: float) -> Exceeded | None:
        self._new_day(now)
        if not self._limits.bytes_per_day or self._all < self._limits.bytes_per_day:
            return None
        assert self._day_began is not None
        rest = self._day_began + DAY - now
        return Exceeded(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"has moved {self._all / 1e6:,.1f} MB within a day",
            "max_bytes_per_day",
            f"It may go on in {in_words(rest)}.",
            math.ceil(rest),
        )

    def _new_day(self, now: float) -> None:
        if self._day_began is not None and now >= self._day_began + DAY:
            self._bytes, self._elsewhere, self._day_began = 0, 0, None


class Devices:
    """The usage of each device, which outlives its links: a new link is no new allowance."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._known: OrderedDict[str, Usage] = OrderedDict()

    @property
    def known(self) -> int:
        """How many are remembered."""
        return len(self._known)

    def each(self) -> list[tuple[str, Usage]]:
        """All that are remembered, by name."""
        return list(self._known.items())

    def of(self, device: str) -> Usage:
        """The usage of the device by this name."""
        usage = self._known.setdefault(device, Usage(self._limits))
        self._known.move_to_end(device)
        if len(self._known) > MAX_KNOWN:
            idle = (name for name, one in self._known.items() if one.idle and one is not usage)
            if (oldest := next(idle, None)) is not None:
                del self._known[oldest]
        return usage


def in_words(seconds: float) -> str:
    """A time for people, never shorter than it is: "1 s", "3 min", "5 h 20 min"."""
    whole = max(1, int(seconds) + (seconds > int(seconds)))
    if whole < 60:
        return f"{whole} s"
    minutes = -(-whole // 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


Count = Callable[[int], None]
"""Told of bytes that have passed; raises OriginError where they are too many."""
