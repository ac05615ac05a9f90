"""Pages that protect themselves, and what origins are asked for when a browser loads them.

`{evil}`: an origin of another site. `{near}`: another origin of the same site. `{plain}`: one that
speaks http, though the page may be https. Each page names its own targets, so that a request tells
which page made it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from tests.end_to_end.origin import Asked, FakeOrigin

Go = Callable[[str], Awaitable[None]]

POLICY: Final = "content-security-policy"
_PARTS: Final = (
    '<link rel=stylesheet href="{evil}/c?css"><script src="{evil}/s?js"></script>'
    '<img src="{evil}/i?img"><link rel=modulepreload href="{evil}/s?module">'
    '<link rel=preload as=font crossorigin href="{evil}/i?font">'
    '<link rel=preload as=fetch crossorigin href="{evil}/i?fetch">'
    '<iframe src="{evil}/f?frame"></iframe>'
    '<object type=text/html data="{evil}/f?object"></object>'
    '<embed type=text/html src="{evil}/f?embed"><video poster="{evil}/i?poster"></video>'
    "<style>body{{background:url({evil}/i?inline)}}</style>"
    '<p style="background:url({evil}/i?attribute)">x</p>'
    '<img src="/i?own"><script src="/s?own"></script><link rel=stylesheet href="/c?own">'
)
_SHOWN: Final = "<main>m</main><nav>n</nav><b>b</b>"
"""What the style sheets dress, each something else: of two pictures a browser asks for one."""
_META: Final = '<meta http-equiv="Content-Security-Policy" content="{}">'
_STYLED: Final = "<style>body{{background:url(/i?inline)}}</style><p style='background:url(/i?at)'>"
_FONT: Final = (
    "<style>@font-face{{font-family:F;src:url({evil}/i?face)}}body{{font-family:F}}"
    "@import url({evil}/c?import);</style><style>@import url({evil}/c?import2);</style><p>text</p>"
)

PAGES: Final[dict[str, tuple[list[tuple[str, str]], str]]] = {
    "open": ([], _PARTS),
    "self": ([(POLICY, "default-src 'self'")], _PARTS),
    "inline": ([(POLICY, "default-src 'self' 'unsafe-inline'")], _PARTS + _FONT),
    "none": ([(POLICY, "default-src 'none'")], _PARTS),
    "meta": ([], _META.format("default-src 'self'") + _PARTS),
    "late-meta": ([], '<img src="{evil}/i?before">' + _META.format("img-src 'self'") + _PARTS),
    "two": ([(POLICY, "img-src *"), (POLICY, "img-src 'self', script-src 'self'")], _PARTS),
    "images": ([(POLICY, "img-src 'self'; style-src 'self' 'unsafe-inline'")], _PARTS + _FONT),
    "scheme": ([(POLICY, "default-src data: wss:")], _PARTS),
    "paths": ([(POLICY, "img-src {evil}/i/ {evil}/c; script-src {evil}/s")], _PARTS),
    "port": ([(POLICY, "img-src localhost:1 http://localhost")], _PARTS),
    "report": ([(POLICY + "-report-only", "default-src 'none'")], _PARTS),
    "nonce": (
        [(POLICY, "script-src 'nonce-abc' 'strict-dynamic' {evil}; style-src 'nonce-abc'")],
        _PARTS + '<script nonce=abc src="/s?nonce"></script><script nonce=no src="/s?other">'
        '</script><link rel=stylesheet nonce=abc href="/d?nonce">'
        "<script nonce=abc x='<script' src='/s?dangling'></script>"
        "<style nonce=abc>html{{background:url(/i?nonced)}}</style>" + _STYLED,
    ),
    "hash": (
        [(POLICY, "script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='")],
        _PARTS + "<script src='/s?hash' integrity='sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSu"
        "FU='></script><script src='/s?wrong' integrity='sha256-AAAA'></script>",
    ),
    "integrity-policy": ([("integrity-policy", "blocked-destinations=(script)")], _PARTS),
    "sandbox": ([(POLICY, "sandbox")], _PARTS + '<img src="/logout?sandbox">'),
    "scripts": (
        [(POLICY, "sandbox allow-scripts")],
        _PARTS + '<img src="/logout?scripts" crossorigin>',
    ),
    "no-scripts": ([(POLICY, "sandbox allow-same-origin")], _PARTS),
    "frames": (
        [],
        '<iframe sandbox src="/framed?1"></iframe><iframe src="/framed-none?2"></iframe>'
        '<iframe sandbox="allow-same-origin" src="/framed?3"></iframe>'
        '<iframe src="/denied?4"></iframe><iframe src="/saved?5"></iframe>'
        '<iframe credentialless src="/f?6"></iframe><iframe src="/frames"></iframe>',
    ),
    "coep": (
        [("cross-origin-embedder-policy", "require-corp")],
        '<iframe src="/framed?7"></iframe><link rel=stylesheet href="{evil}/c?coep">',
    ),
    "base": ([(POLICY, "base-uri 'none'")], '<base href="{evil}/b/"><img src="i?based">'),
    "base-scheme": ([], '<base href="ftp://nowhere/"><img src="i?based">'),
    "upgrade": ([(POLICY, "upgrade-insecure-requests")], '<img src="{plain}/i?up">'),
    "mixed": (
        [],
        '<img src="{plain}/i?mixed"><script src="{plain}/s?mixed"></script>'
        '<iframe src="{plain}/f?mixed"></iframe>',
    ),
    "dangling": (
        [],
        '<img src="/i?\n<a"><img src="{evil}/i?\n<b"><img src="/i?\t<c"><img src="/i?<d">'
        '<base href="{evil}/\n<e/"><img src="i?relative">',
    ),
    "referrer": (
        [("referrer-policy", "same-origin")],
        '<meta name=referrer content=no-referrer><link rel=stylesheet href="/c?referrer">'
        '<img src="/i?own"><img referrerpolicy=unsafe-url src="{evil}/i?unsafe">'
        '<img referrerpolicy=never src="/i?never"><input type=image referrerpolicy=origin '
        'src="/i?input"><iframe src="/f?referrer"></iframe>' + _STYLED,
    ),
    "referrer-header": (
        [("referrer-policy", "no-referrer")],
        '<link rel=stylesheet href="/c?header"><link rel=stylesheet href="{evil}/c?header">'
        '<link rel=stylesheet href="/unreferred">' + _STYLED,
    ),
    "crossorigin": (
        [],
        '<img crossorigin=use-credentials src="{near}/i?credentials"><img src="{near}/i?plain">'
        '<img crossorigin src="{near}/i?anonymous"><link rel=stylesheet crossorigin '
        'href="{evil}/c?refused"><link rel=stylesheet href="{evil}/kept?1">',
    ),
    "sheets": (
        [],
        '<link rel=stylesheet integrity="sha256-AAAA" href="/c?tampered">'
        '<link rel=stylesheet href="/text"><link rel=preload as=style href="/c?later">'
        '<link rel=stylesheet title=a href="/c?a"><link rel=stylesheet title=b href="/d?b">',
    ),
    "svg": (
        [],
        '<svg><use href="{evil}/svg?use#a"/><use href="/svg?use#a"/><image href="/i?svg"/>'
        '<![CDATA[ > <image href="/i?cdata"> ]]></svg><script href="/s?href"></script>'
        "<style>p{{filter:url({evil}/svg?filter#a);-ms-nothing:url(/i?unknown)}}</style><p>x</p>",
    ),
    "inert": (
        [],
        '<template><img src="/i?template"></template><template shadowrootmode=bogus>'
        '<img src="/i?bogus"></template><noscript><img src="/i?noscript"></noscript>'
        '<!-- <img src="/i?comment"> --><meta http-equiv=refresh content="99;url=/i?refresh">'
        '<object type=text/html data="/f?outer"><object type=text/html data="/f?inner"></object>'
        "</object>",
    ),
    "cleared": ([("clear-site-data", '"cookies"')], '<img src="/i?cleared">'),
    "xhtml": ([("content-type", "application/xhtml+xml")], '<img src="/i?xhtml" />'),
}


@dataclass(frozen=True)
class Request:
    """What an origin was asked for, and with what of the page's."""

    origin: str
    target: str
    cookie: str
    referer: str
    asker: str


