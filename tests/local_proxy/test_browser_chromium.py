"""The export driver in a real Chromium: pixels, and silence in the page."""

from __future__ import annotations

import asyncio
import io
import wave
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator

import pytest
from PIL import Image

from local_proxy.link.components import ComponentFailed
from tests.local_proxy.browser_world import (
    PROBE,
    STATE,
    STEPS,
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
from tests.watched import until
from wire.skeleton import Use

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no chromium on this machine")


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    yield from running(launched)


def test_twenty_pictures_refine_unnoticed(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 20, gallery(20, head=PROBE))
        async with world.direct() as tab:
            final, expected = await tab.screenshot(), await tab.evaluate(STATE)
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")  # returns: load does not wait for finer levels
            coarse = await tab.screenshot()
            assert coarse != final
            for level in STEPS:
                paint(site, 20, level)
                await tab.screenshot()
            assert await becomes(tab, final)
            state = await tab.evaluate(STATE)
            assert state.replace("site.test", "plain.test") == expected
            assert complaints(tab) == []
        statistics = site.export.statistics()
        assert statistics.swapped == 20
        assert statistics.coarse == 0
        asked = Counter(url for url in site.log if "sluice-level" in url)
        assert max(asked.values()) == 1  # the style rule uses what the driver has decoded
        heard = {entry[0] for entry in site.tracker.heard}
        assert {"visible", "in_view", "layout"} <= heard

    run(test)


SIZES = "JSON.stringify([...document.images].map((i) => [i.naturalWidth, i.width, i.height]))"


def test_sketches_have_the_final_layout_and_become_the_final_pixels(run: Run) -> None:
    """Without dimensions in the page: the picture's own are all that lays it out."""

    async def test(world: World) -> None:
        site = world.fresh()
        body = "".join(f'<img src="/p{i}.jpg">' for i in range(4))
        site.page("/", f"<!doctype html><head><title>t</title></head><body>{body}</body>")
        for i in range(4):
            site.picture(f"/p{i}.jpg", 40 + i, size=(300, 160 + 20 * i), sketch=True)
        paint(site, 4, "low")
        async with world.direct() as tab:
            final, sizes = await tab.screenshot(), await tab.evaluate(SIZES)
        assert sizes.startswith("[[300,300,160],[300,300,180]")
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            assert await tab.screenshot() != final
            assert await tab.evaluate(SIZES) == sizes
            for level in STEPS:
                paint(site, 4, level)
                await tab.screenshot()
                assert await tab.evaluate(SIZES) == sizes
            assert await becomes(tab, final)
            assert complaints(tab) == []
        statistics = site.export.statistics()
        assert (statistics.swapped, statistics.coarse) == (4, 0)

    run(test)


def test_a_coarser_level_that_comes_late_does_not_take_a_finer_one_s_place(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 2, gallery(2))
        final = await world.pixels()
        late = site.held[".medium"] = asyncio.Event()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 2, "medium")
            while sum(url.endswith(".medium") for url in site.log) < 2:
                await tab.painted()
            paint(site, 2, "original")
            assert await becomes(tab, final)
            late.set()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    while await tab.screenshot() == final:
                        await tab.painted()

    run(test)


def test_pictures_that_are_final_already_need_nothing(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 3, gallery(3))
        paint(site, 3, "original")
        final = await world.pixels()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            assert await tab.screenshot() == final
        assert site.export.statistics().whole == 3

    run(test)


POLICIES = [
    "default-src 'self'",
    "default-src 'none'; img-src http://site.test/p0.jpg http://site.test/p1.jpg",
    "script-src 'none'; connect-src 'none'",
    "script-src 'nonce-abc' 'strict-dynamic'; default-src 'self'",
    "default-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'",
]


@pytest.mark.parametrize("policy", POLICIES)
def test_under_a_content_security_policy(run: Run, policy: str) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 2, gallery(2), ("content-security-policy", policy))
        site.pages["/direct"] = gallery(2).encode(), [("content-type", "text/html")]
        final = await world.pixels("/direct")
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            assert await tab.screenshot() != final
            paint(site, 2, "original")
            assert await becomes(tab, final)
            assert complaints(tab) == []
        assert site.export.statistics().swapped == 2

    run(test)


