"""When a promise may answer a request: the rules as a matrix."""
# ruff: noqa: E501  (the matrix is read as a table)

from __future__ import annotations

import pytest

from local_proxy.promises.rules import (
    LIFETIME,
    Promised,
    PromiseTable,
    ResponseHead,
    Whose,
    may_use,
)
from wire.fields import Headers

URL = "http://site.test/a.png"
SENT: Headers = [("user-agent", "B"), ("accept-language", "en"), ("accept", "image/*")]


def fields(text: str) -> Headers:
    """`a: 1 | b: 2` as headers."""
    pairs = (part.partition(":") for part in text.split("|") if part.strip())
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def promised(
    *, sent: str = "", got: str | None = "", status: int = 200, document: int = 1, url: str = URL,
    at: float = 0.0, component: int = 2,
) -> Promised:  # fmt: skip
    head = None if got is None else ResponseHead(status, fields(got), at)
    return Promised(component, document, url, SENT + fields(sent), at, head)


MATRIX = [
    # request adds          prefetch added         response                            expected
    ("",                    "",                    "",                                 "kept"),
    ("",                    "",                    "cache-control: max-age=60",        "kept"),
    ("",                    "",                    "cache-control: no-cache",          "kept"),
    ("",                    "",                    "cache-control: private, max-age=0", "kept"),
    ("",                    "",                    "cache-control: no-store",          "kept"),
    ("",                    "",                    "set-cookie: a=1",                  "kept"),
    ("cache-control: no-cache | pragma: no-cache", "", "",                             "kept"),
    ("cache-control: max-age=0", "",               "",                                 "kept"),
    ("cache-control: only-if-cached", "",          "",                 "request is for caches only"),
    # credentials
    ("cookie: a=1",         "cookie: a=1",         "",                                 "kept"),
    ("cookie: a=1 | cookie: b=2", "cookie: a=1; b=2", "",                              "kept"),
    ("cookie: a=1",         "",                    "",                                 "cookie differs"),
    ("",                    "cookie: a=1",         "",                                 "cookie differs"),
    ("cookie: a=1",         "cookie: a=2",         "",                                 "cookie differs"),
    ("authorization: Basic x", "",                 "",                 "request has authorization"),
    ("authorization: x",    "authorization: x",    "",                 "request has authorization"),
    ("origin: http://a",    "origin: http://a",    "",                                 "kept"),
    ("origin: http://a",    "",                    "",                                 "origin differs"),
    # Vary
    ("",                    "",                    "vary: accept",                     "kept"),
    ("",                    "",                    "vary: Accept-Encoding",            "kept"),
    ("accept-encoding: br", "",                    "vary: accept-encoding, accept",    "kept"),
    ("x-a: 1,  2",          "x-a: 1,2",            "vary: X-A",                        "kept"),
    ("x-a: 1 | x-a: 2",     "x-a: 1, 2",           "vary: X-A",                        "kept"),
    ("x-a: 1",              "",                    "vary: X-A",               "vary: x-a differs"),
    ("",                    "x-a: 1",              "vary: accept | vary: x-a", "vary: x-a differs"),
    ("x-a: 1",              "",                    "",                                 "kept"),
    ("accept: */*",         "",                    "vary: accept",            "vary: accept differs"),
    ("",                    "",                    "vary: *",                          "vary: *"),
    ("",                    "",                    "vary: accept, *",                  "vary: *"),
    # ranges and conditions
    ("range: bytes=0-1",    "",                    "",                       "request has range"),
    ("if-range: \"x\"",     "",                    "etag: \"x\"",            "request has if-range"),
    ("if-match: \"x\"",     "",                    "etag: \"x\"",            "request has if-match"),
    ("if-none-match: \"x\"", "",                   "etag: \"x\"",            "not modified"),
    ("if-none-match: W/\"x\"", "",                 "etag: \"x\"",            "not modified"),
    ("if-none-match: \"y\", \"x\"", "",            "etag: W/\"x\"",          "not modified"),
    ("if-none-match: \"y\"", "",                   "etag: \"x\"",            "kept"),
    ("if-none-match: \"y\"", "",                   "",                       "kept"),
    ("if-modified-since: Wed, 01 Jan 2025 00:00:00 GMT", "",
     "last-modified: Tue, 31 Dec 2024 00:00:00 GMT",                         "not modified"),
    ("if-modified-since: Mon, 30 Dec 2024 00:00:00 GMT", "",
     "last-modified: Tue, 31 Dec 2024 00:00:00 GMT",                         "kept"),
    ("if-modified-since: Wed, 01 Jan 2025 00:00:00 GMT", "",
     f"last-modified: Wed, {10**26} Jan 2025 00:00:00 GMT",                  "kept"),
    ("if-modified-since: never", "",  "last-modified: Tue, 31 Dec 2024 00:00:00 GMT", "kept"),
    ("if-none-match: \"y\" | if-modified-since: Wed, 01 Jan 2025 00:00:00 GMT", "",
     "etag: \"x\" | last-modified: Tue, 31 Dec 2024 00:00:00 GMT",           "kept"),
    # bodies
    ("content-length: 3",   "",                    "",                       "request has a body"),
    ("content-length: 0",   "",                    "",                       "kept"),
    ("transfer-encoding: chunked", "",             "",                       "request has a body"),
    # nothing is known of the response
    ("",                    "",                    None,                     "head not known yet"),
    ("cookie: a=1",         "",                    None,                     "cookie differs"),
]  # fmt: skip


