"""Which pictures a document shows by itself: only these may be coarse once they have loaded."""

from __future__ import annotations

import pytest

from remote_proxy.promises.document_import import DocumentImport
from remote_proxy.promises.prefetch import Document, Prefetch
from transcoders.picture import Picture, alone
from wire.skeleton import Level, Use

PAGE = "http://a.test/dir/page.html"


def importing(html: str, sheet: str = "") -> DocumentImport:
    headers = [("content-type", "text/html; charset=utf-8")]
    one = DocumentImport(Document(PAGE, [], headers), lambda wanted: None)
    page = one.page()
    page.feed(html.encode())
    page.close()
    if sheet:
        styles = one.sheet("http://a.test/s.css", [("content-type", "text/css")])
        assert styles is not None
        styles.feed(sheet.encode())
        styles.close()
    return one


@pytest.mark.parametrize(
    ("html", "url"),
    [
        ("<img src=p.jpg>", "/dir/p.jpg"),
        ("<img src=p.jpg loading=lazy>", "/dir/p.jpg"),
        ("<img src=a.jpg srcset='b.jpg 2x, /c.jpg 3x'>", "/c.jpg"),
        ("<img src=a.jpg srcset='b.jpg 2x, /c.jpg 3x'>", "/dir/a.jpg"),
        ("<picture><source srcset=w.webp media='(max-width: 9px)'><img src=p.jpg></picture>",
         "/dir/w.webp"),
        ("<div style='background: url(b.png)'>", "/dir/b.png"),
        ("<style>.none { background: url(/unused.png) }</style>", "/unused.png"),
        ("<svg><image href=drawn.jpg /></svg>", "/dir/drawn.jpg"),
        ("<video poster=first.jpg></video>", "/dir/first.jpg"),
        ("<link rel=preload as=image href=p.jpg><img src=p.jpg>", "/dir/p.jpg"),
    ],
)  # fmt: skip
def test_what_markup_and_styles_name_is_shown(html: str, url: str) -> None:
    assert importing(html).shows("http://a.test" + url)


@pytest.mark.parametrize(
    "html",
    [
        "<script>new Image().src = 'p.jpg'</script>",
        "<link rel=preload as=image href=p.jpg>",
        "<a href=p.jpg>picture</a>",
        "<template><img src=p.jpg></template>",
        "<!-- <img src=p.jpg> -->",
        "<link rel=prefetch href=p.jpg>",
    ],
)
def test_what_a_script_makes_is_not(html: str) -> None:
    assert not importing(html).shows("http://a.test/dir/p.jpg")


def test_style_sheets_of_the_document_show_pictures_too() -> None:
    one = importing(
        "<link rel=stylesheet href=/s.css><p class=a>",
        "p { background: image-set('one.png' 1x, 'two.png' 2x) }",
    )
    assert one.shows("http://a.test/one.png")


def test_a_picture_alone_is_its_last_level_and_remembers_where_it_showed_more() -> None:
    data = b"LOW" + bytes(range(100))
    prefix = Level("medium", 3, 40, "image/jpeg", b"\xff\xd9")
    levels = (Level("low", 0, 3, "image/webp"), prefix, Level("original", 3, len(data), "x/y"))
    made = alone(Picture(data, levels, 9, 9, lossless=True, identical=True, first_step=50))
    assert made.data == data[3:]
    assert made.levels == (Level("original", 0, len(data) - 3, "x/y"),)
    assert (made.untold, made.first_step) == ((37,), 0)


@pytest.mark.parametrize(
    ("html", "sheet", "url", "size"),
    [
        ("<img src=p.jpg width=40 height=30>", "", "/dir/p.jpg", (40, 30)),
        ("<img src=p.jpg loading=lazy>", "", "/dir/p.jpg", (0, 0)),
        ("<img src=a.jpg srcset='b.jpg 2x' width=4>", "", "/dir/b.jpg", (4, 0)),
        ("<picture><source srcset=w.webp media='(max-width: 9px)'><img src=p.jpg></picture>", "",
         "/dir/w.webp", (0, 0)),
        ("<img src=p.jpg><div style='background: url(p.jpg)'>", "", "/dir/p.jpg", None),
        ("<div style='background: url(p.jpg)'><img src=p.jpg>", "", "/dir/p.jpg", None),
        ("<div style='background: url(b.jpg)'><img src=a.jpg srcset='b.jpg 2x'>", "",
         "/dir/b.jpg", None),
        ("<link rel=stylesheet href=/s.css><img src=a.jpg srcset='b.jpg 2x'>",
         "p { background: url(/dir/b.jpg) } a { background: url(/dir/a.jpg) }",
         "/dir/b.jpg", None),
        ("<div style='background: url(b.png)'>", "", "/dir/b.png", None),
        ("<script>new Image().src = 'p.jpg'</script>", "", "/dir/p.jpg", None),
    ],
)  # fmt: skip
def test_what_an_img_shows_and_nothing_else_does_stands_there(
    html: str, sheet: str, url: str, size: tuple[int, int] | None
) -> None:
    found = importing(html, sheet).element("http://a.test" + url)
    assert (None if found is None else (found.width, found.height)) == size


EARLY = "<link rel=preload as=image href=p.jpg>"


def promising() -> tuple[DocumentImport, list[tuple[str, Use]]]:
    """A document, and what is promised of it so far."""
    promised: list[tuple[str, Use]] = []
    headers = [("content-type", "text/html; charset=utf-8")]

    def wanted(prefetches: list[Prefetch]) -> None:
        promised.extend((one.found.url.rpartition("/")[2], one.found.use) for one in prefetches)

    return DocumentImport(Document(PAGE, [], headers), wanted), promised


@pytest.mark.parametrize(
    ("shown", "use"),
    [
        ("<img src=p.jpg>", Use.ELEMENT),
        ("<div style='background: url(p.jpg)'>", Use.BACKGROUND),
        ("<p>", Use.OTHER),
    ],
)
def test_a_picture_that_is_wanted_early_is_promised_as_what_shows_it(shown: str, use: Use) -> None:
    one, promised = promising()
    page = one.page()
    page.feed(EARLY.encode())
    assert promised == []
    page.feed(shown.encode())
    page.close()
    assert [kept for kept in promised if kept[0] == "p.jpg"] == [("p.jpg", use)]


def test_one_that_its_browser_has_asked_for_meanwhile_is_not_promised() -> None:
    one, promised = promising()
    page = one.page()
    page.feed(EARLY.encode())
    one.asked("http://a.test/dir/p.jpg")
    page.feed(b"<img src=p.jpg><img src=q.jpg>")
    page.close()
    assert [name for name, _ in promised] == ["q.jpg"]
    assert one.element("http://a.test/dir/p.jpg") is not None
