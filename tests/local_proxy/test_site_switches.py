"""Tests of sites' switches: which holds for what, how a person sets one, what it leaves out."""

from __future__ import annotations

import pytest

from local_proxy.http.model import Request, Response
from local_proxy.link.components import Component
from local_proxy.requests.browser_chatter import is_chatter
from local_proxy.requests.open_documents import Documents
from local_proxy.sites.sites import MAX_CHOICES, MAX_SEEN, Mode, Sites, normal, patterns_of
from local_proxy.sites.switches import Switches
from wire.fields import header
from wire.messages import UNATTRIBUTED
from wire.skeleton import Kind, Use

CONFIGURED = {
    "*": "adapt",
    "*.news.test": "text-only",
    "pictures.news.test": "original",
    "bank.test": "tunnel",
}


@pytest.mark.parametrize(
    ("host", "page", "mode"),
    [
        ("other.test", "", Mode.ADAPT),
        ("news.test", "", Mode.TEXT_ONLY),
        ("a.b.news.test", "", Mode.TEXT_ONLY),
        ("PICTURES.news.test.", "", Mode.ORIGINAL),
        ("cdn.test", "www.news.test", Mode.TEXT_ONLY),
        ("pictures.news.test", "www.news.test", Mode.TEXT_ONLY),
        ("cdn.test", "bank.test", Mode.ADAPT),  # the page's tunnel is the page's own
        ("bank.test", "", Mode.TUNNEL),
        ("xnews.test", "", Mode.ADAPT),
    ],
)
def test_the_page_counts_before_the_host_and_the_closest_pattern_first(
    host: str, page: str, mode: Mode
) -> None:
    assert Sites(CONFIGURED).mode(host, page=page) is mode


def test_a_choice_counts_before_what_is_configured_and_can_be_taken_back() -> None:
    sites = Sites(CONFIGURED, tunnel=["*.vault.test", "bank.test"])
    assert sites.tunnelled("a.vault.test")
    assert not sites.tunnelled("news.test")
    assert sites.choose(" *.News.test. ", Mode.ORIGINAL) == "*.news.test"
    assert sites.mode("pictures.news.test") is Mode.ORIGINAL
    assert sites.mode("www.news.test") is Mode.ORIGINAL
    sites.choose("*.news.test", None)
    assert sites.mode("www.news.test") is Mode.TEXT_ONLY
    sites.choose("never.test", None)
    sites.choose("bank.test", Mode.ADAPT)
    assert not sites.tunnelled("bank.test")


@pytest.mark.parametrize("pattern", ["", "a b", "http://a.test", "a.*.test", "*a.test", "x" * 256])
def test_what_is_no_pattern_is_no_choice(pattern: str) -> None:
    sites = Sites({})
    with pytest.raises(ValueError, match="is not a host"):
        sites.choose(pattern, Mode.TUNNEL)
    assert sites.listed() == []


def test_choices_have_a_bound_and_can_still_be_changed() -> None:
    sites = Sites({})
    for number in range(MAX_CHOICES):
        sites.choose(f"{number}.test", Mode.ORIGINAL)
    with pytest.raises(ValueError, match="choices already"):
        sites.choose("more.test", Mode.ORIGINAL)
    sites.choose("7.test", Mode.TUNNEL)
    assert sites.tunnelled("7.test")


def test_a_time_for_pictures_follows_the_same_rules_and_none_takes_one_away() -> None:
    sites = Sites({}, within={"*.news.test": 5.0, "quick.news.test": 0.0})
    assert (sites.within("a.news.test"), sites.within("quick.news.test")) == (5.0, None)
    sites.choose_time("a.news.test", 0.0)
    assert (sites.within("a.news.test"), sites.within("b.news.test")) == (None, 5.0)
    sites.choose_time("a.news.test", None)
    assert sites.within("a.news.test") == 5.0
    assert [(one.pattern, one.within, one.chosen) for one in sites.listed()] == [
        ("*.news.test", 5.0, False),
        ("quick.news.test", 0.0, False),
    ]


@pytest.mark.parametrize("seconds", [-1.0, 3_601.0, float("nan"), float("inf")])
def test_what_is_no_time_is_no_choice(seconds: float) -> None:
    sites = Sites({})
    with pytest.raises(ValueError, match="seconds: must be 0 to 3600"):
        sites.choose_time("a.test", seconds)
    assert sites.listed() == []


def test_choices_of_an_earlier_run_hold_again_but_those_that_make_no_sense() -> None:
    sites = Sites({})
    wrong = sites.recall({"a.test": "original", "b.test": "sideways"}, {"c.test": 7.0, "d": -1.0})
    assert (sites.mode("a.test"), sites.within("c.test")) == (Mode.ORIGINAL, 7.0)
    assert len(wrong) == 2 and "sideways" in wrong[0]


def test_sites_seen_lately_are_listed_first_each_once() -> None:
    sites = Sites({"b.test": "original"})
    for host in ("a.test", "b.test", "", "a.test"):
        sites.seen(host)
    sites.choose("c.test", Mode.TUNNEL)
    assert [(one.pattern, one.mode, one.chosen) for one in sites.listed()] == [
        ("a.test", Mode.ADAPT, False),
        ("b.test", Mode.ORIGINAL, False),
        ("c.test", Mode.TUNNEL, True),
    ]
    for number in range(MAX_SEEN):
        sites.seen(f"{number}.test")
    assert len(sites.listed()) == MAX_SEEN + 2
    assert "a.test" not in [one.pattern for one in sites.listed()]


