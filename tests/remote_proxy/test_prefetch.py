"""Which finds are prefetched, and that the request is the browser's own."""

from __future__ import annotations

import pytest

from remote_proxy.import_drivers import Found
from remote_proxy.import_drivers.found import Terms
from remote_proxy.origin.cookies import cookie_after
from remote_proxy.promises.prefetch import Document, NotFetched, Prefetch, Prefetcher, plan
from wire.skeleton import Kind, Use

PAGE = "http://site.test/dir/page.html?q=1"
BROWSER = [
    ("host", "site.test"),
    ("user-agent", "Mozilla/5.0"),
    ("accept", "text/html"),
    ("accept-language", "en-US,en;q=0.9"),
    ("accept-encoding", "gzip, deflate, br"),
    ("upgrade-insecure-requests", "1"),
    ("x-custom", "1"),
]


def image(url: str = "http://site.test/a.png", *, lazy: bool = False, cors: bool = False,
          kind: Kind = Kind.IMAGE, policy: str = "", sheet: str = "") -> Found:  # fmt: skip
    return Found(url, kind, Use.ELEMENT, 0, lazy=lazy, accept="image/*", cors=cors,
                 referrer_policy=policy, terms=Terms(sheet=sheet, style=bool(sheet)))  # fmt: skip


def page(url: str = PAGE, *, asks: str = "", answers: str = "", sees_tls: bool = False) -> Document:
    """A document whose request and response have these fields too: `a: 1 | b: 2`."""

    def fields(text: str) -> list[tuple[str, str]]:
        pairs = (part.partition(":") for part in text.split("|") if part)
        return [(name.strip(), value.strip()) for name, _, value in pairs]

    return Document(url, BROWSER + fields(asks), fields(answers), sees_tls)


def headers(document: Document, found: Found) -> dict[str, str]:
    made = plan(document, found)
    assert isinstance(made, Prefetch), made
    return dict(made.headers)


def test_the_request_is_the_one_the_browser_would_make() -> None:
    made = plan(page(asks="cookie: s=1"), image())
    assert made == Prefetch(
        "http://site.test/a.png",
        (
            ("accept-language", "en-US,en;q=0.9"),
            ("cookie", "s=1"),
            ("referer", PAGE),
            ("user-agent", "Mozilla/5.0"),
        ),
        "image/*",
        image(),
    )


@pytest.mark.parametrize(
    ("document", "found", "expected"),
    [
        (page(), image(kind=Kind.MEDIA), NotFetched.MEDIA),
        (page(), image("https://site.test/a"), NotFetched.SCHEME),
        (page("https://site.test/"), image("http://site.test/a"), NotFetched.SCHEME),
        (page(asks="authorization: Basic x"), image(), NotFetched.AUTHORIZATION),
        (page(answers="set-cookie: a=1; Path=/x"), image(), NotFetched.COOKIES),
    ],
)
def test_what_is_left_to_the_browser(
    document: Document, found: Found, expected: NotFetched
) -> None:
    assert plan(document, found) is expected


def test_other_hosts_get_no_credentials_and_suffer_none() -> None:
    document = page(asks="cookie: s=1 | authorization: x", answers="set-cookie: a=1; Path=/x")
    for url in ("http://cdn.test/a", "http://site.test:81/a", "http://www.site.test/a"):
        sent = headers(document, image(url))
        assert not {"cookie", "authorization"} & set(sent)
        assert sent["referer"] == "http://site.test/"


def test_cors_requests_say_where_they_come_from() -> None:
    assert headers(page(), image("http://cdn.test/a", cors=True))["origin"] == "http://site.test"
    assert "origin" not in headers(page(), image(cors=True))
    chromium = Document(PAGE, [("user-agent", "Chrome/156 Safari")], [])
    assert headers(chromium, image(cors=True))["origin"] == "http://site.test"
    assert "origin" not in headers(page(), image("http://cdn.test/a"))


def test_https_parts_of_http_pages_where_the_local_proxy_sees_them() -> None:
    sent = headers(page(sees_tls=True), image("https://cdn.test/a"))
    assert sent["referer"] == "http://site.test/"