class Sites:
    """The origins that the pages name."""

    def __init__(
        self, good: FakeOrigin, evil: FakeOrigin, near: FakeOrigin, plain: FakeOrigin
    ) -> None:
        self.good = good
        self._origins = {"good": good, "evil": evil, "near": near, "plain": plain}
        evil.name = "localhost"
        for origin in self._origins.values():
            _furnish(origin)
        named = {name: origin.base for name, origin in self._origins.items()}
        for name, (headers, body) in PAGES.items():
            page = "<!doctype html><html>" + body.format(**named) + _SHOWN
            page = page.replace("?", f"?{name}-")
            fields = [(field, value.format(**named)) for field, value in headers]
            typed = any(field == "content-type" for field, _ in fields)
            good.serve(f"/{name}", page.encode(), "" if typed else "text/html", headers=fields)

    async def visit(self, go: Go, settled: Callable[[], Awaitable[object]]) -> set[Request]:
        """Load every page and say what was asked for. `settled`: nothing more is under way."""
        asked: set[Request] = set()
        kept = False
        for name in PAGES:
            if not kept:
                await go(self.good.base + "/set")
                await settled()
            kept = name != "cleared"
            for origin in self._origins.values():
                origin.asked.clear()
            await go(f"{self.good.base}/{name}")
            await settled()
            asked |= {
                _request(which, one)
                for which, origin in self._origins.items()
                for one in origin.asked
                if one.target != "/favicon.ico"
            }
        return asked