@pytest.mark.parametrize(("asks", "sent", "got", "expected"), MATRIX)
def test_the_matrix(asks: str, sent: str, got: str | None, expected: str) -> None:
    own = fields(asks)
    names = {name for name, _ in own}
    request = own + [(name, value) for name, value in SENT if name not in names]
    verdict = may_use(promised(sent=sent, got=got), request, "GET", URL, 1.0)
    assert verdict.reason == expected
    assert verdict.use == (expected in ("kept", "not modified", "head not known yet"))
    assert verdict.not_modified == (expected == "not modified")
    assert verdict.final == (expected != "head not known yet")


@pytest.mark.parametrize(
    ("method", "url", "now", "expected"),
    [
        ("GET", URL, LIFETIME, "kept"),
        ("GET", URL + "#fragment", 1.0, "kept"),
        ("GET", URL + "?", 1.0, "another URL"),
        ("GET", URL, LIFETIME + 1, "too old"),
        ("HEAD", URL, 1.0, "method is not GET"),
        ("POST", URL, 1.0, "method is not GET"),
    ],
)
def test_method_url_and_age(method: str, url: str, now: float, expected: str) -> None:
    assert may_use(promised(), SENT, method, url, now).reason == expected


@pytest.mark.parametrize(
    ("status", "use"),
    [(200, True), (204, True), (206, False), (301, True), (302, True), (307, True), (304, False),
     (401, False), (403, False), (404, True), (410, True), (429, False), (500, False), (503, False)],
)  # fmt: skip
def test_only_answers_that_another_request_would_get_too(status: int, use: bool) -> None:
    verdict = may_use(promised(status=status, got="location: /b"), SENT, "GET", URL, 1.0)
    assert verdict.use is use


