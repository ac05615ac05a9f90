"""The requests of a tab, as Chromium's Network domain tells of them, and the HAR file of them.

`Recorder` hears events; `encode` writes the archive. Pure but for subscribing. Protocol:
https://chromedevtools.github.io/devtools-protocol/tot/Network/; format: HAR 1.2,
http://www.softwareishard.com/blog/har-12-spec/. Bodies are not kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from bench.browsers.cdp import Tab

Params = dict[str, Any]

CREATOR: Final = {"name": "sluice bench", "version": "1"}
_UNKNOWN: Final = -1
"""HAR's word for what is not known or does not apply."""
_NO_TIMING: Final = {"requestTime": 0.0}
_VERSIONS: Final = {"h2": "HTTP/2", "h3": "HTTP/3", "http/1.1": "HTTP/1.1", "http/1.0": "HTTP/1.0"}


@dataclass(slots=True)
class HarExchange:
    """One request and what came of it. Times in seconds on the browser's own clock."""

    request: Params
    sent: float
    wall: float
    """Seconds since the epoch when it was sent."""
    response: Params | None = None
    ended: float | None = None
    received: int = 0
    """Bytes of the response, as they came over the network."""
    decoded: int = 0
    """Bytes of the body, decoded."""
    chunks: list[tuple[float, int]] = field(default_factory=list)
    """Seconds since the epoch, bytes of the decoded body."""
    failure: str = ""
    from_cache: bool = False