def test_hosts_are_compared_in_one_spelling() -> None:
    assert normal(" [::1] ") == "::1"
    assert patterns_of("a.b.c") == ["a.b.c", "*.a.b.c", "*.b.c", "*.c", "*"]


# -- requests --------------------------------------------------------------------------------------

PAGE = [("sec-fetch-dest", "document"), ("accept", "text/html")]
IMAGE = [("accept", "image/*"), ("sec-fetch-dest", "image")]


class Switched:
    """Switches, one open page of www.news.test, and what they know and do not want."""

    def __init__(self) -> None:
        self.sites = Sites(CONFIGURED)
        self.documents = Documents()
        self.documents.open(1, "https://www.news.test/", now=0.0, site="www.news.test")
        self.known: dict[str, Component] = {}
        self.unwanted: list[Component] = []
        self.left_out: list[tuple[int, str]] = []
        self.switches = Switches(
            self.sites,
            self.documents,
            find=lambda document, url: self.known.get(url),
            unwanted=self.unwanted.append,
            left_out=lambda document, url: self.left_out.append((document, url)),
        )


def asked(url: str, *fields: tuple[str, str], original: bool = False) -> Request:
    return Request("GET", url, list(fields), original=original)


def test_a_request_is_for_the_site_of_its_page_and_a_page_for_its_own() -> None:
    switches = Switched().switches
    assert switches.site(asked("http://cdn.test/a", *IMAGE), 1) == "www.news.test"
    assert switches.site(asked("http://other.test/", *PAGE), 1) == "other.test"
    frame = asked("http://other.test/", ("sec-fetch-dest", "iframe"))
    assert switches.site(frame, 1) == "www.news.test"
    stray = asked("http://cdn.test/a", ("referer", "http://b.test/x"))
    assert switches.site(stray, UNATTRIBUTED) == "b.test"
    assert switches.site(asked("http://cdn.test/a"), UNATTRIBUTED) == "cdn.test"


def test_a_mode_holds_for_the_page_and_pages_are_seen() -> None:
    switched = Switched()
    mode = switched.switches.mode
    assert mode(asked("http://cdn.test/a", *IMAGE), 1) is Mode.TEXT_ONLY
    assert mode(asked("http://cdn.test/a", *IMAGE, original=True), 1) is Mode.ORIGINAL
    assert switched.sites.listed()[0].pattern != "cdn.test"
    assert mode(asked("http://other.test/", *PAGE), UNATTRIBUTED) is Mode.ADAPT
    assert switched.sites.listed()[0].pattern == "other.test"
    assert mode(asked("https://bank.test/", *PAGE), UNATTRIBUTED) is Mode.ORIGINAL
    assert mode(asked("http://bank.test/", *PAGE), UNATTRIBUTED) is Mode.ADAPT


def test_a_picture_of_a_text_only_site_is_an_empty_one_of_its_size() -> None:
    switched = Switched()
    url = "http://cdn.test/p.jpg"
    known = Component(4, 1, url, Kind.IMAGE, Use.ELEMENT, width=30, height=20, promised=True)
    switched.known[url] = known
    answer = switched.switches.instead(asked(url, *IMAGE), 1)
    assert answer is not None
    assert isinstance(answer.body, bytes)
    assert answer.body[6:10] == bytes((30, 0, 20, 0))
    assert switched.unwanted == [known]
    assert switched.left_out == [(1, url)]
    film = switched.switches.instead(asked("http://cdn.test/f", ("sec-fetch-dest", "video")), 1)
    assert film is not None
    assert film.status == 403
    assert switched.switches.instead(asked("http://cdn.test/s", ("accept", "text/css")), 1) is None
    assert len(switched.unwanted) == 1


def test_what_turns_out_to_be_a_picture_is_left_out_then() -> None:
    switched = Switched()
    component = Component(5, 1, "http://cdn.test/x")

    def answered(kind: str, status: int = 200, method: str = "GET") -> Response:
        request = Request(method, component.url, [])
        response = Response(status, [("content-type", kind)], b"body")
        return switched.switches.without(request, response, component)

    assert answered("text/html").body == b"body"
    assert answered("image/png", status=404).body == b"body"
    assert answered("image/png", method="POST").body == b"body"
    assert switched.unwanted == []
    assert header(answered("image/png").headers, "content-type") == "image/gif"
    assert switched.unwanted == [component]


# -- what browsers ask for themselves --------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("update.googleapis.com", True),
        ("Firefox.Settings.Services.Mozilla.com.", True),
        ("r4---sn-4g5e6nsz.gvt1.com", True),
        ("captive.apple.com", True),
        ("www.googleapis.com", False),
        ("accounts.google.com", False),
        ("notgvt1.com", False),
        ("update.googleapis.com.evil.test", False),
        ("", False),
    ],
)
def test_only_hosts_that_no_page_needs_are_a_browsers_own(host: str, expected: bool) -> None:
    assert is_chatter(host) is expected
