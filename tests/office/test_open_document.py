"""Tests of the outlines of OpenDocument: one text, pages and pictures as it names them."""

from __future__ import annotations

import pytest

from office.errors import Unreadable
from office.odf import FRAME, read
from office.outline import DocumentKind, Media, Outline, OutlinePage
from office.zip_directory import parse
from tests.office.preview_of import ODF
from tests.office.small_documents import zipped

IMAGE = '<draw:image xlink:href="{}"/>'
BODY = (
    "<draw:page>"
    + IMAGE.format("Pictures/b.png")
    + IMAGE.format("./Pictures/b.png")
    + "</draw:page>"
    '<draw:page><draw:object xlink:href="./Object 1"/>'
    + IMAGE.format("./ObjectReplacements/Object 1")
    + IMAGE.format("Pictures/b.png")
    + IMAGE.format("http://elsewhere.test/Pictures/c.png")
    + "</draw:page>"
)


def outlined(
    kind: str, *, body: str = BODY, styles: str = "", without: tuple[str, ...] = ()
) -> Outline:
    entries = {
        "mimetype": kind if "." in kind else f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {ODF}>{body}</office:document-content>",
        "styles.xml": f"<office:document-styles {ODF}>{styles}</office:document-styles>",
        "META-INF/manifest.xml": "<manifest/>",
        "Object 1/content.xml": "<chart/>",
        "Object 1/styles.xml": "<chart/>",
        "ObjectReplacements/Object 1": "metafile",
        **dict.fromkeys(("Pictures/a.png", "Pictures/b.png", "Pictures/c.png"), "x"),
    }
    kept = {name: content for name, content in entries.items() if name not in without}
    data = zipped(kept)
    return read(parse(data, length=len(data)), lambda name: kept[name].encode())


def test_the_first_slide_brings_what_no_program_opens_it_without() -> None:
    first, second = outlined("presentation").pages
    assert first.entries == tuple(
        name
        for name in FRAME
        if name in ("mimetype", "META-INF/manifest.xml", "content.xml", "styles.xml")
    )
    assert second == OutlinePage(("Object 1/content.xml", "Object 1/styles.xml"))


def test_pictures_have_the_pages_that_show_them_and_those_of_styles_come_behind() -> None:
    styles = '<draw:fill-image xlink:href="Pictures/a.png"/>'
    assert outlined("presentation", styles=styles).media == (
        Media("Pictures/b.png", (1, 2)),
        Media("ObjectReplacements/Object 1", (2,)),
        Media("Pictures/a.png", ()),
        Media("Pictures/c.png", ()),
    )


@pytest.mark.parametrize(
    ("mimetype", "kind"),
    [("text", DocumentKind.ODT), ("spreadsheet", DocumentKind.ODS)],
)
def test_a_text_has_one_page_that_nobody_numbers(mimetype: str, kind: DocumentKind) -> None:
    found = outlined(f"{mimetype}-template")
    assert found.kind is kind
    assert len(found.pages) == 1
    assert "Object 1/content.xml" in found.pages[0].entries
    assert found.media[0] == Media("Pictures/b.png", ())


@pytest.mark.parametrize(
    "kind", ["drawing", "application/zip", "text/x.oasis.opendocument.text", ".presentation"]
)
def test_other_kinds_are_refused(kind: str) -> None:
    with pytest.raises(Unreadable, match="another kind"):
        outlined(kind)


@pytest.mark.parametrize("name", ["content.xml", "META-INF/manifest.xml"])
def test_a_package_without_its_content_is_refused(name: str) -> None:
    with pytest.raises(Unreadable, match="lacks its content"):
        outlined("text", without=(name,))


def test_a_document_without_named_styles_is_read() -> None:
    assert "styles.xml" not in outlined("text", without=("styles.xml",)).pages[0].entries


def test_there_is_an_end_to_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("office.odf.MAX_PAGES", 2)
    assert len(outlined("presentation").pages) == 2
    with pytest.raises(Unreadable, match="more than 2 pages"):
        outlined("presentation", body=BODY + "<draw:page/>")
