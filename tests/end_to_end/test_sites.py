"""Sites' switches and what is kept of savings, over real HTTP through both proxies."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from local_proxy.front.tls.authority import Authority
from local_proxy.front.tls.connects import Https
from local_proxy.kept.store import FILE, LocalStore
from local_proxy.sites.sites import Mode, Sites
from tests.end_to_end.pair import Answer, Asked, FakeOrigin, Pair, all_three, run, until
from tests.local_proxy.site import progressive
from wire.fields import Headers

PAGE = (
    b"<!doctype html><html><head><link rel=stylesheet href=/s.css><title>t</title></head>"
    b"<body><img src=/p.jpg width=320 height=240>text</body></html>"
)
PICTURE, _ = progressive(1, size=(640, 480))
DRIVER = b"/.well-known/sluice/"
OWN = "http://sluice.local"


def furnish(origin: FakeOrigin) -> str:
    """A page with a style sheet, a picture and a font; its URL."""
    origin.serve("/", PAGE)
    origin.serve(
        "/s.css", b"@font-face{font-family:f;src:url(/f.woff2)} body{font:1em f}", "text/css"
    )
    origin.serve("/p.jpg", PICTURE, "image/jpeg")
    origin.serve("/f.woff2", b"wOF2" + bytes(9000), "font/woff2")
    return origin.base + "/"


def levels(both: Pair, page: str) -> int:
    """The levels of the picture that the page has asked for or been promised."""
    (document,) = both.local.documents
    found = both.local.components.find(document.id, page + "p.jpg")
    assert found is not None
    return len(found.levels)


async def report(both: Pair, path: str = "/sites.json") -> dict[str, Any]:
    answer = await both.client.get(OWN + path)
    assert answer.status == 200
    return dict(json.loads(answer.body))


async def post(both: Pair, path: str, body: object = None, **more: Any) -> Answer:
    """As the status page does, unless `more` has other `headers`."""
    token = (await report(both))["token"]
    headers = [("x-sluice-token", token), ("origin", OWN), ("sec-fetch-site", "same-origin")]
    given: Headers = more.pop("headers", headers)
    text = json.dumps(body or {}).encode()
    return await both.client.get(more.pop("base", OWN) + path, given, method="POST", body=text)


def test_a_site_is_adapted_unless_told_otherwise() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = furnish(origin)
            assert DRIVER in (await both.browser.navigate(page)).body
            picture = await both.browser.image(page + "p.jpg", page)
            assert picture.header("content-type") == "image/jpeg"
            assert levels(both, page) > 1

    run(go())


def test_a_text_only_site_loads_no_pictures_and_no_fonts() -> None:
    async def go() -> None:
        async with all_three(sites={"127.0.0.1": "text-only"}) as (origin, both):
            page = furnish(origin)
            assert b"text</body>" in (await both.browser.navigate(page)).body
            assert (await both.browser.style(page + "s.css", page)).status == 200
            picture = await both.browser.image(page + "p.jpg", page)
            assert picture.header("content-type") == "image/gif"
            assert picture.header("cache-control") == "no-store"
            assert len(picture.body) == 43
            font = await both.browser.get(
                page + "f.woff2", [*both.browser.part(page), ("sec-fetch-dest", "font")]
            )
            assert font.status == 403
            assert set(origin.counts()) == {"/", "/s.css"}

    run(go())


def test_what_only_its_type_gives_away_is_left_out_too() -> None:
    async def go() -> None:
        async with all_three(sites={"*": "text-only"}) as (origin, both):
            page = furnish(origin)
            await both.browser.navigate(page)
            assert (await both.browser.script(page + "p.jpg", page)).body[:6] == b"GIF89a"
            assert (await both.browser.script(page + "f.woff2", page)).status == 403

    run(go())


def test_an_original_site_is_as_the_origin_has_it() -> None:
    async def go() -> None:
        async with all_three(sites={"127.0.0.1": "original"}) as (origin, both):
            page = furnish(origin)
            assert (await both.browser.navigate(page)).body == PAGE
            assert (await both.browser.image(page + "p.jpg", page)).body == PICTURE
            assert levels(both, page) == 0
            assert origin.counts()["/p.jpg"] == 1, "the promise answers"

    run(go())


def test_the_page_s_site_decides_for_what_it_loads_from_elsewhere() -> None:
    sites = Sites({"News.example": "text-only", "*.cdn.example": "original", "*": "adapt"})
    assert sites.mode("img.cdn.example", page="news.example") is Mode.TEXT_ONLY
    assert sites.mode("img.cdn.example", page="") is Mode.ORIGINAL
    assert sites.mode("cdn.example.") is Mode.ORIGINAL
    assert sites.mode("a.news.example") is Mode.ADAPT
    sites.choose("*.example", Mode.TUNNEL)
    assert sites.tunnelled("a.b.example")
    assert sites.tunnelled("news.example"), "a choice goes before the configuration"
    sites.choose("news.example", Mode.ADAPT)
    assert not sites.tunnelled("news.example"), "and a host before a pattern"
    sites.choose("*.example", None)
    assert sites.mode("img.cdn.example") is Mode.ORIGINAL
    for nonsense in ("a b", "http://a.test/", "a.*.test", "", "x" * 300):
        with pytest.raises(ValueError, match="host"):
            sites.choose(nonsense, Mode.ORIGINAL)


def test_tls_is_not_taken_off_while_the_switch_says_so(tmp_path: Path) -> None:
    sites = Sites({}, tunnel=["*.bank.test"])
    authority = Authority.open(tmp_path)
    https = Https(authority, now=lambda: 0.0, tunnelled=sites.tunnelled)
    assert not https.adapts("a.bank.test", "x")
    sites.choose("a.bank.test", Mode.ADAPT)
    assert https.adapts("a.bank.test", "x")


def test_a_choice_on_the_page_holds_at_once_and_after_a_restart(tmp_path: Path) -> None:
    async def go() -> None:
        async with all_three(store=LocalStore(tmp_path)) as (origin, both):
            page = furnish(origin)
            await both.browser.navigate(page)
            line = {"pattern": "127.0.0.1", "mode": "adapt", "chosen": False, "within": 0.0}
            assert (await report(both))["sites"] == [line]
            choice = {"pattern": "127.0.0.1", "mode": "text-only"}
            assert (await post(both, "/sites", choice)).status == 200
            assert (await report(both))["sites"] == [{**choice, "chosen": True, "within": 0.0}]
            known = await both.browser.image(page + "p.jpg", page)
            assert known.body[6:10] == bytes([64, 1, 240, 0]), "320 x 240, as the page has it"
        async with all_three(store=LocalStore(tmp_path)) as (origin, both):
            page = furnish(origin)
            await both.browser.navigate(page)
            assert (await both.browser.image(page + "p.jpg", page)).body[:3] == b"GIF"
            await post(both, "/sites", {"pattern": "127.0.0.1", "mode": None})
            assert (await both.browser.image(page + "p.jpg", page)).body[:2] == b"\xff\xd8"

    run(go())


@pytest.mark.parametrize(
    "change",
    [
        {"x-sluice-token": "guessed"},
        {"x-sluice-token": ""},
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_change_nothing(change: dict[str, str]) -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            token = (await report(both))["token"]
            own = {"x-sluice-token": token, "origin": OWN, "sec-fetch-site": "same-origin"}
            choice = {"pattern": "a.test", "mode": "tunnel"}
            refused = await post(both, "/sites", choice, headers=[*{**own, **change}.items()])
            assert refused.status == 403
            assert not both.local.sites.tunnelled("a.test")
            assert (await post(both, "/sites", choice, headers=[*own.items()])).status == 200
            assert both.local.sites.tunnelled("a.test")

    run(go())


def test_a_name_made_to_point_here_neither_reads_nor_changes() -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            base = f"http://rebound.test:{both.address[1]}"
            asked = await both.client.get(base + "/sites.json")
            changed = await post(both, "/sites", {"pattern": "a.test", "mode": "tunnel"}, base=base)
            assert b"token" not in asked.body
            assert asked.status >= 400
            assert changed.status >= 400
            assert not both.local.sites.tunnelled("a.test")

    run(go())


@pytest.mark.parametrize(
    "body", [{}, {"pattern": 5}, {"pattern": "a", "mode": "fast"}, {"pattern": "x" * 5000}, [], 7]
)
def test_nonsense_is_refused_in_words(body: object) -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            answer = await post(both, "/sites", body)
            assert answer.status == 400
            assert json.loads(answer.body)["problem"]

    run(go())


def test_savings_are_kept_by_day_and_site_and_can_be_erased(tmp_path: Path) -> None:
    async def go() -> None:
        async with all_three(store=LocalStore(tmp_path)) as (origin, both):
            page = furnish(origin)
            await both.browser.navigate(page)
            await both.browser.image(page + "p.jpg", page)
            picture = both.local.components.find(1, page + "p.jpg")
            await until(lambda: picture.complete)
            assert both.local.savings.waiting
        async with all_three(store=LocalStore(tmp_path)) as (_, both):
            told = await report(both, "/savings.json")
            (day,), (site,) = told["days"], told["sites"]
            assert site["site"] == "127.0.0.1"
            assert site["pictures"] == day["pictures"] == 1
            assert day["requests"] >= 2
            assert day["origin_bytes"] >= len(PAGE) + len(PICTURE)
            assert 0 < day["link_bytes"] < day["origin_bytes"] + 9000
            assert (await report(both, "/savings.json?day=2001-01-01"))["sites"] == []
            assert (await report(both, f"/savings.json?day={day['day']}"))["sites"] == [site]
            assert (await post(both, "/savings/erase")).status == 200
            assert (await report(both, "/savings.json"))["days"] == []
            assert b"127.0.0.1" not in (tmp_path / FILE).read_bytes()

    run(go())


def test_a_file_that_cannot_be_used_does_no_harm(tmp_path: Path) -> None:
    async def go() -> None:
        (tmp_path / FILE).mkdir()
        async with all_three(store=LocalStore(tmp_path)) as (origin, both):
            page = furnish(origin)
            assert (await both.browser.navigate(page)).status == 200
            assert (await report(both, "/savings.json"))["problem"]
            choice = {"pattern": "127.0.0.1", "mode": "original"}
            assert (await post(both, "/sites", choice)).status == 503
            assert (await both.browser.navigate(page)).body == PAGE, "it holds all the same"

    run(go())


WITHHOLDS = """
from policies.api import Kind, Rule, SessionOpened, SetPlan

