"""The HTML import driver: what Chromium asks for, all of it and nothing else."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import MAX_FOUND, BrowserTraits, Found
from remote_proxy.import_drivers.html import HtmlImport
from remote_proxy.import_drivers.page import MAX_OPEN
from wire.skeleton import Kind, Use

BASE = "http://site.test/dir/page.html"


def read(page: str | bytes, *, chunk: int = 1 << 16, **options: object) -> list[Found]:
    """All finds of a page but the implied icon, in order of discovery."""
    data = page.encode() if isinstance(page, str) else page
    traits = {name: options.pop(name) for name in ("width", "dpr", "accept") if name in options}
    driver = HtmlImport(BASE, browser=BrowserTraits(**traits), **options)  # type: ignore[arg-type]
    found: list[Found] = []
    for at in range(0, len(data), chunk):
        found += driver.feed(data[at : at + chunk])
    found += driver.close()
    return [one for one in found if not one.url.endswith("/favicon.ico")]


def brief(found: list[Found]) -> list[str]:
    """`kind:use:path`, with `?` when lazy."""
    return [
        f"{f.kind}:{f.use}:{f.url.removeprefix('http://site.test')}{'?' if f.lazy else ''}"
        for f in found
    ]


ELEMENTS = [
    ('<link rel=stylesheet href=a.css>', "style:blocking:/dir/a.css"),
    ('<link rel="stylesheet" media=print href=a.css>', "style:blocking:/dir/a.css?"),
    ('<link rel="stylesheet" media="(max-width: 600px)" href=a.css>', "style:blocking:/dir/a.css?"),
    ('<link rel="stylesheet" media="screen and (min-width: 600px)" href=a.css>',
     "style:blocking:/dir/a.css"),
    ('<link rel="alternate stylesheet" title=x href=a.css>', "style:blocking:/dir/a.css?"),
    ('<link rel=stylesheet type=text/less href=a.less>', ""),
    ('<link rel=stylesheet disabled href=a.css>', ""),
    ('<link rel=canonical href=/x><link rel=next href=/y><a href=/z>', ""),
    ('<link rel=preload as=font href=f.woff2 crossorigin>', "font:other:/dir/f.woff2"),
    ('<link rel=preload as=style href=s.css>', "style:blocking:/dir/s.css"),
    ('<link rel=preload as=image href=a.jxl type=image/jxl>', ""),
    ('<link rel=preload as=image imagesrcset="a.png 1x, b.png 2x">', "image:other:/dir/a.png"),
    ('<link rel=preload as=image href=a.png><img src=a.png>', "image:element:/dir/a.png"),
    ('<link rel=preload as=image href=a.png><img src=a.png loading=lazy>',
     "image:element:/dir/a.png"),
    ('<link rel=preload as=image href=a.png><p style="background:url(a.png)">',
     "image:background:/dir/a.png"),
    ('<link rel=preload as=image href=a.png><img src=a.png><p style="background:url(a.png)">',
     "image:background:/dir/a.png"),
    ('<link rel=preload href=nothing>', ""),
    ('<link rel=modulepreload href=m.js>', "script:deferred:/dir/m.js"),
    ('<link rel="shortcut icon" href=/i.png>', "image:background:/i.png"),
    ('<script src=a.js></script>x', "script:blocking:/dir/a.js"),
    ('<script src=a.js></script><img src=b.png>',
     "script:blocking:/dir/a.js image:element:/dir/b.png"),
    ('x<script src=a.js></script><style>p{}</style><script>let b</script> ',
     "script:deferred:/dir/a.js"),
    ('<script src=a.js></script><noscript>x</noscript><template>x</template>',
     "script:deferred:/dir/a.js"),
    ('<link rel=preload as=script href=a.js><script src=a.js></script>x',
     "script:blocking:/dir/a.js"),
    ('<script async src=a.js></script><script src=a.js></script>x', "script:blocking:/dir/a.js"),
    ('<script async src=a.js></script>', "script:deferred:/dir/a.js"),
    ('<script defer src=a.js></script>', "script:deferred:/dir/a.js"),
    ('<script type=module src=a.js></script>', "script:deferred:/dir/a.js"),
    ('<script nomodule src=a.js></script>', ""),
    ('<script type=text/template src=a.js></script>', ""),
    ('<script>document.write("<img src=x.png>")</script>', ""),
    ('<img src=a.png width=10 height=20>', "image:element:/dir/a.png"),
    ('<img src=a.png loading=lazy>', "image:element:/dir/a.png?"),
    ('<img src="data:image/gif;base64,AA" data-src=a.png>', "image:element:/dir/a.png?"),
    ('<img data-lazy-src=a.png class=lazyload>', "image:element:/dir/a.png?"),
    ('<img src=s.png data-srcset="l.png 2x, m.png" data-src=a.png>',
     "image:element:/dir/s.png image:element:/dir/m.png?"),
    ('<picture><source data-srcset=b.webp type=image/webp><img data-src=a.png></picture>',
     "image:element:/dir/b.webp?"),
    ('<img src=a.png data-src=a.png>', "image:element:/dir/a.png"),
    ('<img src=a.png data-sizes=auto data-src="">', "image:element:/dir/a.png"),
    ('<img src="data:image/png;base64,AA"><img src=blob:x><img src="javascript:1">'
     '<img src="about:blank"><img src=ftp://a/b><img src=""><img><img src="#x">', ""),
    ('<img src=//cdn.test/a.png#frag>', "image:element:http://cdn.test/a.png"),
    ('<input type=image src=b.png><input src=c.png>', "image:background:/dir/b.png"),
    ('<video poster=p.jpg src=v.mp4></video>',
     "image:background:/dir/p.jpg media:other:/dir/v.mp4?"),
    ('<video><source src=v.mp4></video><img src=a.png>', "image:element:/dir/a.png"),
    ('<iframe src=f.html></iframe>', "text:document:/dir/f.html"),
    ('<iframe src=f.html srcdoc="<p>"></iframe>', ""),
    ('<iframe loading=lazy src=f.html></iframe>', "text:document:/dir/f.html?"),
    ('<svg><image href=s.png /><image xlink:href=t.png /><use href="i.svg#a"/></svg>',
     "image:other:/dir/s.png image:other:/dir/t.png image:other:/dir/i.svg"),
    ('<table background=b.png><td style="background: URL( c.png )">',
     "image:background:/dir/b.png image:background:/dir/c.png"),
    ('<p style="background:url(&quot;a b.png&quot;);x:y">', "image:background:/dir/a%20b.png"),
    ('<p style="background:url(open.png">', "image:background:/dir/open.png"),
    ('<base href=/other/><base href=/no/><img src=a.png>', "image:element:/other/a.png"),
    ('<meta http-equiv=refresh content="0; url=next.html">', ""),
    ('<!-- <img src=a.png> --><noscript><img src=b.png></noscript>', ""),
    ('<head><noscript><link rel=stylesheet href=n.css></noscript><link rel=stylesheet href=a.css>',
     "style:blocking:/dir/a.css"),
    ('<template><td><img src=t.png></template><img src=a.png>', "image:element:/dir/a.png"),
    ('<template><div><template></template><img src=t.png></template><img src=a.png>',
     "image:element:/dir/a.png"),
    ('<div><template shadowrootmode=open><img src=t.png></template></div>',
     "image:element:/dir/t.png"),
    ('<textarea><img src=t.png></textarea><title><img src=u.png></title>', ""),
    ('<style>p{background:url(p.png)}</style><p>', "image:background:/dir/p.png"),
    ('<style media=print>body{background:url(p.png)}</style>', "image:background:/dir/p.png?"),
    ('<style>@import "x.css";body{background:url(p.png)}</style>',
     "style:blocking:/dir/x.css image:background:/dir/p.png"),
    ('<object data=o.svg type=image/svg+xml></object><object data=x.swf type=application/x-f>',
     "other:document:/dir/o.svg"),
]  # fmt: skip


@pytest.mark.parametrize(("page", "expected"), ELEMENTS)
def test_each_element_makes_the_browser_fetch_this(page: str, expected: str) -> None:
    assert " ".join(brief(read(page))) == expected


@pytest.mark.parametrize(("page", "expected"), ELEMENTS)
def test_the_cut_of_the_bytes_does_not_matter(page: str, expected: str) -> None:
    whole = {f.url: (f.kind, f.use, f.lazy, f.order) for f in read(page)}
    bytewise = {f.url: (f.kind, f.use, f.lazy, f.order) for f in read(page, chunk=1)}
    assert bytewise == whole


SRCSET = [
    ("a.png", "", "", 1280, 1, "a.png"),
    ("a.png", "b.png 2x", "", 1280, 1, "a.png"),
    ("a.png", "b.png 2x", "", 1280, 2, "b.png"),
    ("a.png", "b.png 1.5x, c.png 3x", "", 1280, 2, "c.png"),
    ("a.png", "s.png 400w, m.png 800w, l.png 1200w", "560px", 1280, 1, "m.png"),
    ("a.png", "s.png 400w, m.png 800w, l.png 1200w", "560px", 1280, 2, "l.png"),
    ("a.png", "s.png 400w, m.png 800w", "", 1280, 1, "m.png"),
    ("a.png", "s.png 400w, m.png 800w", "(max-width: 40rem) 100vw, 300px", 400, 1, "s.png"),
    ("a.png", "s.png 400w, m.png 800w", "(max-width: 40rem) 100vw, 300px", 639, 1, "m.png"),
    ("a.png", "s.png 400w, m.png 800w", "calc(100vw - 2 * 440px)", 1280, 1, "s.png"),
    ("a.png", "s.png 400w, m.png 800w", "min(50vw, 30em)", 1280, 1, "m.png"),
    ("a.png", "bad.png 3q, , good.png", "", 1280, 1, "good.png"),
    ("", "x,y.png 1x", "", 1280, 1, "x,y.png"),
    ("a.png", "data:image/png;base64,AA== 1x", "", 1280, 1, ""),
]


@pytest.mark.parametrize(("src", "srcset", "sizes", "width", "dpr", "expected"), SRCSET)
def test_one_candidate_is_chosen_as_chromium_does(
    *, src: str, srcset: str, sizes: str, width: int, dpr: float, expected: str
) -> None:
    page = f'<img src="{src}" srcset="{srcset}" sizes="{sizes}">'
    found = read(page, width=width, dpr=dpr)
    assert [f.url.rpartition("/")[2] for f in found] == ([expected] if expected else [])


PICTURE = """<picture><source type=image/jxl srcset=a.jxl><source media="(max-width:600px)"
 srcset=small.webp><source type=image/avif srcset="b.avif 1x, c.avif 2x" width=40 height=30>
 <img src=d.jpg width=4 height=3></picture><img src=e.jpg>"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["b.avif", "e.jpg"]),
        ({"width": 500}, ["small.webp", "e.jpg"]),
        ({"dpr": 2}, ["c.avif", "e.jpg"]),
        ({"accept": "text/html,image/jxl,*/*"}, ["a.jxl", "e.jpg"]),
    ],
)
def test_picture_takes_the_first_source_that_applies(
    options: dict[str, object], expected: list[str]
) -> None:
    found = read(PICTURE, **options)
    assert [f.url.rpartition("/")[2] for f in found] == expected
    if not options:
        assert (found[0].width, found[0].height) == (40, 30)


