"""Real browsers keep pictures that were coarse at first: another visit asks for none."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from bench.browsers.bidi import EXECUTABLE as FIREFOX
from bench.browsers.bidi import launched as firefox
from tests.local_proxy.browser_world import (
    PROBE,
    STATE,
    AnyTab,
    Run,
    World,
    becomes,
    complaints,
    gallery,
    paint,
    running,
    with_gallery,
)
from tests.local_proxy.chromium import EXECUTABLE, launched
from tests.local_proxy.site import Site
from wire.skeleton import Use

ELSEWHERE = "http://site.test/elsewhere"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(
            launched,
            id="chromium",
            marks=pytest.mark.skipif(EXECUTABLE is None, reason="no chromium on this machine"),
        ),
        pytest.param(
            firefox,
            id="firefox",
            marks=pytest.mark.skipif(FIREFOX is None, reason="no firefox on this machine"),
        ),
    ],
)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    yield from running(request.param)


async def until(tab: AnyTab, ready: Callable[[], bool]) -> None:
    while not ready():
        await tab.painted()


def pictures(site: Site) -> list[str]:
    """What was asked for of pictures."""
    return [url for url in site.log if ".jpg" in url]


async def leave_and_return(world: World, tab: AnyTab) -> None:
    """Another visit; the log has what it asks for."""
    world.site.page("/elsewhere", "<!doctype html><title>elsewhere</title>")
    await tab.go(ELSEWHERE)
    world.site.log.clear()
    await tab.go("http://site.test/")


def test_another_visit_finds_final_pictures(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 5, gallery(5, head=PROBE))
        async with world.direct() as tab:
            expected, final = await tab.evaluate(STATE), await tab.screenshot()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 5, "original")
            await until(tab, lambda: site.export.statistics().kept == 5)
            assert await becomes(tab, final)
            state = await tab.evaluate(STATE)
            assert state.replace("site.test", "plain.test") == expected
            await leave_and_return(world, tab)
            assert pictures(site) == []
            assert await becomes(tab, final)
            assert complaints(tab) == []
        assert site.export.statistics().swapped == 5

    run(test)


CORS = ("access-control-allow-origin", "http://site.test")
HOW = {
    "varying": ("", [("vary", "Accept")]),
    "crossorigin": ("crossorigin", []),
    "with credentials": (
        "crossorigin=use-credentials",
        [CORS, ("access-control-allow-credentials", "true")],
    ),
}


@pytest.mark.parametrize("how", HOW)
def test_however_a_picture_is_asked_for(run: Run, how: str) -> None:
    async def test(world: World) -> None:
        attribute, fields = HOW[how]
        site = world.fresh()
        with_gallery(site, 2, gallery(2, extra=attribute))
        for one in site.components.values():
            assert one.head is not None
            one.head.headers.extend(fields)
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 2, "original")
            await until(tab, lambda: site.export.statistics().kept == 2)
            await leave_and_return(world, tab)
            assert pictures(site) == []
            assert complaints(tab) == []

    run(test)


def test_of_another_origin(run: Run) -> None:
    """With and without CORS; an opaque answer is read by nobody, and kept all the same."""

    async def test(world: World) -> None:
        site = world.fresh()
        body = (
            '<img src="http://other.test/a.jpg" width=160 height=120>'
            '<img src="http://other.test/b.jpg" width=160 height=120 crossorigin>'
        )
        site.page("/", f"<!doctype html>{body}")
        big = {"size": (1600, 1200), "grain": (400, 300), "origin": "http://other.test"}
        for seed, path in enumerate(("/a.jpg", "/b.jpg")):
            site.picture(path, seed, **big)
            one = site.components[path].head
            assert one is not None
            one.headers.append(("access-control-allow-origin", "*"))
            site.advance(path, "low")
        # A Referer of another origin names no page.
        site.documents["http://site.test/"] = 1
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            for path in ("/a.jpg", "/b.jpg"):
                site.advance(path, "original")
            if "Gecko/" in await tab.evaluate("navigator.userAgent"):
                return  # which keeps what scripts fetch of other origins apart
            await until(tab, lambda: site.export.statistics().kept == 2)
            await tab.evaluate("new Promise((done) => setTimeout(done, 300))")
            await leave_and_return(world, tab)
            assert pictures(site) == []
            assert complaints(tab) == []

    run(test)


NOT_KEPT = {
    "header": ("", [("content-security-policy", "default-src 'self'; connect-src b.test")]),
    "reported": ("", [("content-security-policy-report-only", "connect-src 'none'")]),
    "meta": (
        '<meta http-equiv=content-security-policy content="connect-src http://site.test/.well-known/'
        'sluice/">',
        [],
    ),
    "script": (
        "<script>const m = document.createElement('meta'); m.httpEquiv = 'Content-Security-Policy';"
        'm.content = "connect-src http://site.test/.well-known/sluice/";'
        "document.head.append(m)</script>",
        [],
    ),
}
WATCH = """<script>window.told = [];
document.addEventListener("securitypolicyviolation", (e) => told.push(e.violatedDirective))
</script>"""


@pytest.mark.parametrize("policy", NOT_KEPT)
def test_a_policy_that_forbids_it_hears_of_nothing(run: Run, policy: str) -> None:
    async def test(world: World) -> None:
        head, fields = NOT_KEPT[policy]
        site = world.fresh()
        scripts = "" if policy == "header" else WATCH
        with_gallery(site, 2, gallery(2, head=scripts + head), *fields)
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 2, "original")
            await until(tab, lambda: site.export.statistics().levels_served >= 2)
            await tab.evaluate("new Promise((done) => setTimeout(done, 100))")
            assert complaints(tab) == []
            assert await tab.evaluate("JSON.stringify(window.told ?? [])") == "[]"
        assert site.export.statistics().kept == 0

    run(test)


def test_the_page_may_reload_a_picture_itself(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 1, gallery(1))
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 1, "original")
            await until(tab, lambda: site.export.statistics().kept == 1)
            site.log.clear()
            size = await tab.evaluate(
                "fetch('/p0.jpg', {cache: 'reload', headers: {Accept: 'image/*'}})"
                ".then((r) => r.arrayBuffer()).then((b) => b.byteLength)"
            )
            assert size == len(site.files["/p0.jpg"])
            assert pictures(site) == ["http://site.test/p0.jpg"]
        assert site.export.statistics().kept == 1

    run(test)


def test_streams_are_kept_by_themselves(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        style = "<style>p{width:160px;height:120px;background:url(/p0.jpg)}</style><p>"
        site.page("/", f"<!doctype html>{style}")
        site.picture("/p0.jpg", 0, use=Use.BACKGROUND)
        paint(site, 1, "low")
        final = await world.pixels()
        async with world.browser.tab() as tab:
            loading = asyncio.ensure_future(tab.go("http://site.test/"))
            await until(tab, lambda: site.export.statistics().streamed == 1)
            paint(site, 1, "original")
            await loading
            await leave_and_return(world, tab)
            assert pictures(site) == []
            assert await becomes(tab, final)

    run(test)
