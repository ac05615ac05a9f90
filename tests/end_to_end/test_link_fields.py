"""Shows that what a page announces in its Link fields comes with it, once, and is taken."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.end_to_end.origin import FakeOrigin
from tests.end_to_end.test_chromium import becomes
from tests.end_to_end.test_moved_pages import in_chromium, world
from tests.end_to_end.test_standing_in import firefox, in_firefox

PARTS = {
    "/a.css": ("style", "text/css", b"p { color: rgb(1, 2, 3) }"),
    "/a.js": ("script", "text/javascript", b"document.body.classList.add('script')"),
    "/a.json": ("fetch", "application/json", b'{"a": "json"}'),
    "/m.js": ("", "text/javascript", b"import '/n.js'; document.body.classList.add('module')"),
    "/n.js": ("", "text/javascript", b""),
}
LATER = b"""<!doctype html><title></title><p>one</p><script>
setTimeout(async () => {
    const add = (name, fields) => document.head.append(
        Object.assign(document.createElement(name), fields));
    add("link", {rel: "stylesheet", href: "/a.css"});
    add("script", {src: "/a.js"});
    add("script", {type: "module", src: "/m.js"});
    document.body.classList.add((await (await fetch("/a.json")).json()).a);
}, 0);
</script>"""
"""What is announced no markup names."""
DONE = """document.body?.classList.length === 3
    && getComputedStyle(document.querySelector("p")).color === "rgb(1, 2, 3)" """


def announced(origin: FakeOrigin) -> None:
    """Such a page."""
    early = [
        f"<{path}>; rel=preload; as={kind}" + "; crossorigin" * (kind == "fetch")
        for path, (kind, *_) in PARTS.items()
        if kind
    ]
    fields = [("link", ", ".join(early)), ("link", "</m.js>; rel=modulepreload")]
    origin.serve("/", LATER, headers=fields)
    for path, (_, content_type, body) in PARTS.items():
        # Else Firefox asks for a style sheet once more, when it is used.
        fresh = [("cache-control", "max-age=60")]
        origin.serve(path, body, content_type, headers=fresh)


@in_chromium
def test_all_of_it_is_there_when_scripts_ask(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            announced(at.safe)
            await at.tab.call("Page.navigate", url=at.safe.base + "/")
            await becomes(at.tab, DONE)
            assert {path: len(at.of(path)) for path in PARTS} == dict.fromkeys(PARTS, 1)
            assert at.both.local.promises.statistics().kept >= len(PARTS)

    asyncio.run(asyncio.wait_for(go(), 60))


@in_chromium
def test_what_the_page_forbids_is_not_fetched(tmp_path: Path) -> None:
    async def go() -> None:
        async with world(tmp_path) as at:
            policy = ("content-security-policy", "script-src 'none'")
            link = ("link", "</a.js>; rel=preload; as=script, </a.css>; rel=preload; as=style")
            at.safe.serve("/", b"<!doctype html><title>x</title>", headers=[policy, link])
            at.safe.serve("/a.css", b"", "text/css")
            await at.tab.call("Page.navigate", url=at.safe.base + "/")
            await becomes(at.tab, "document.readyState === 'complete'")
            assert [len(at.of(path)) for path in ("/a.css", "/a.js")] == [1, 0]

    asyncio.run(asyncio.wait_for(go(), 60))


@in_firefox
def test_in_firefox_too(tmp_path: Path) -> None:
    async def go() -> None:
        async with firefox(tmp_path) as (origin, both, tab):
            announced(origin)
            await tab.go(origin.base + "/")
            await becomes(tab, DONE)
            assert {path: origin.counts()[path] for path in PARTS} == dict.fromkeys(PARTS, 1)
            assert both.local.promises.statistics().kept >= len(PARTS)

    asyncio.run(asyncio.wait_for(go(), 60))
