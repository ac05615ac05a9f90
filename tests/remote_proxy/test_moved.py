"""A page that has moved tells what its browser asks for next, or that nobody can know."""

from __future__ import annotations

import pytest

from remote_proxy.promises.moved import NextRequest, next_request
from wire.fields import REDIRECTS, Headers
from wire.origin_request import OriginRequest

AGENT = ("user-agent", "B")
TOLD: Headers = [
    AGENT,
    ("sec-fetch-site", "none"),
    ("sec-fetch-mode", "navigate"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-user", "?1"),
]


def after(
    url: str, to: str, *fields: tuple[str, str], asked: Headers = TOLD, status: int = 301,
    method: str = "GET",
) -> NextRequest | None:  # fmt: skip
    """What follows where `url` leads `to`, with these fields."""
    return next_request(OriginRequest(method, url, asked), status, [("location", to), *fields])


@pytest.mark.parametrize(
    ("url", "to", "next_one"),
    [
        ("https://a.test/", "/en/", "https://a.test/en/"),
        ("https://a.test/x/y?z", "../en?token=1#there", "https://a.test/en?token=1"),
        ("https://a.test/", "https://www.a.test/", "https://www.a.test/"),
        ("https://www.a.test/p?q=1", "https://a.test/p?q=1", "https://a.test/p?q=1"),
        ("http://a.test/", "https://a.test/", "https://a.test/"),
        ("http://a.test:8000/", "https://a.test:8443/", "https://a.test:8443/"),
        ("https://a.test/", "https://www.a.test/?code=1", None),
        ("https://a.test/", "https://b.test/", None),
        ("https://a.test/", "http://a.test/", None),
        ("https://a.test/", "https://a.test/#again", None),
        ("https://a.test/", "ftp://a.test/", None),
        ("https://a.test/", "https://a.test\u00e4/", None),
        ("https://a.test/", "https://", None),
        ("https://a.test/", "", None),
        ("https://1.2.3.4/", "https://1.2.3.5/", None),
    ],
)
def test_it_leads_on_within_its_site(url: str, to: str, next_one: str | None) -> None:
    found = after(url, to)
    assert (None if found is None else found.url) == next_one


@pytest.mark.parametrize("status", [200, 201, 300, 304, *sorted(REDIRECTS), 404])
def test_some_statuses_lead_on(status: int) -> None:
    assert (after("https://a.test/", "/en/", status=status) is not None) is (status in REDIRECTS)


@pytest.mark.parametrize("name", ["authorization", "range", "if-match", "if-range"])
def test_only_what_asks_plainly_for_a_page_is_followed(name: str) -> None:
    assert after("https://a.test/", "/en/", asked=[*TOLD, (name, "x")]) is None
    assert after("https://a.test/", "/en/", ("clear-site-data", "*")) is None


@pytest.mark.parametrize("status", sorted(REDIRECTS))
@pytest.mark.parametrize("to", ["/shown", "/form#saved"])
def test_a_form_leads_to_a_page_that_is_asked_for_without_it(status: int, to: str) -> None:
    form = [*TOLD, ("origin", "https://a.test"), ("content-type", "text/plain")]
    found = after("https://a.test/form", to, asked=form, status=status, method="POST")
    if status in (307, 308):  # the form goes on there itself
        assert found is None
        return
    assert found is not None
    assert found.url == "https://a.test" + to.partition("#")[0]
    assert found.headers == tuple(sorted(TOLD))


@pytest.mark.parametrize("origin", ["https://b.test", "http://a.test", "null", ""])
def test_a_form_of_another_origin_is_left_to_the_browser(origin: str) -> None:
    """Its page may be asked for with cookies that the form went without."""
    asked = [*TOLD, ("origin", origin)]
    assert after("https://a.test/form", "/shown", asked=asked, status=303, method="POST") is None


@pytest.mark.parametrize("method", ["HEAD", "PUT", "OPTIONS", "CONNECT"])
def test_nothing_else_is_followed(method: str) -> None:
    assert after("https://a.test/", "/en/", method=method, status=303) is None


def test_the_next_request_says_what_the_last_one_said_and_no_more() -> None:
    others = [("accept", "*/*"), ("if-none-match", '"x"'), ("cache-control", "max-age=0")]
    found = after("https://a.test/", "/en/", asked=[*TOLD, *others])
    assert found is not None
    assert found.headers == tuple(sorted([*TOLD, ("cache-control", "max-age=0")]))


@pytest.mark.parametrize(
    ("url", "to", "said", "says"),
    [
        ("https://a.test/", "/en/", "same-origin", "same-origin"),
        ("https://a.test/", "https://www.a.test/", "same-origin", "same-site"),
        ("https://a.test/", "https://www.a.test/", "none", "none"),
        ("https://a.test/", "https://www.a.test/", "cross-site", "cross-site"),
        ("http://a.test/", "https://a.test/", "", "none"),
        ("http://a.test/", "/en/", "", ""),
    ],
)
def test_who_asks_is_told_of_the_whole_way(url: str, to: str, said: str, says: str) -> None:
    asked = [AGENT, ("sec-fetch-site", said)] if said else [AGENT]
    found = after(url, to, asked=asked)
    assert found is not None
    fields = dict(found.headers)
    assert fields.get("sec-fetch-site", "") == says
    assert ("sec-fetch-dest" in fields) is bool(says)


@pytest.mark.parametrize(
    ("url", "to", "sent", "answer", "next_one"),
    [
        ("https://a.test/", "/en/", "", "", ""),
        ("https://a.test/", "/en/", "a=1", "", "a=1"),
        ("https://a.test/", "/en/", "a=1", "a=2; path=/", "a=2"),
        ("https://a.test/", "/en/", "", "a=2; path=/elsewhere", None),
        ("http://a.test/", "https://a.test/", "a=1", "", "a=1"),
        ("https://a.test/", "https://www.a.test/", "", "", ""),
        ("https://a.test/", "https://www.a.test/", "a=1", "", None),
        ("https://a.test/", "https://www.a.test/", "", "a=1; domain=a.test", None),
    ],
)
def test_its_cookies_are_those_of_its_host_or_it_is_left(
    url: str, to: str, sent: str, answer: str, next_one: str | None
) -> None:
    asked = [*TOLD, ("cookie", sent)] if sent else TOLD
    found = after(url, to, *([("set-cookie", answer)] if answer else []), asked=asked)
    assert (None if found is None else dict(found.headers).get("cookie", "")) == next_one


def test_from_another_site_nothing_that_sets_cookies_is_followed() -> None:
    asked = [AGENT, ("sec-fetch-site", "cross-site")]
    assert after("https://a.test/", "/en/", ("set-cookie", "a=1; path=/"), asked=asked) is None
    assert after("https://a.test/", "/en/", asked=asked) is not None


@pytest.mark.parametrize(
    ("to", "referer", "says"),
    [
        ("/en/", "https://a.test/before", "https://a.test/before"),
        ("https://www.a.test/", "https://a.test/before", "https://a.test/"),
        ("https://www.a.test/", "https://b.test/", "https://b.test/"),
    ],
)
def test_where_it_comes_from_is_said_as_far_as_another_origin_may_know(
    to: str, referer: str, says: str
) -> None:
    asked = [AGENT, ("sec-fetch-site", "cross-site"), ("referer", referer)]
    found = after("https://a.test/", to, asked=asked)
    assert found is not None and dict(found.headers)["referer"] == says
    assert after("https://a.test/", to, ("referrer-policy", "origin"), asked=asked) is None