async def stream_both(world: World, final: bytes) -> None:
    """Both pictures of the page are streamed, and become what they are to be."""
    async with world.browser.tab() as tab:
        loading = asyncio.ensure_future(tab.go("http://site.test/"))
        while world.site.export.statistics().streamed < 2:
            await tab.painted()
        paint(world.site, 2, "original")
        await loading
        assert await becomes(tab, final)


def test_a_meta_policy_that_shuts_the_channel_means_streams(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        policy = "default-src 'none'; img-src *"
        meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        with_gallery(site, 2, gallery(2, head=meta))
        final = await world.pixels()
        await stream_both(world, final)

    run(test)


BODIES = {
    "same picture twice": '<img src="/A"><img src="./A"><img src="http://HOST/B">',
    "odd characters": '<img src="/A" alt="a"><img src="  /B\n" class=\'"\'>',
    "fragment": '<img src="/A#x"><img src="/B">',
    "srcset with density": '<img src="/none.jpg" srcset="/A 2x"><img src="/B">',
    "srcset with widths": '<img srcset="/A 160w" sizes="200px"><img src="/B">',
    "picture": '<picture><source srcset="/A" media="(min-width: 10px)"><img src="/same.jpg">'
    '</picture><picture><source srcset="/B"><img src="/same.jpg"></picture>',
    "crossorigin": '<img crossorigin src="/A"><img crossorigin=use-credentials src="/B">',
    "styled": "<style>#styled img{object-fit:cover;width:50px;height:99px;all:revert}</style>"
    '<img src="/A"><img src="/B">',
    "shadow": '<div><template shadowrootmode=open><p><img src="/A"></p></template></div>'
    '<img src="/B">',
    "lazy": '<img loading=lazy src="/A"><img loading=lazy decoding=async src="/B">',
}
_ROW = 64
"""Height of each body in pixels: ten of them fit the window."""


def test_however_a_picture_is_written(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        page = "<!doctype html><body style='margin:0'>"
        for row, (name, body) in enumerate(BODIES.items()):
            for letter, number in (("A", 2 * row), ("B", 2 * row + 1)):
                body = body.replace(f"/{letter}", f"/p{number}.jpg")  # noqa: PLW2901
            page += f'<section id="{name}" style="height:{_ROW}px;overflow:clip">{body}</section>'
        count = 2 * len(BODIES)
        with_gallery(site, count, page.replace("HOST", "site.test"))
        site.page("/direct", page.replace("HOST", "plain.test"))
        final = await world.pixels("/direct")
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            assert differing(await tab.screenshot(), final) == list(BODIES)
            paint(site, count, "medium")
            paint(site, count, "original")
            assert await becomes(tab, final), differing(await tab.screenshot(), final)
            assert differing(await tab.screenshot(), final) == []
        asked = Counter(url for url in site.log if "sluice-level" in url)
        assert max(asked.values()) == 1

    run(test)


def differing(one: bytes, other: bytes) -> list[str]:
    """The bodies whose rows are not the same pixels."""
    images = [Image.open(io.BytesIO(data)).convert("RGB") for data in (one, other)]
    rows = [
        [image.crop((0, at, image.width, at + _ROW)).tobytes() for image in images]
        for at in range(0, _ROW * len(BODIES), _ROW)
    ]
    return [name for name, (a, b) in zip(BODIES, rows, strict=True) if a != b]


def test_base_addresses(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        body = '<!doctype html><base href="/deep/er/"><img src="../../p0.jpg"><img src="/p1.jpg">'
        with_gallery(site, 2, body)
        final = await world.pixels()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 2, "original")
            assert await becomes(tab, final)

    run(test)


HOSTILE = """<script>
  for (const name of ["EventSource", "Image", "CSSStyleSheet", "setTimeout", "WeakSet", "Promise",
                      "MutationObserver", "IntersectionObserver", "URL", "JSON", "Object"]) {
    window[name] = () => { throw new Error(name); };
  }
  HTMLImageElement.prototype.decode = Element.prototype.getAttribute = null;
  Function.prototype.call = Function.prototype.apply = String.prototype.replace = null;
  EventTarget.prototype.addEventListener = Document.prototype.querySelectorAll = null;
  navigator.sendBeacon = null;
  addEventListener = null;
</script>"""


def test_a_page_that_overrides_everything(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 3, gallery(3, head=HOSTILE))
        site.page("/direct", gallery(3))
        final = await world.pixels("/direct")
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            assert await tab.screenshot() != final
            paint(site, 3, "original")
            assert await becomes(tab, final)
            assert complaints(tab) == []

    run(test)


def test_pictures_moved_replaced_and_inserted_later(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 3, gallery(2))
        site.page("/direct", '<!doctype html><body><img src="/p1.jpg"><img src="/p2.jpg">')
        final = await world.pixels("/direct")
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            paint(site, 3, "original")
            await tab.evaluate(
                "document.adoptedStyleSheets = [];"
                'document.body.innerHTML = \'<img src="/p1.jpg"><img src="/p0.jpg">\''
            )
            await tab.evaluate("document.images[1].src = '/p2.jpg'")
            assert await becomes(tab, final)

    run(test)


def test_back_shows_final_pixels(run: Run, *, keeps_open_channels: bool = True) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        probe = (
            "<script>addEventListener('pageshow', e => { window.kept = e.persisted; });</script>"
        )
        with_gallery(site, 4, gallery(4, head=probe))
        site.page("/other", "<!doctype html><title>other</title>elsewhere")
        final = await world.pixels()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            assert await tab.screenshot() != final
            await tab.go("http://site.test/other")
            paint(site, 4, "original")
            await tab.back()
            if keeps_open_channels:
                assert await tab.evaluate("window.kept")  # as it was left, coarse, not reloaded
            assert await becomes(tab, final)

    run(test)


def test_a_component_that_fails_is_fetched_again(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        with_gallery(site, 2, gallery(2))
        final = await world.pixels()
        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            for one in site.components.values():
                one.failure = ComponentFailed(504, "the link broke")
                one.notify()
            assert await becomes(tab, final)
        assert site.export.statistics().fetched_again == 2

    run(test)


def test_what_plays_is_told_and_what_is_only_there_is_not(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        sound = f"data:audio/wav;base64,{b64encode(silence(seconds=60)).decode()}"
        films = f'<video id=a muted preload=auto src="{sound}"></video><video id=b muted></video>'
        site.page("/", f"<!doctype html><head><title>t</title></head><body>{films}</body>")

        def told() -> list[bool]:
            return [entry[2] for entry in site.tracker.heard if entry[0] == "plays"]

        async with world.browser.tab() as tab:
            await tab.go("http://site.test/")
            await tab.evaluate("new Promise((done) => { a.onseeked = done; a.currentTime = 1; })")
            await asyncio.sleep(0.3)
            assert told() == []
            await tab.evaluate("a.play().then(() => 1)")
            await until(lambda: told() == [True])
            await tab.evaluate("b.src = a.src, b.play().then(() => a.pause())")
            await asyncio.sleep(0.3)
            assert told() == [True], "another one plays"
            await tab.evaluate("b.pause(), 1")
            await until(lambda: told()[-1] is False)
            await tab.evaluate("a.autoplay = true, a.load(), 1")
            await until(lambda: told()[-1] is True)
            assert complaints(tab) == []

    run(test)


def silence(*, seconds: int) -> bytes:
    made = io.BytesIO()
    with wave.open(made, "wb") as sound:
        sound.setparams((1, 1, 4_000, 0, "NONE", ""))
        sound.writeframes(bytes([128]) * 4_000 * seconds)
    return made.getvalue()


def test_backgrounds_are_streamed(run: Run) -> None:
    async def test(world: World) -> None:
        site = world.fresh()
        style = "<style>p{width:160px;height:120px}"
        style += "#a{background:url(/p0.jpg)}#b{background:url(/p1.jpg)}</style>"
        site.page("/", f"<!doctype html>{style}<p id=a><p id=b>")
        for i in range(2):
            site.picture(f"/p{i}.jpg", i, use=Use.BACKGROUND)
        paint(site, 2, "low")
        final = await world.pixels()
        await stream_both(world, final)

    run(test)