def test_duplicates_are_merged_and_raised_only_when_they_matter_more() -> None:
    page = (
        "<img src=a.png loading=lazy><img src=a.png><img src=a.png>"
        '<p style="background:url(a.png)"><p style="background:url(a.png)">'
    )
    assert brief(read(page, chunk=1, content_type="text/html;charset=utf-8")) == [
        "image:element:/dir/a.png?",
        "image:element:/dir/a.png",
        "image:background:/dir/a.png",
    ]
    assert brief(read(page)) == ["image:background:/dir/a.png"]


def test_a_find_says_what_the_browser_would_send() -> None:
    page = (
        "<meta name=referrer content=origin><img src=a.png crossorigin>"
        "<img src=b.png referrerpolicy=no-referrer><link rel=stylesheet href=c.css>"
    )
    a, b, c = read(page)
    assert a.accept == "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"
    assert (a.cors, a.referrer_policy) == (True, "origin")
    assert (b.cors, b.referrer_policy) == (False, "no-referrer")
    assert c.accept == "text/css,*/*;q=0.1"


def test_a_page_without_icon_implies_one_a_frame_does_not() -> None:
    top, frame = HtmlImport(BASE), HtmlImport(BASE, top_level=False)
    assert [f.url for f in top.close()] == ["http://site.test/favicon.ico"]
    frame.feed(b"<link rel=icon href=i.png>")
    assert frame.close() == []