@dataclass(frozen=True, slots=True)
class Requests:
    """All requests of one page."""

    title: str
    exchanges: Sequence[HarExchange] = ()
    load_s: float | None = None

    @property
    def arrivals(self) -> list[tuple[float, int]]:
        """Bytes as they came over the network; seconds since the epoch, in order.

        Chromium says of a body's parts how long they are decoded, and of the whole what came.
        """
        found = []
        for one in self.exchanges:
            scale = one.received / one.decoded if one.received and one.decoded else 1.0
            found += [(at, round(scale * size)) for at, size in one.chunks]
        return sorted(found)

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that the page asked, with their ports where one is named."""
        return frozenset(urlsplit(one.request["url"]).netloc for one in self.exchanges)


@dataclass(slots=True)
class HarRecorder:
    """Hears one tab. Made by `on`; `take` gives what there was since the last time."""

    _exchanges: list[HarExchange] = field(default_factory=list)
    _open: dict[str, HarExchange] = field(default_factory=dict)

    @classmethod
    async def on(cls, tab: Tab) -> HarRecorder:
        recorder = cls()
        for event, handler in (
            ("requestWillBeSent", recorder.sent),
            ("requestServedFromCache", recorder.served_from_cache),
            ("responseReceived", recorder.answered),
            ("dataReceived", recorder.received),
            ("loadingFinished", recorder.finished),
            ("loadingFailed", recorder.failed),
        ):
            tab.on(f"Network.{event}", handler)
        await tab.call("Network.enable")
        return recorder

    def take(self, title: str, *, load_s: float | None = None) -> Requests:
        """All since the last call; what is still open goes with it."""
        taken = Requests(title, tuple(self._exchanges), load_s)
        self._exchanges, self._open = [], {}
        return taken

    def sent(self, params: Params) -> None:
        before = self._open.get(params["requestId"])
        if before is not None and "redirectResponse" in params:  # One id for the whole chain.
            before.response, before.ended = params["redirectResponse"], params["timestamp"]
        if not params["request"]["url"].startswith(("http:", "https:")):
            return
        exchange = HarExchange(params["request"], params["timestamp"], params["wallTime"])
        self._open[params["requestId"]] = exchange
        self._exchanges.append(exchange)

    def served_from_cache(self, params: Params) -> None:
        if exchange := self._open.get(params["requestId"]):
            exchange.from_cache = True

    def answered(self, params: Params) -> None:
        if exchange := self._open.get(params["requestId"]):
            exchange.response = params["response"]
            exchange.from_cache |= bool(params["response"].get("fromDiskCache"))

    def received(self, params: Params) -> None:
        if exchange := self._open.get(params["requestId"]):
            exchange.decoded += params["dataLength"]
            at = exchange.wall + params["timestamp"] - exchange.sent
            exchange.chunks.append((at, params["dataLength"]))

    def finished(self, params: Params) -> None:
        if exchange := self._open.get(params["requestId"]):
            exchange.ended = params["timestamp"]
            exchange.received = max(0, round(params["encodedDataLength"]))

    def failed(self, params: Params) -> None:
        if exchange := self._open.get(params["requestId"]):
            exchange.ended, exchange.failure = params["timestamp"], params["errorText"]


def encode(pages: Sequence[Requests | None]) -> bytes:
    """One archive of all pages; None: a page of which nothing is known."""
    known = [(f"page_{n}", page) for n, page in enumerate(pages) if page is not None]
    log = {
        "version": "1.2",
        "creator": CREATOR,
        "pages": [_page(name, page) for name, page in known],
        "entries": [_entry(name, one) for name, page in known for one in page.exchanges],
    }
    return (json.dumps({"log": log}, indent=1) + "\n").encode()


def _page(name: str, page: Requests) -> Params:
    began = min((one.wall for one in page.exchanges), default=0.0)
    load = _UNKNOWN if page.load_s is None else round(1e3 * page.load_s, 3)
    return {
        "startedDateTime": _date(began),
        "id": name,
        "title": page.title,
        "pageTimings": {"onContentLoad": _UNKNOWN, "onLoad": load},
    }


def _entry(page: str, one: HarExchange) -> Params:
    timings = _timings(one)
    return {
        "pageref": page,
        "startedDateTime": _date(one.wall),
        "time": round(
            sum(value for name, value in timings.items() if value > 0 and name != "ssl"), 3
        ),
        "request": _request(one),
        "response": _response(one),
        "cache": {},
        "timings": timings,
        **({"comment": "from the browser's cache"} if one.from_cache else {}),
    }


def _request(one: HarExchange) -> Params:
    body = one.request.get("postData")
    return {
        "method": one.request["method"],
        "url": one.request["url"].split("#", 1)[0],
        "httpVersion": _version(one.response),
        "cookies": [],
        "headers": _headers(one.request.get("headers", {})),
        "queryString": _pairs(
            parse_qsl(urlsplit(one.request["url"]).query, keep_blank_values=True)
        ),
        "headersSize": _UNKNOWN,
        "bodySize": len(body.encode()) if body else 0,
    }


def _response(one: HarExchange) -> Params:
    """Status 0 where there was no response, as browsers write it."""
    response = one.response or {}
    headers = response.get("headers", {})
    location = next((v for k, v in headers.items() if k.lower() == "location"), "")
    return {
        "status": response.get("status", 0),
        "statusText": response.get("statusText", "") or one.failure,
        "httpVersion": _version(one.response),
        "cookies": [],
        "headers": _headers(headers),
        "content": {"size": one.decoded, "mimeType": response.get("mimeType", "x-unknown")},
        "redirectURL": location,
        "headersSize": _UNKNOWN,
        "bodySize": 0 if one.from_cache else one.received or _UNKNOWN,
    }


def _timings(one: HarExchange) -> dict[str, float]:
    """Milliseconds of each phase."""
    got = (one.response or {}).get("timing") or _NO_TIMING
    ended = one.sent if one.ended is None else one.ended
    if got is _NO_TIMING:
        whole = max(0.0, round(1e3 * (ended - one.sent), 3))
        return _phases(blocked=_UNKNOWN, send=0, wait=whole, receive=0)
    began = got["requestTime"]
    heads = began + got["receiveHeadersEnd"] / 1e3
    return _phases(
        blocked=max(0.0, 1e3 * (began - one.sent)),
        dns=_between(got, "dnsStart", "dnsEnd"),
        connect=_between(got, "connectStart", "connectEnd"),
        ssl=_between(got, "sslStart", "sslEnd"),
        send=max(0.0, got["sendEnd"] - got["sendStart"]),
        wait=max(0.0, got["receiveHeadersEnd"] - got["sendEnd"]),
        receive=max(0.0, 1e3 * (ended - heads)),
    )


def _phases(**known: float) -> dict[str, float]:
    names = ("blocked", "dns", "connect", "send", "wait", "receive", "ssl")
    return {name: round(known.get(name, _UNKNOWN), 3) for name in names}


def _between(timing: Params, start: str, end: str) -> float:
    return _UNKNOWN if timing.get(start, -1) < 0 else max(0.0, timing[end] - timing[start])


def _version(response: Params | None) -> str:
    protocol = str((response or {}).get("protocol") or "unknown")
    return _VERSIONS.get(protocol, protocol)


def _headers(headers: Params) -> list[Params]:
    """A header that came twice is one text with line breaks in it."""
    return _pairs((name, part) for name, value in headers.items() for part in value.split("\n"))


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[Params]:
    return [{"name": name, "value": value} for name, value in pairs]


def _date(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="milliseconds")