MADE = "date: Sun, 01 Jun 2025 12:00:00 GMT"
REUSE = [
    # response                                      request adds                    after  shared
    ("cache-control: max-age=60",                   "",                             59.0,  True),
    ("cache-control: max-age=60",                   "",                             60.0,  False),
    ("cache-control: max-age=60 | age: 50",         "",                             11.0,  False),
    (MADE + " | expires: Sun, 01 Jun 2025 12:01:00 GMT", "",                        59.0,  True),
    (MADE + " | last-modified: Sun, 01 Jun 2025 11:00:00 GMT", "",                  200.0, True),
    (MADE + " | last-modified: Sun, 01 Jun 2025 11:59:00 GMT", "",                  7.0,   False),
    ("",                                            "",                             0.1,   False),
    ("cache-control: no-cache | etag: \"x\"",       "",                             0.1,   False),
    ("cache-control: no-cache | etag: \"x\"",       "if-none-match: \"x\"",         0.1,   False),
    ("cache-control: max-age=60 | etag: \"x\"",     "if-none-match: \"x\"",         1.0,   True),
    ("cache-control: max-age=0, must-revalidate",   "",                             0.1,   False),
    ("cache-control: No-Store, max-age=60",         "",                             0.1,   False),
    ("cache-control: max-age=60 | set-cookie: a=1", "",                             0.1,   False),
    ("cache-control: max-age=60",                   "cache-control: no-cache",      0.1,   False),
    ("cache-control: max-age=60",                   "pragma: no-cache",             0.1,   False),
    ("cache-control: max-age=60",                   "cache-control: max-age=0",     0.1,   False),
    ("cache-control: max-age=60",                   "cache-control: max-age=20",    19.0,  True),
    ("cache-control: max-age=60",                   "cache-control: max-age=20",    20.0,  False),
    ("cache-control: max-age=60 | age: 5",          "cache-control: max-age=20",    14.0,  True),
    ("cache-control: max-age=60 | age: 5",          "cache-control: max-age=20",    15.0,  False),
    ("cache-control: max-age=60",                   "cache-control: max-age=soon",  0.1,   False),
]  # fmt: skip


@pytest.mark.parametrize(("got", "asks", "after", "shared"), REUSE)
def test_once_it_has_answered_it_answers_what_a_cache_might(
    got: str, asks: str, after: float, shared: bool
) -> None:
    table, promise = PromiseTable(), promised(got=got, at=100.0)
    table.add(promise)
    request = SENT + fields(asks)
    assert may_use(promise, request, "GET", URL, 100.0 + after).use  # the one it was made for
    table.take(promise)
    (found,) = table.find(URL, 100.0 + after)
    assert found is promise
    assert may_use(found, request, "GET", URL, 100.0 + after).use is shared


def test_promises_for_an_address_are_found_the_latest_first() -> None:
    table = PromiseTable()
    first, second = promised(document=1, component=2), promised(document=7, component=4)
    table.add(first)
    table.add(second)
    assert table.find(URL + "#x", 0.0) == [second, first]
    assert table.find(URL + "?x", 0.0) == []
    assert table.close_document(7) == [second]
    assert table.find(URL, 0.0) == [first]
    assert table.find(URL, LIFETIME + 1) == []


def test_the_second_promise_of_the_same_is_turned_away() -> None:
    table, again = PromiseTable(), promised(component=4)
    table.add(promised())
    assert table.add(again) == [again]
    assert len(table) == 1


def test_counts() -> None:
    table = PromiseTable()
    one, two, three = (promised(url=f"{URL}?{n}", component=n, at=float(n)) for n in range(3))
    for promise in (one, two, three):
        table.add(promise)
        promise.held = 10
    table.take(one)
    table.take(one)
    table.fail(two)
    table.fail(two)
    statistics = table.statistics()
    assert (statistics.open, statistics.held) == (2, 20)
    assert (statistics.made, statistics.kept, statistics.answers, statistics.wasted) == (3, 1, 2, 1)
    assert table.expire(LIFETIME + 1.5) == [one]
    assert table.close_document(1) == [three]
    assert table.statistics().wasted == 2
    assert len(table) == 0


def test_bounds_in_number_and_in_bytes() -> None:
    table = PromiseTable(max_promises=3)
    promises = [promised(url=f"{URL}?{n}", component=n) for n in range(5)]
    gone = [old for promise in promises for old in table.add(promise)]
    assert gone == promises[:2]
    for promise in promises[2:]:
        promise.held = 100
    table.take(promises[3])
    assert table.trim(max_bytes=250) == [promises[3]]  # It has answered; the others may yet.
    assert table.trim(max_bytes=100) == [promises[2]]
    assert table.trim(max_bytes=100) == []


