"""A page opened again crosses the link as what has changed in it, and never as anybody else's."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.end_to_end.pair import Browser, FakeOrigin, Pair, all_three, run, until
from wire import abilities
from wire.fields import Headers

WORDS = (
    "harbour",
    "tide",
    "vessel",
    "signal",
    "night",
    "water",
    "engine",
    "letter",
    "rope",
    "storm",
)


def article(seed: int) -> str:
    """Some 400 bytes of prose that no other seed has."""
    words = random.Random(seed)
    text = " ".join(f"{words.choice(WORDS)}{words.randrange(1000)}" for _ in range(40))
    return f'<article class="story"><h2>Story {seed}</h2><p>{text}</p></article>'


def news(first: int) -> bytes:
    """A page of thirty stories, the newest first."""
    body = "\n".join(article(seed) for seed in range(first, first - 30, -1))
    return f"<!doctype html><title>news</title><body>{body}".encode()


class Counted:
    """What crosses the link towards the device for one page, and whether it is the origin's."""

    def __init__(self, both: Pair) -> None:
        self.both = both

    async def visit(self, url: str, expected: bytes, headers: Headers | None = None) -> int:
        """Bytes of the page's component."""
        browser = self.both.browser
        answer = await browser.get(url, headers or browser.navigation())
        assert answer.status == 200
        # The export driver's script tag is in it; all else is the origin's.
        for line in expected.split(b"\n"):
            assert line.removeprefix(b"<!doctype html>") in answer.body
        found = self.both.known(url)
        await until(lambda: found.complete)
        return found.carried


def cookie(value: str) -> Headers:
    return [*Browser.navigation(), ("cookie", value)]


def visits(
    *steps: tuple[bytes, Headers | None],
    page: Headers | None = None,
    between: Callable[[Pair], object] = lambda both: None,
) -> list[int]:
    """Bytes that crossed in each visit of one page: what it is then, and what is asked."""
    carried = []

    async def go() -> None:
        async with all_three() as (origin, both):
            counted = Counted(both)
            for body, headers in steps:
                origin.serve("/", body, headers=page or [("cache-control", "no-cache")])
                carried.append(await counted.visit(origin.base + "/", body, headers))
                between(both)

    run(go())
    return carried


def test_a_changed_page_crosses_as_its_changes() -> None:
    first, second, third = visits((news(100), None), (news(105), None), (news(105), None))
    assert first > 3000
    assert second < 0.35 * first, "a sixth of it is new"
    assert third < 64, "nothing is"


def test_what_was_asked_for_with_other_cookies_is_no_dictionary() -> None:
    ann, bob = cookie("session=ann"), cookie("session=bob")
    first, other, again = visits((news(100), ann), (news(100), bob), (news(100), ann))
    assert other > 0.9 * first
    assert again < 64


def test_cookies_that_count_visitors_are_no_credentials() -> None:
    one, two = cookie("_ga_XY12=GS1.1.1; session=ann"), cookie("session=ann; _ga_XY12=GS1.1.2")
    first, again = visits((news(100), one), (news(100), two))
    assert again < 64 < first


def test_what_may_not_be_stored_is_not() -> None:
    stored = [("cache-control", "no-store")]
    first, again = visits((news(100), None), (news(100), None), page=stored)
    assert again > 0.9 * first


def test_what_an_origin_clears_is_gone() -> None:
    clears = [("clear-site-data", '"cache"')]

    async def go() -> None:
        async with all_three() as (origin, both):
            counted, url = Counted(both), origin.base + "/"
            origin.serve("/", news(100))
            first = await counted.visit(url, news(100))
            origin.serve("/logout", b"gone", headers=clears)
            await both.browser.navigate(origin.base + "/logout")
            assert await counted.visit(url, news(100)) > 0.9 * first

    run(go())


def test_a_text_that_the_device_has_lost_costs_a_round_trip_and_no_byte_of_the_page() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            counted, url = Counted(both), origin.base + "/"
            origin.serve("/", news(100))
            first = await counted.visit(url, news(100))
            shelf = both.local.dictionaries.shelf
            offered, named = shelf.offer, []

            def offer(*whose: object) -> list[object]:
                named.extend(offered(*whose))  # type: ignore[arg-type]
                shelf.forget(lambda text: True)
                return list(named)

            shelf.offer = offer  # type: ignore[method-assign,assignment]
            again = await counted.visit(url, news(100))
            assert named
            assert both.local.dictionaries.lost == 1
            assert again > 0.9 * first
            await both.serves(origin)

    run(go())


def test_a_remote_that_has_forgotten_sends_all_of_it() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            counted, url = Counted(both), origin.base + "/"
            origin.serve("/", news(100))
            first = await counted.visit(url, news(100))
            await both.remote.stop()
            await both.remote.start()
            await both.connected()
            origin.serve("/", news(105))
            assert await counted.visit(url, news(105)) > 0.9 * first

    run(go())


def test_a_page_never_seen_is_coded_against_its_neighbour() -> None:
    frame = "\n".join(article(seed) for seed in range(1000, 1030))

    def page(number: int) -> bytes:
        return f"<!doctype html><title>{number}</title>{frame}\n{article(number)}".encode()

    async def go() -> None:
        async with all_three() as (origin, both):
            counted = Counted(both)
            for number in (1, 2):
                origin.serve(f"/story/{number}", page(number))
            first = await counted.visit(origin.base + "/story/1", page(1))
            assert await counted.visit(origin.base + "/story/2", page(2)) < 0.2 * first
            strange = random.Random(1).randbytes(20_000).hex().encode()
            origin.serve("/story/3", strange)
            await counted.visit(origin.base + "/story/3", strange)
            found = both.known(origin.base + "/story/3")
            assert not found.dictionary, "what has nothing in common is coded by itself"

    run(go())


def test_another_site_is_told_nothing_by_how_little_crosses() -> None:
    """A script that two sites use is sent to each of them whole."""
    script = ("// " + article(7) * 20).encode()

    async def go() -> None:
        async with (
            FakeOrigin().running() as other,
            all_three() as (origin, both),
        ):
            browser, url = both.browser, origin.base + "/lib.js"
            never = [("cache-control", "no-cache")]
            origin.serve("/lib.js", script, "text/javascript", headers=never)
            carried = []
            elsewhere = other.base.replace("127.0.0.1", "localhost")
            for site, base in ((origin, origin.base), (origin, origin.base), (other, elsewhere)):
                page = f"<!doctype html><title>x</title><script src={url}></script>".encode()
                site.serve("/", page, headers=never)
                await browser.navigate(base + "/")
                assert (await browser.script(url, base + "/")).body == script
                found = both.known(url)
                await until(lambda found=found: found.complete)  # type: ignore[misc]
                carried.append(found.carried)
            whole, again, strange = carried
            assert again < 64
            assert strange > 0.9 * whole

    run(go())


def test_a_remote_that_keeps_none_is_told_of_none() -> None:
    async def go() -> None:
        async with all_three(remote_texts=0) as (origin, both):
            counted, url = Counted(both), origin.base + "/"
            origin.serve("/", news(100), headers=[("cache-control", "no-cache")])
            first = await counted.visit(url, news(100))
            session = both.local.uplink.session
            assert session is not None
            assert not session.remote_accepts(abilities.DICTIONARIES)
            assert len(both.local.dictionaries.shelf) == 1, "for when it is told to keep some"
            assert await counted.visit(url, news(100)) > first / 2, "coded against nothing"

    run(go())