CHARSETS = [
    ("", "é", "utf-8", "%C3%A9"),
    ("text/html; charset=iso-8859-1", "é", "cp1252", "%E9"),
    ("text/html; charset=koi8-r", "ж", "koi8-r", "%D6"),
    ("text/html; charset=no-such", "é", "utf-8", "%C3%A9"),
    ("text/html; charset=UTF-16LE", "é", "utf-16-le", "%C3%A9"),
]


@pytest.mark.parametrize(("content_type", "letter", "codec", "query"), CHARSETS)
def test_a_query_is_in_the_charset_of_the_page_a_path_in_utf8(
    content_type: str, letter: str, codec: str, query: str
) -> None:
    page = f"<img src='{letter}.png?q={letter}'>".encode(codec)
    (found,) = read(page, content_type=content_type)
    path = "".join(f"%{byte:02X}" for byte in letter.encode())
    assert found.url == f"http://site.test/dir/{path}.png?q={query}"


@pytest.mark.parametrize(
    "page",
    [
        b"\xef\xbb\xbf<meta charset=koi8-r><img src=a.png>",
        "\ufeff<img src=a.png>".encode("utf-16-le"),
        "\ufeff<img src=a.png>".encode("utf-16-be"),
        b"<meta charset=utf-16><img src=a.png>",
        b"<meta charset=shift_jis><p>\x83\x5c</p><img src=a.png>",
        b"<p>\xff\xfe\xe9</p><img src=a.png>",
        b"<meta charset=utf-8><p>\xe9\xff</p>" + b" " * 2000 + b"<img src=a.png>",
        b"\x00<p>\x00</p><img src=a.png>",
    ],
)
def test_no_charset_loses_a_url(page: bytes) -> None:
    assert brief(read(page, chunk=7)) == ["image:element:/dir/a.png"]