FULL, SHORT = "https://site.test/p?q", "https://site.test/"
REFERRERS = [
    # policy of the response    of the element        same origin  other origin
    ("", "", FULL, SHORT),
    ("no-referrer", "", None, None),
    ("origin", "", SHORT, SHORT),
    ("same-origin", "", FULL, None),
    ("strict-origin", "", SHORT, SHORT),
    ("unsafe-url", "", FULL, FULL),
    ("origin-when-cross-origin", "", FULL, SHORT),
    ("no-referrer-when-downgrade", "", FULL, FULL),
    ("bogus", "", FULL, SHORT),
    ("no-referrer, unsafe-url, future-policy", "", FULL, FULL),
    ("no-referrer", "unsafe-url", FULL, FULL),
]


@pytest.mark.parametrize(("policy", "element", "same", "other"), REFERRERS)
def test_referrers(policy: str, element: str, same: str | None, other: str | None) -> None:
    document = page(FULL + "#frag", answers=f"referrer-policy: {policy}")
    for host, expected in (("site.test", same), ("cdn.test", other)):
        sent = headers(document, image(f"https://{host}/a", policy=element))
        assert sent.get("referer") == expected


def test_parts_of_a_style_sheet_are_referred_to_by_it() -> None:
    sheet = "http://cdn.test/s.css"
    assert headers(page(), image("http://cdn.test/a", sheet=sheet))["referer"] == sheet
    assert headers(page(), image(sheet=sheet))["referer"] == "http://cdn.test/"


def test_a_forced_reload_and_fetch_metadata() -> None:
    document = page(asks="cache-control: no-cache | sec-fetch-mode: navigate | sec-ch-ua: x")
    sent = headers(document, image())
    assert sent["cache-control"] == sent["pragma"] == "no-cache"
    assert (sent["sec-fetch-dest"], sent["sec-fetch-mode"]) == ("image", "no-cors")
    assert sent["sec-ch-ua"] == "x"
    assert "sec-fetch-mode" not in headers(document, image("http://cdn.test/a"))
    assert "cache-control" not in headers(page(asks="cache-control: max-age=0"), image())


def test_bounds_duplicates_and_lazy_finds() -> None:
    rules = Prefetcher(page(), limit=2)
    urls = [f"http://site.test/{n}" for n in range(6)]
    assert isinstance(rules.consider(image(urls[0])), Prefetch)
    assert rules.consider(image(urls[0])) is NotFetched.KNOWN
    for url in urls[1:4]:
        assert rules.consider(image(url, lazy=True)) is NotFetched.LAZY
    assert isinstance(rules.consider(image(urls[1])), Prefetch)  # Not lazy after all.
    assert rules.consider(image(urls[5])) is NotFetched.LIMIT
    assert Prefetcher(page()).consider(image(kind=Kind.STYLE, lazy=True)) is NotFetched.LAZY


DATE = "Wed, 01 Jan 2025 00:00:00 GMT"
COOKIES = [
    # sent             set                                          next
    ("", [], ""),
    ("a=1; b=2", [], "a=1; b=2"),
    ("", ["a=1; Path=/"], "a=1"),
    ("a=1; b=2", ["a=3; path=/; HttpOnly; SameSite=Lax"], "a=3; b=2"),
    ("a=1", ["b=2; Path=/", "c=x=y; Path=/; Max-Age=60"], "a=1; b=2; c=x=y"),
    ("a=1; b=2", ["a=; Path=/; Max-Age=0"], "b=2"),
    ("a=1", [f"b=2; Path=/; Expires=Wed, {10**26} Jan 2025 00:00:00 GMT"], None),
    ("a=1", ["a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], ""),
    ("a=1", ["b=2; Path=/; Expires=Thu, 01 Jan 2026 00:00:00 GMT"], "a=1; b=2"),
    ("", ["a=1; Path=/; Expires=someday"], None),
    ("", ["a=1"], None),
    ("", ["a=1; Path=/dir"], None),
    ("", ["a=1; Path=/; Domain=site.test"], None),
    ("", ["a=1; Path=/; Secure"], None),
    ("", ["nonsense"], None),
    ("a=1; a=2", ["b=1; Path=/"], None),
    ("", ["a=1; Path=/"] * 51, None),
]


@pytest.mark.parametrize(("sent", "lines", "expected"), COOKIES)
def test_the_next_cookie_field(sent: str, lines: list[str], expected: str | None) -> None:
    request = [("cookie", sent)] if sent else []
    response = [("date", DATE)] + [("set-cookie", line) for line in lines]
    assert cookie_after(PAGE, request, response, "http://site.test/a.png") == expected
