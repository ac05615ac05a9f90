"""Tests of the outlines of Office Open XML: pages by their relationships, and no further."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from office.errors import Unreadable
from office.ooxml import read
from office.outline import DocumentKind, Media, Outline
from office.zip_directory import parse
from tests.office.small_documents import R, open_xml, relations, zipped

MAIN = "ppt/presentation.xml"
DECK: Mapping[str, str] = {
    MAIN: f'<p {R}><sldId r:id="r2"/><sldId r:id="r1"/><sldId r:id="gone"/></p>',
    "ppt/_rels/presentation.xml.rels": relations(
        ("r1", "slide", "slides/slide1.xml"),
        ("r2", "slide", "/ppt/slides/slide2.xml"),
        ("r3", "tableStyles", "tableStyles.xml"),
        ("r4", "notesMaster", "notesMaster1.xml"),
    ),
    "ppt/tableStyles.xml": "<t/>",
    "ppt/notesMaster1.xml": "<n/>",
    "ppt/slides/slide1.xml": "<s/>",
    "ppt/slides/_rels/slide1.xml.rels": relations(
        ("r1", "slideLayout", "../slideLayouts/slideLayout1.xml"),
        ("r2", "image", "../media/a.png"),
        external=(("r9", "http://elsewhere.test/ppt/slides/slide2.xml"),),
    ),
    "ppt/slides/slide2.xml": "<s/>",
    "ppt/slides/_rels/slide2.xml.rels": relations(
        ("r1", "slideLayout", "../slideLayouts/slideLayout1.xml"),
        ("r2", "image", "../media/b.png"),
        ("r3", "image", "../media/a.png"),
        ("r4", "chart", "../charts/chart1.xml"),
        ("r5", "slide", "slide1.xml"),
    ),
    "ppt/charts/chart1.xml": "<c/>",
    "ppt/charts/_rels/chart1.xml.rels": relations(("r1", "chart", "chart1.xml")),
    "ppt/slideLayouts/slideLayout1.xml": "<l/>",
    "ppt/slideLayouts/_rels/slideLayout1.xml.rels": relations(
        ("r1", "slideMaster", "../slideMasters/slideMaster1.xml")
    ),
    "ppt/slideLayouts/slideLayout2.xml": "<l/>",
    "ppt/slideMasters/slideMaster1.xml": "<m/>",
    "ppt/slideMasters/_rels/slideMaster1.xml.rels": relations(
        ("r1", "slideLayout", "../slideLayouts/slideLayout1.xml"),
        ("r2", "slideLayout", "../slideLayouts/slideLayout2.xml"),
    ),
    "ppt/media/a.png": "a",
    "ppt/media/b.png": "b",
}


def outlined(entries: Mapping[str, str | bytes]) -> Outline:
    data = zipped(entries)
    return read(parse(data, length=len(data)), lambda name: _bytes(entries[name]))


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def deck(change: Mapping[str, str] | None = None) -> Outline:
    parts = {**DECK, **(change or {})}
    return outlined(open_xml(MAIN, "presentationml.presentation", parts))


def test_slides_are_in_the_order_of_the_show_each_with_what_it_needs_and_no_other_has() -> None:
    first, second = deck().pages
    assert first.entries[:6] == (
        *("[Content_Types].xml", "_rels/.rels", MAIN, "ppt/_rels/presentation.xml.rels"),
        *("ppt/tableStyles.xml", "ppt/slides/slide2.xml"),
    )
    assert set(first.entries[6:]) == {
        "ppt/slides/_rels/slide2.xml.rels",
        "ppt/slideLayouts/slideLayout1.xml",
        "ppt/slideLayouts/_rels/slideLayout1.xml.rels",
        "ppt/slideMasters/slideMaster1.xml",
        "ppt/slideMasters/_rels/slideMaster1.xml.rels",
        "ppt/charts/chart1.xml",
        "ppt/charts/_rels/chart1.xml.rels",
    }
    assert second.entries == ("ppt/slides/slide1.xml", "ppt/slides/_rels/slide1.xml.rels")


def test_what_leads_to_other_pages_is_not_followed() -> None:
    assert deck().texts == ("ppt/notesMaster1.xml", "ppt/slideLayouts/slideLayout2.xml")


def test_a_picture_knows_all_of_its_pages() -> None:
    assert deck().media == (Media("ppt/media/b.png", (1,)), Media("ppt/media/a.png", (1, 2)))


def test_pictures_of_a_text_come_as_it_names_them_and_last_those_of_its_headers() -> None:
    parts = {
        "word/document.xml": f'<d {R}><blip r:embed="r2"/><imagedata r:id="r1"/></d>',
        "word/_rels/document.xml.rels": relations(
            ("r0", "header", "header1.xml"),
            ("r1", "image", "media/a.png"),
            ("r2", "image", "media/b.png"),
        ),
        "word/header1.xml": "<h/>",
        "word/_rels/header1.xml.rels": relations(("r1", "image", "media/c.png")),
        **dict.fromkeys(("word/media/a.png", "word/media/b.png", "word/media/c.png"), "x"),
    }
    found = outlined(open_xml("word/document.xml", "wordprocessingml.document", parts))
    assert found.kind is DocumentKind.DOCX
    assert [one.entry[-5] for one in found.media] == ["b", "a", "c"]
    assert {one.pages for one in found.media} == {()}
    assert "word/header1.xml" in found.pages[0].entries


def test_a_package_that_is_no_document_of_ours_is_refused() -> None:
    with pytest.raises(Unreadable, match="which part is the document"):
        deck({"_rels/.rels": relations(("r1", "officeDocument", "gone.xml"))})
    with pytest.raises(Unreadable, match=r"another kind: .*visio"):
        outlined(open_xml(MAIN, "visio.drawing", DECK))
    with pytest.raises(Unreadable, match="is no XML"):
        deck({"ppt/slides/_rels/slide1.xml.rels": "<Relationships>"})


def test_there_is_an_end_to_pages_and_to_relationships(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("office.ooxml.MAX_PAGES", 1)
    with pytest.raises(Unreadable, match="more than 1 pages"):
        deck()
    monkeypatch.setattr("office.ooxml.MAX_PAGES", 2)
    monkeypatch.setattr("office.ooxml.MAX_STEPS", 5)
    with pytest.raises(Unreadable, match="tangled"):
        deck()