def test_finds_come_as_soon_as_their_bytes() -> None:
    driver = HtmlImport(BASE, content_type="text/html; charset=utf-8")
    assert brief(driver.feed(b"<!doctype html><link rel=stylesheet href=a.css><body>x")) == [
        "style:blocking:/dir/a.css"
    ]


def test_bounds_hold_on_a_huge_page() -> None:
    images = b"".join(b"<img src=%d.png>" % n for n in range(MAX_FOUND + 500))
    assert len(read(images)) == MAX_FOUND
    driver = HtmlImport(BASE)
    nested = b"<table><tr><td><div>" * 3200  # 64,000 bytes
    before = time.process_time()
    for _ in range(160):  # 10 MB; the last 2 are not looked at.
        driver.feed(nested)
    assert driver.feed(b"</table><img src=late.png>") == []
    assert driver.close()[-1].url.endswith("/favicon.ico")
    assert time.process_time() - before < 5


HOSTILE = st.text(
    st.sampled_from("<>/=\"'&; \n(){}[],.:#!-*@\\x0é\x00\u2028")
    | st.sampled_from("imgsrcpictureosyltbakndu"),
    max_size=200,
)
PIECES = st.lists(
    st.sampled_from(
        ["<img ", "src=", "srcset='", "sizes=(", "<style>", "</style>", "url(", "@media ",
         "<template>", "</template>", "<noscript>", "<picture>", "<source ", "style='", "calc(",
         "@import", "'", '"', ">", "1x, ", "400w", "<svg>", "<script>", "<!--", "image-set(", "}"]
    )
    | HOSTILE,
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(data=PIECES.map(str.encode) | st.binary(max_size=300), chunk=st.integers(1, 50))
def test_no_bytes_raise_and_only_http_comes_out(data: bytes, chunk: int) -> None:
    for one in read(data, chunk=chunk):
        assert one.url.startswith(("http://", "https://"))
        assert "#" not in one.url and one.url.isascii() and " " not in one.url


@settings(max_examples=200, deadline=None)
@given(data=PIECES.map(str.encode) | st.binary(max_size=300), chunk=st.integers(1, 50))
def test_no_style_sheet_raises(data: bytes, chunk: int) -> None:
    driver = CssImport(BASE)
    found = [f for at in range(0, len(data), chunk) for f in driver.feed(data[at : at + chunk])]
    whole = CssImport(BASE)
    assert {f.url for f in found + driver.close()} == {
        f.url for f in whole.feed(data) + whole.close()
    }


def test_kinds_are_the_skeletons() -> None:
    found = read("<img src=a><iframe src=b>")
    assert [(f.kind, f.use) for f in found] == [
        (Kind.IMAGE, Use.ELEMENT),
        (Kind.TEXT, Use.DOCUMENT),
    ]


def test_a_page_that_nests_too_deep_is_read_no_further_and_what_was_found_stands() -> None:
    page = HtmlImport("http://a.test/", content_type="text/html; charset=utf-8")
    found = page.feed(b"<img src=a>" + b"<div>" * MAX_OPEN + b"<img src=b>")
    found += page.feed(b"<img src=c>") + page.close()
    assert [one.url for one in found if one.kind is Kind.IMAGE and not one.lazy] == [
        "http://a.test/a"
    ]


def test_siblings_are_not_depth() -> None:
    page = HtmlImport("http://a.test/", content_type="text/html; charset=utf-8")
    found = page.feed(b"<ul>" + b"<li>x<br><b>y</b>" * MAX_OPEN + b"</ul><img src=b>")
    assert [one.url for one in found] == ["http://a.test/b"]