class Withholds:
    name = "withholds"

    def react(self, event, view):
        if isinstance(event, SessionOpened):
            yield SetPlan((Rule(kind=Kind.IMAGE, {rule}),))
"""


def test_a_reader_s_wish_for_a_picture_overrules_the_plan(tmp_path: Path) -> None:
    policy = tmp_path / "withholds.py"
    policy.write_text(WITHHOLDS.format(rule='level="none"'))

    async def go() -> None:
        async with all_three(policy=[str(policy)]) as (origin, both):
            page = furnish(origin)
            await both.browser.navigate(page)
            (document,) = both.local.documents
            find = both.local.components.find
            await until(lambda: find(document.id, page + "p.jpg"))
            picture = find(document.id, page + "p.jpg")
            assert picture is not None
            assert not picture.received
            assert both.local.tracker.original(document.id, page + "p.jpg")
            await until(lambda: picture.complete)
            assert both.local.tracker.original(document.id, page + "p.jpg"), "it is here"
            assert not both.local.tracker.original(document.id, page + "q.jpg")

    run(go())


def test_a_picture_whose_original_was_never_to_come_goes_on_or_is_fetched_anew(
    tmp_path: Path,
) -> None:
    policy = tmp_path / "withholds.py"
    policy.write_text(WITHHOLDS.format(rule='level="low"'))

    async def go() -> None:
        async with all_three(policy=[str(policy)]) as (origin, both):
            page = furnish(origin)
            await both.browser.navigate(page)
            await both.browser.image(page + "p.jpg", page)
            (document,) = both.local.documents
            assert levels(both, page) == 1
            picture = both.known(page + "p.jpg")
            await until(lambda: picture.stopped)
            assert both.local.tracker.original(document.id, page + "p.jpg")
            await until(lambda: picture.complete)
            assert levels(both, page) > 1
            again = await both.browser.image(page + "p.jpg?sluice-level=x.0.again", page)
            assert again.body == PICTURE

    run(go())


def test_a_promise_of_a_picture_from_a_text_only_host_is_called_off() -> None:
    async def go() -> None:
        async with (
            FakeOrigin().running("127.0.0.2") as elsewhere,
            all_three(sites={"127.0.0.2": "text-only"}) as (origin, both),
        ):
            furnish(elsewhere)
            begun, end = asyncio.Event(), asyncio.Event()

            async def slow(asked: Asked) -> None:
                begun.set()
                await end.wait()

            elsewhere.paths["/p.jpg"] = slow
            picture = elsewhere.base + "/p.jpg"
            origin.serve("/", f"<!doctype html><img src={picture}>".encode())
            page = origin.base + "/"
            await both.browser.navigate(page)
            await begun.wait()
            (document,) = both.local.documents
            promised = both.local.components.find(document.id, picture)
            assert promised is not None
            assert promised.failure is None
            assert (await both.browser.image(picture, page)).body[:3] == b"GIF"
            assert promised.failure is not None
            end.set()

    run(go())


def test_problems_on_the_status_page_name_no_queries() -> None:
    async def go() -> None:
        async with all_three() as (_, both):
            answer = await both.client.get("http://127.0.0.1:1/path?word=secret")
            assert answer.status == 502
            (problem,) = (await report(both, "/status.json"))["problems"]
            assert problem["text"].startswith("http://127.0.0.1:1/path")
            assert "secret" not in problem["text"]

    run(go())
