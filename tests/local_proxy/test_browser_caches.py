"""Beliefs about browsers' caches, without browsers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from local_proxy.http.model import Request
from local_proxy.promises.browser_caches import Belief, BrowserCaches
from wire.fields import Headers
from wire.names import MAX_NAMES, NAME, name_of, names_in

HOST = "http://a.test"
AGENT = ("user-agent", "B")
FRESH: Headers = [("cache-control", "max-age=100"), ("etag", '"1"')]
STALE: Headers = [("cache-control", "no-cache"), ("etag", '"1"')]


def get(path: str, *more: tuple[str, str], agent: str = "B", host: str = HOST) -> Request:
    return Request("GET", host + path, [("user-agent", agent), *more])


class World:
    """Documents are numbered as they open."""

    def __init__(self, **settings: int) -> None:
        self.caches = BrowserCaches(**settings)
        self.document = 0

    def visit(self, path: str = "/", *more: tuple[str, str], agent: str = "B") -> int:
        self.document += 2
        self.caches.open(self.document, get(path, *more, agent=agent), site="a.test")
        return self.document

    def take(
        self, path: str, headers: Headers = FRESH, *, now: float = 0.0, kind: str = ""
    ) -> None:
        fields = [*headers, ("content-type", kind)]
        self.caches.delivered(self.document, get(path), 200, fields, now=now)

    def belief(self, path: str, *, now: float = 1.0) -> Belief:
        return self.caches.belief(self.document, HOST + path, now=now)

    def names(self, *, now: float = 1.0) -> tuple[frozenset[bytes], frozenset[bytes]]:
        kept = self.caches.names(self.document, now=now)
        return (names_in(kept.fresh), names_in(kept.stale)) if kept else (frozenset(), frozenset())


def named(*paths: str) -> frozenset[bytes]:
    return frozenset(name_of(HOST + path) for path in paths)


def test_what_was_delivered_is_fresh_then_stale() -> None:
    world = World()
    world.visit()
    world.take("/s")
    world.take("/plain", [("cache-control", "max-age=10")])
    world.visit()
    assert world.names(now=9) == (named("/s", "/plain"), named())
    assert world.names(now=50) == (named("/s"), named())
    assert world.names(now=101) == (named(), named("/s"))
    assert world.caches.withheld(world.document, HOST + "/s")
    assert not world.caches.withheld(world.document, HOST + "/plain")
    assert world.belief("/s", now=99) is Belief.FRESH
    assert world.belief("/other") is Belief.UNKNOWN


def test_a_304_renews() -> None:
    world = World()
    world.visit()
    world.take("/s")
    conditional = get("/s", ("if-none-match", '"1"'))
    world.caches.asked(world.document, conditional, now=150)
    world.caches.delivered(world.document, conditional, 304, [], now=150)
    assert world.belief("/s", now=249) is Belief.FRESH
    renewed = [("cache-control", "max-age=7")]
    world.caches.delivered(world.document, conditional, 304, renewed, now=300)
    assert world.belief("/s", now=306) is Belief.FRESH
    assert world.belief("/s", now=308) is Belief.STALE
    assert world.caches.wrong == 0


def test_one_wrong_guess_ends_all_belief_of_that_browser_and_site() -> None:
    world = World()
    for agent in ("C", "B"):
        world.visit(agent=agent)
        world.take("/s")
        world.take("/t")
    again = ("cache-control", "no-cache")
    world.caches.asked(world.document, get("/s", again), now=1)  # a script's own reload
    world.caches.asked(world.document, get("/s", ("range", "bytes=0-")), now=1)
    world.caches.asked(world.document, get("/unknown"), now=1)
    assert world.caches.wrong == 0
    world.caches.asked(world.document, get("/s"), now=1)
    assert world.caches.wrong == 1
    assert world.belief("/t") is Belief.UNKNOWN
    world.visit(agent="C")
    assert world.belief("/t") is Belief.FRESH


def test_whether_a_browser_has_anything_of_a_site() -> None:
    world = World()
    assert not world.caches.know_site("B", HOST)
    world.visit()
    assert not world.caches.know_site("B", HOST), "nothing of it is kept"
    world.take("/s")
    for url in (HOST, "https://www.a.test/x", "http://a.test:8000/"):
        assert world.caches.know_site("B", url)
    assert not world.caches.know_site("C", HOST)
    assert not world.caches.know_site("B", "http://b.test/")
    assert not world.caches.know_site("B", "no address")


def test_reloads() -> None:
    world = World()
    world.visit()
    world.take("/s")
    world.visit("/", ("cache-control", "max-age=0"))  # some browsers ask about everything
    assert world.belief("/s") is Belief.STALE
    for hard in (("cache-control", "no-cache"), ("pragma", "no-cache")):
        world.visit("/", hard)
        assert world.belief("/s") is Belief.UNKNOWN
        assert world.names() == (named(), named())


def test_a_form_asks_for_nothing_anew_and_the_page_that_it_leads_to_holds_what_was_said() -> None:
    world = World()
    world.visit()
    world.take("/s", kind="text/css")
    world.take("/old", STALE, kind="text/css")
    world.document += 2
    anew = [("user-agent", "B"), ("cache-control", "max-age=0")]
    world.caches.open(world.document, Request("POST", HOST + "/form", anew), site="a.test")
    assert world.names() == (named("/s"), named("/old"))
    world.caches.open(world.document, get("/led", ("cache-control", "max-age=0")), site="a.test")
    assert world.belief("/s") is Belief.FRESH
    assert world.caches.withheld(world.document, HOST + "/old")


def test_whose_names_are_sent() -> None:
    world = World()
    world.visit("/one")
    world.take("/style", kind="text/css")
    world.take("/logo", kind="image/png")
    world.take("/photo", kind="image/jpeg")
    world.visit("/two")
    assert world.names()[0] == named("/style")
    world.caches.spare(world.document, HOST + "/logo")  # promised for this page, too
    assert world.caches.spared == 1
    world.visit("/two")
    assert world.names()[0] == named("/style", "/logo")
    world.visit("/one")
    assert world.names()[0] == named("/style", "/logo", "/photo")


def test_not_everything_is_remembered() -> None:
    world = World(max_kept=3)
    world.visit()
    world.take("/", FRESH)
    world.take("/cookie", [*FRESH, ("vary", "cookie")])
    world.take("/once", [("cache-control", "no-store")])
    world.take("/" + "x" * 3000)
    request = Request("POST", HOST + "/post", [AGENT])
    world.caches.delivered(world.document, request, 200, FRESH, now=0)
    world.caches.delivered(world.document, get("/missing"), 404, FRESH, now=0)
    world.caches.delivered(99, get("/else"), 200, FRESH, now=0)
    assert len(world.caches) == 0
    for number in range(5):
        world.take(f"/{number}")
    assert len(world.caches) == 3
    assert world.belief("/1") is Belief.UNKNOWN
    world.take("/4", [("cache-control", "no-store")])  # it is not kept any more
    assert world.belief("/4") is Belief.UNKNOWN
    world.caches.close(world.document)
    assert world.belief("/3") is Belief.UNKNOWN


def test_clients_without_a_name_are_not_believed_to_keep_anything() -> None:
    caches = BrowserCaches()
    caches.open(2, Request("GET", HOST, []), site="a.test")
    caches.delivered(2, get("/s"), 200, FRESH, now=0)
    assert len(caches) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 90), st.sampled_from((FRESH, STALE)))))
def test_bounded_whatever_comes(taken: list[tuple[int, int, Headers]]) -> None:
    world = World(max_kept=70)
    for page, part, headers in taken:
        world.visit(f"/{page}")
        world.caches.asked(world.document, get(f"/part/{part}"), now=1)
        world.take(f"/part/{part}", headers)
    kept = world.caches.names(world.document, now=1) if taken else None
    assert len(world.caches) <= 70
    if kept is not None:
        assert len(kept.fresh + kept.stale) <= MAX_NAMES * NAME
