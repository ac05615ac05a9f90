"""HAR 1.2 from events, held against the format's own description; the browser's own requests."""

from __future__ import annotations

from typing import Any

import msgspec

from bench.browsers import chatter
from bench.reports.har import HarRecorder, encode


class Pair(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    value: str


class Request(msgspec.Struct, forbid_unknown_fields=True):
    method: str
    url: str
    httpVersion: str
    cookies: list[Pair]
    headers: list[Pair]
    queryString: list[Pair]
    headersSize: int
    bodySize: int


class Content(msgspec.Struct, forbid_unknown_fields=True):
    size: int
    mimeType: str


class Response(msgspec.Struct, forbid_unknown_fields=True):
    status: int
    statusText: str
    httpVersion: str
    cookies: list[Pair]
    headers: list[Pair]
    content: Content
    redirectURL: str
    headersSize: int
    bodySize: int


class Timings(msgspec.Struct, forbid_unknown_fields=True):
    blocked: float
    dns: float
    connect: float
    send: float
    wait: float
    receive: float
    ssl: float


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    pageref: str
    startedDateTime: str
    time: float
    request: Request
    response: Response
    cache: dict[str, Any]
    timings: Timings
    comment: str = ""


class PageTimings(msgspec.Struct, forbid_unknown_fields=True):
    onContentLoad: float
    onLoad: float


class Page(msgspec.Struct, forbid_unknown_fields=True):
    startedDateTime: str
    id: str
    title: str
    pageTimings: PageTimings


class Log(msgspec.Struct, forbid_unknown_fields=True):
    version: str
    creator: dict[str, str]
    pages: list[Page]
    entries: list[Entry]


class Har(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file, as the specification lists its fields."""

    log: Log


def sent(number: str, url: str, *, at: float = 10.0, **more: Any) -> dict[str, Any]:
    request = {"method": "GET", "url": url, "headers": {"Accept": "*/*"}}
    return {
        "requestId": number, "request": request, "timestamp": at, "wallTime": 1.7e9 + at, **more
    }  # fmt: skip


def answer(status: int = 200, **headers: str) -> dict[str, Any]:
    timing = {
        "requestTime": 10.1, "dnsStart": -1, "dnsEnd": -1, "connectStart": 0.0, "connectEnd": 40.0,
        "sslStart": -1, "sslEnd": -1, "sendStart": 40.0, "sendEnd": 41.0,
        "receiveHeadersEnd": 141.0,
    }  # fmt: skip
    return {
        "status": status, "statusText": "OK", "headers": headers, "mimeType": "text/html",
        "protocol": "http/1.1", "timing": timing,
    }  # fmt: skip


def test_an_archive_has_the_form_that_the_specification_gives() -> None:
    recorder = HarRecorder()
    recorder.sent(sent("1", "http://h/?a=1&b=#x"))
    redirect = answer(302, Location="/two")
    recorder.sent(sent("1", "http://h/two", at=10.5, redirectResponse=redirect))
    recorder.answered({"requestId": "1", "response": answer(**{"Set-Cookie": "a=1\nb=2"})})
    recorder.received(
        {"requestId": "1", "timestamp": 10.9, "dataLength": 700, "encodedDataLength": 300}
    )
    recorder.finished({"requestId": "1", "timestamp": 11.0, "encodedDataLength": 400})
    recorder.sent(sent("2", "data:text/plain,x"))
    recorder.sent(sent("3", "http://h/gone"))
    recorder.failed({"requestId": "3", "timestamp": 10.2, "errorText": "net::ERR_FAILED"})
    recorder.sent(sent("4", "http://h/open"))
    page = recorder.take("the page", load_s=1.25)
    har = msgspec.json.decode(encode([page, None]), type=Har).log

    assert (har.version, [one.id for one in har.pages]) == ("1.2", ["page_0"])
    assert har.pages[0].pageTimings.onLoad == 1250.0
    assert [one.request.url for one in har.entries] == [
        "http://h/?a=1&b=", "http://h/two", "http://h/gone", "http://h/open"
    ]  # fmt: skip
    first, second, gone, still_open = har.entries
    assert (first.response.status, first.response.redirectURL) == (302, "/two")
    assert [(one.name, one.value) for one in first.request.queryString] == [("a", "1"), ("b", "")]
    assert len(second.response.headers) == 2
    assert (second.response.content.size, second.response.bodySize) == (700, 400)
    assert (gone.response.status, gone.response.statusText) == (0, "net::ERR_FAILED")
    assert still_open.time == 0.0
    timings = first.timings
    assert (timings.connect, timings.dns, timings.wait) == (40.0, -1, 100.0)
    assert first.startedDateTime.startswith("2023-11-14T")
    assert page.hosts == {"h"}
    assert page.arrivals == [(1.7e9 + 10.9, 400)]


def test_what_was_taken_is_not_told_again() -> None:
    recorder = HarRecorder()
    recorder.sent(sent("1", "http://h/"))
    assert len(recorder.take("a").exchanges) == 1
    recorder.finished({"requestId": "1", "timestamp": 11.0, "encodedDataLength": 1})
    assert recorder.take("b").exchanges == ()


TYPES = (
    "URL_REQUEST_START_JOB",
    "HTTP_STREAM_JOB_CONTROLLER",
    "PROXY_RESOLUTION_SERVICE_RESOLVED_PROXY_LIST",
    "SOCKET_POOL_CONNECT_JOB_CREATED",
    "SOCKET_ALIVE",
    "SOCKET_BYTES_SENT",
    "SOCKET_BYTES_RECEIVED",
)


def log(*events: tuple[int, str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "constants": {"logEventTypes": {name: number for number, name in enumerate(TYPES)}},
        "events": [
            {"source": {"id": source}, "type": TYPES.index(name), "params": params}
            for source, name, params in events
        ],
    }


def test_the_browser_s_own_requests_are_told_from_the_page_s() -> None:
    through = {"proxy_info": "PROXY 127.0.0.1:1"}
    made = log(
        (1, "URL_REQUEST_START_JOB", {"url": "http://site:81/a"}),
        (2, "URL_REQUEST_START_JOB", {"url": "https://vendor.example/"}),
        (3, "URL_REQUEST_START_JOB", {"url": "https://away.example/"}),
        (10, "HTTP_STREAM_JOB_CONTROLLER", {"url": "http://site:81/a"}),
        (10, "PROXY_RESOLUTION_SERVICE_RESOLVED_PROXY_LIST", through),
        (11, "HTTP_STREAM_JOB_CONTROLLER", {"url": "https://vendor.example/"}),
        (11, "PROXY_RESOLUTION_SERVICE_RESOLVED_PROXY_LIST", through),
        (12, "HTTP_STREAM_JOB_CONTROLLER", {"url": "https://away.example/"}),
        (12, "PROXY_RESOLUTION_SERVICE_RESOLVED_PROXY_LIST", {"proxy_info": "DIRECT"}),
        (20, "SOCKET_POOL_CONNECT_JOB_CREATED", {"group_id": "https://vendor.example <x same>"}),
        (30, "SOCKET_ALIVE", {"source_dependency": {"id": 20}}),
        (30, "SOCKET_BYTES_SENT", {"byte_count": 230}),
        (30, "SOCKET_BYTES_RECEIVED", {"byte_count": 37}),
        (31, "SOCKET_BYTES_RECEIVED", {"byte_count": 9_000}),
    )
    assert chatter.chatter(made, page={"site:81"}) == {
        "requests": 2, "hosts": ["away.example", "vendor.example"], "through_proxy": 1, "bytes": 267
    }  # fmt: skip
