"""The CSS import driver: what a sheet makes a browser fetch, and what only later or never."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote_proxy.import_drivers.css import CssImport
from remote_proxy.import_drivers.found import BrowserTraits, Found, Names
from remote_proxy.import_drivers.html import HtmlImport

BASE = "http://site.test/css/s.css"


def read(sheet: str | bytes, *, chunk: int = 1 << 16, **options: object) -> list[Found]:
    data = sheet.encode() if isinstance(sheet, str) else sheet
    driver = CssImport(BASE, **options)  # type: ignore[arg-type]
    found = [f for at in range(0, len(data), chunk) for f in driver.feed(data[at : at + chunk])]
    return found + driver.close()


def brief(found: list[Found]) -> str:
    return " ".join(
        f"{f.kind}:{f.url.removeprefix('http://site.test')}{'?' if f.lazy else ''}" for f in found
    )


def page(html: str) -> Names:
    driver = HtmlImport("http://site.test/")
    driver.feed(html.encode())
    driver.close()
    return driver.names


SHEETS = [
    ("a{background:url(a.png)}", "image:/css/a.png"),
    ("a{background:URL( 'a.png' )}", "image:/css/a.png"),
    (r"a{background:url(a\).png)}", "image:/css/a).png"),
    ("a{background:url(a.png),url(/b.png)", "image:/css/a.png image:/b.png"),
    ("a{background:url('a.png", "image:/css/a.png"),
    ("a{background:url(data:image/png;base64,AA==)}b{background:url(b.png)}", "image:/css/b.png"),
    ('a{background:url("data:image/svg+xml;utf8,<svg{};url(x.png)>")}', ""),
    ("/* url(c.png) { */ a{/*;*/background/**/:/*}*/url(a.png)}", "image:/css/a.png"),
    ("a{content:'}url(no.png){';background:url(a.png)}", "image:/css/a.png"),
    ("a{filter:url(#local);clip-path:url(m.svg#x)}", "image:/css/m.svg"),
    ("a{behavior:url(x.htc);-ms-filter:url(y)}", ""),
    ("a{cursor:url(c.cur),auto;list-style:square url(l.png)}", "image:/css/c.cur image:/css/l.png"),
    ("a{background:image-set('a.png' 1x,'b.png' 2x)}", "image:/css/a.png"),
    ("a{background:-webkit-image-set(url(a.jxl) type('image/jxl'),url(b.png) 1x)}",
     "image:/css/b.png"),
    ("a{background:linear-gradient(red,blue),cross-fade(url(a.png),url(b.png))}",
     "image:/css/a.png image:/css/b.png"),
    ("a{--x:url(a.png)}", "image:/css/a.png?"),
    ("a:hover{background:url(a.png)}", "image:/css/a.png?"),
    ("a:hover,b{background:url(a.png)}", "image:/css/a.png"),
    ("@media print{a{background:url(a.png)}}b{background:url(b.png)}",
     "image:/css/a.png? image:/css/b.png"),
    ("@media (min-width:600px){@supports(a:b){a{background:url(a.png)}}}", "image:/css/a.png"),
    ("@layer x{a{background:url(a.png)}}", "image:/css/a.png"),
    (".a{color:red;.b &{background:url(a.png)}background:url(b.png)}",
     "image:/css/a.png image:/css/b.png"),
    ("@keyframes x{to{background:url(a.png)}}", "image:/css/a.png?"),
    ("@import 'a.css';@import url(b.css) print;@import url('c.css') layer(x) supports(a:b) screen;",
     "style:/css/a.css style:/css/b.css? style:/css/c.css"),
    ("@charset 'utf-8';@layer a,b;@import 'a.css';a{}@import 'late.css';", "style:/css/a.css"),
    ("@font-face{font-family:F;src:url(f.eot);src:local(F),url(f.eot?#x) "
     "format('embedded-opentype'),url(f.woff2) format('woff2'),url(f.woff)}"
     "b{font-family:F}", "font:/css/f.woff2"),
    ("@font-face{font-family:'A B';src:url(f.ttf)}b{font:italic 400 1em/1.2 \"A B\",serif}",
     "font:/css/f.ttf"),
    ("@font-face{font-family:F;src:url(f.ttf)}", "font:/css/f.ttf?"),
    ("@font-face{font-family:F;unicode-range:U+0400-04FF;src:url(f.ttf)}b{font-family:F}",
     "font:/css/f.ttf?"),
    ("@font-face{font-family:F;unicode-range:U+0??,U+131;src:url(f.ttf)}b{font-family:F}",
     "font:/css/f.ttf"),
    ("}}}a{background:url(a.png)}", "image:/css/a.png"),
    ("a{b{c{d{e{" * 40 + "background:url(deep.png)" + "}" * 200 + "a{background:url(a.png)}",
     "image:/css/a.png"),
]  # fmt: skip


@pytest.mark.parametrize(("sheet", "expected"), SHEETS)
def test_each_rule_makes_the_browser_fetch_this(sheet: str, expected: str) -> None:
    assert brief(read(sheet)) == expected
    assert {f.url for f in read(sheet, chunk=1)} == {f.url for f in read(sheet)}


@pytest.mark.parametrize(
    ("selector", "used"),
    [
        (".yes", True),
        (".no", False),
        ("#top > p.yes::before", True),
        ("p.yes .no", False),
        ("*", True),
        (":root", True),
        (":is(.no, .yes) p", True),
        ("p:not(.no)", True),
        ("[data-x] P", True),
        (r".md\:w-1\/2", True),
        (".yes:focus", False),
        (".no, .yes", True),
    ],
)
def test_rules_of_elements_that_the_page_lacks_wait(selector: str, used: bool) -> None:
    names = page('<p id=top class="yes md:w-1/2">')
    (found,) = read(selector + "{background:url(a.png)}", names=names)
    assert found.lazy is not used


def test_what_comes_into_use_later_is_reported_again() -> None:
    html = HtmlImport("http://site.test/", content_type="text/html;charset=utf-8")
    html.feed(b"<body><p>")
    faces = CssImport(BASE, names=html.names)
    faces.feed(b"@font-face{font-family:F;src:url(f.woff2)}.late{background:url(a.png)}")
    assert brief(faces.close()) == "image:/css/a.png? font:/css/f.woff2?"
    rules = CssImport("http://site.test/r.css", names=html.names)
    rules.feed(b"p{font-family:F}")
    assert brief(rules.close()) == "font:/css/f.woff2"
    rules = CssImport("http://site.test/q.css", names=html.names)
    rules.feed(b"@font-face{font-family:G;src:url(g.woff2)}.late{font-family:G}")
    assert brief(rules.close()) == "font:/g.woff2?"
    html.feed(b"<p class=late>")
    assert "image:/css/a.png font:/g.woff2" in brief(html.close())


def test_charsets() -> None:
    sheet = "a{background:url(é.png?é)}"
    assert brief(read(sheet)) == "image:/css/%C3%A9.png?%C3%A9"
    assert brief(read(sheet.encode("cp1252"), charset="cp1252")) == "image:/css/%C3%A9.png?%E9"
    marked = b'@charset "koi8-r";' + "a{background:url(ж.png?ж)}".encode("koi8-r")
    assert brief(read(marked)) == "image:/css/%D0%B6.png?%D6"


def test_a_big_sheet_neither_blocks_nor_grows() -> None:
    uri = b"a{background:url(data:font/woff2;base64," + b"A" * 900_000 + b")}"
    quoted = b'a{background:url("data:image/png;base64,' + b"B" * 900_000 + b'")}'
    tail = b"b{background:url(b.png)}" + b"x" * 300_000 + b";c{background:url(c.png)}"
    driver = CssImport(BASE)
    data = uri + quoted + b"/*" + b"{" * 300_000 + b"*/" + tail
    found: list[Found] = []
    slowest = 0.0
    for at in range(0, len(data), 1 << 16):
        before = time.process_time()
        found += driver.feed(data[at : at + (1 << 16)])
        slowest = max(slowest, time.process_time() - before)
    assert brief(found + driver.close()).startswith("image:/css/b.png")
    assert slowest < 0.2


@pytest.mark.parametrize(
    "nasty", ["(", "[", "{", "a(", "url(", '"', "/*", "\\", "@media(", ",", ":"]
)
def test_repetition_is_harmless(nasty: str) -> None:
    before = time.process_time()
    for frame in (
        "{}",
        "a{{background:url(a.png) {}}}",
        "@import {};",
        "@media {}{{a{{b:url(x)}}}}",
    ):
        read(frame.format(nasty * 50_000))
    assert time.process_time() - before < 3


def test_the_screen_decides() -> None:
    sheet = (
        "a{background:image-set('a.png' 1x,'b.png' 2x)}"
        "@media (min-width:2000px){b{background:url(w)}}"
    )
    assert (
        brief(read(sheet, browser=BrowserTraits(2560, 1440, 2))) == "image:/css/b.png image:/css/w"
    )


SHEET_PIECES = st.sampled_from(
    [
        *(
            "a{",
            "}",
            "background:url(a.png)",
            ";",
            "url(",
            "b.png",
            ")",
            "'",
            '"',
            "\\",
            "/*",
            "*/",
        ),
        *("*", "/", "u", "r", "l", "(", " ", "\n", "@media screen{", "@import 'x.css';"),
        *(
            "x:url( ' z.png' )",
            "url( w.png",
            "\\)",
            '"a;}"',
            "@font-face{font-family:f;src:url(f)}",
        ),
    ]
)


@given(st.lists(SHEET_PIECES, max_size=16).map("".join), st.data())
def test_a_sheet_is_read_alike_however_it_is_cut(sheet: str, draw: st.DataObject) -> None:
    data = sheet.encode()
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=8))
    assert in_pieces(data, cuts) == in_pieces(data, []) == in_pieces(data, list(range(len(data))))


def in_pieces(data: bytes, cuts: list[int]) -> list[Found]:
    driver = CssImport("http://site.test/", "utf-8")
    found: list[Found] = []
    for a, b in pairwise([0, *sorted(cuts), len(data)]):
        found += driver.feed(data[a:b])
    return found + driver.close()