def _request(which: str, one: Asked) -> Request:
    return Request(
        which, one.target, one.header("cookie"), one.header("referer"), one.header("origin")
    )


def _furnish(origin: FakeOrigin) -> None:
    def serve(path: str, body: str, kind: str = "text/html", *more: tuple[str, str]) -> None:
        """Nothing is kept, so that each page asks for all it needs."""
        origin.serve(path, body.encode(), kind, headers=[("cache-control", "no-store"), *more])

    serve("/i", "no picture", "image/png")
    serve("/s", "", "text/javascript")
    serve("/f", "<p>frame</p>")
    serve("/svg", "<svg xmlns='http://www.w3.org/2000/svg'><g id='a'/></svg>", "image/svg+xml")
    serve("/set", "set", "text/html", ("set-cookie", "id=7; Path=/"))
    inside = "<img src=/i?inside><img src=/logout?inside><script src=/s?inside></script>"
    serve("/framed", inside)
    serve("/framed-none", inside, "text/html", (POLICY, "default-src 'none'"))
    serve("/denied", inside, "text/html", ("x-frame-options", "DENY"))
    serve("/saved", inside, "text/html", ("content-disposition", "attachment"))
    serve("/c", f"{'main' if origin.name else 'nav'}{{background:url(/i?sheetc)}}", "text/css")
    sheet = "b{background:url(/i?sheetd)}"
    serve("/d", sheet, "text/css")
    serve("/kept", sheet, "text/css", ("cross-origin-resource-policy", "same-origin"))
    serve("/unreferred", sheet, "text/css", ("referrer-policy", "no-referrer"))
    serve("/text", sheet, "text/plain", ("x-content-type-options", "nosniff"))


def beyond(through: set[Request], direct: set[Request]) -> list[Request]:
    """What was asked for through the pair and not directly, or with more than directly.

    Fewer cookies are no more: what goes to other origins unasked has none.
    """
    return sorted(
        (
            one
            for one in through
            if not any(one in (other, replace(other, cookie="")) for other in direct)
        ),
        key=repr,
    )