MAKERS = [
    # prefetch said                              request says                              expected
    ("referer: http://site.test/",               "referer: http://site.test/other",        "kept"),
    ("referer: http://site.test/",               "referer: http://evil.test/",  "referer differs"),
    ("referer: http://site.test/",               "referer: http://site.test:81/", "referer differs"),
    ("referer: http://site.test/",               "",                                       "kept"),
    ("",                                         "referer: http://site.test/",  "referer differs"),
    ("sec-fetch-site: same-origin | sec-fetch-mode: no-cors",
     "sec-fetch-site: same-origin | sec-fetch-mode: cors",                                 "kept"),
    ("sec-fetch-site: same-origin | sec-fetch-mode: no-cors",
     "sec-fetch-site: cross-site | sec-fetch-mode: no-cors", "sec-fetch-site or -mode differs"),
    ("sec-fetch-site: same-origin | sec-fetch-mode: navigate",
     "sec-fetch-site: same-origin | sec-fetch-mode: cors",   "sec-fetch-site or -mode differs"),
    ("sec-fetch-mode: navigate",                 "sec-fetch-dest: document",
     "a page in a window, and promises are of parts"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "asks", "expected"), MAKERS)
def test_what_both_requests_say_of_their_page_must_agree(
    sent: str, asks: str, expected: str
) -> None:
    verdict = may_use(promised(sent=sent), SENT + fields(asks), "GET", URL, 1.0)
    assert verdict.reason == expected


REFERER = "referer: http://site.test/"
SHARED = [
    # prefetch said            response                          peer    other
    (REFERER,                  "cache-control: max-age=60",      True,   True),
    (REFERER,                  "",                               True,   False),
    (REFERER,                  "cache-control: max-age=0",       True,   False),
    (REFERER,                  "cache-control: private, max-age=60", False, False),
    (REFERER,                  "cache-control: no-cache",        False,  False),
    (REFERER,                  "cache-control: no-store",        False,  False),
    (REFERER,                  "cache-control: max-age=60 | set-cookie: a=1", False, False),
    (REFERER + " | cookie: a=1", "cache-control: max-age=60",    False,  False),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "got", "peer", "other"), SHARED)
def test_another_document_gets_no_more_than_a_shared_cache_would_give(
    sent: str, got: str, peer: bool, other: bool
) -> None:
    promise, request = promised(sent=sent, got=got), SENT + fields(sent)
    assert may_use(promise, request, "GET", URL, 1.0, whose=Whose.OWN).use
    assert may_use(promise, request, "GET", URL, 1.0, whose=Whose.PEER).use is peer
    assert may_use(promise, request, "GET", URL, 1.0, whose=Whose.OTHER).use is other


def test_who_says_no_referer_gets_nothing_of_another_document() -> None:
    promise = promised(sent=REFERER, got="cache-control: max-age=60")
    assert may_use(promise, SENT, "GET", URL, 1.0).use
    assert not may_use(promise, SENT, "GET", URL, 1.0, whose=Whose.OTHER).use


@pytest.mark.parametrize(
    ("got", "more", "whose", "use"),
    [
        ("", "", Whose.OWN, True),
        ("cache-control: no-cache", "", Whose.OWN, True),
        ("", "", Whose.PEER, False),
        ("cache-control: no-store", "", Whose.OWN, False),
        ("set-cookie: a=1", "", Whose.OWN, False),
        ("", "cache-control: no-cache", Whose.OWN, False),
        ("", "cache-control: max-age=0", Whose.OWN, False),
    ],
)
def test_a_picture_asked_for_twice_before_it_is_here_is_one(
    got: str, more: str, whose: Whose, use: bool
) -> None:
    """By its own page, unless the origin meant it for one request or the page wants another."""
    one, asked = promised(got=got), SENT + fields(more)
    one.uses = 1
    verdict = may_use(one, asked, "GET", URL, 1.0, whose=whose, coming=True)
    assert verdict.use is use
    assert not may_use(one, asked, "GET", URL, 1.0, whose=whose).use
