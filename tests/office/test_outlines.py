"""Pages, pictures and all else of documents; every entry is in one list, and in one part."""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from office.contents import unpacked
from office.entries import read
from office.extents import Extents
from office.outline import Media, Outline
from office.parts import MAX_RANGES, MAX_TEXTS, PicturePart, Texts, parts_of
from office.xml import MAX_ELEMENTS, elements
from office.zip_directory import Directory, Unreadable, parse
from tests.office_files import FILES, LARGE, mutated

DATA = Path(__file__).parents[1] / "data" / "office"


def outlined(data: bytes) -> tuple[Directory, Outline]:
    directory = parse(data, length=len(data))
    entries = directory.by_name

    def content(name: str) -> bytes:
        entry = entries[name]
        return unpacked(entry, data[entry.start : entry.end])

    return directory, read(directory, content)


def outline(name: str) -> Outline:
    return outlined((DATA / name).read_bytes())[1]


def rebuilt(name: str, change: Mapping[str, bytes | None]) -> bytes:
    """The document with other entries; None: without that one."""
    out = io.BytesIO()
    with zipfile.ZipFile(DATA / name) as before, zipfile.ZipFile(out, "w") as after:
        files = {entry: before.read(entry) for entry in before.namelist()}
        for entry, data in {**files, **change}.items():
            if data is not None:
                after.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def test_slides_are_in_the_order_of_the_show_and_bring_what_they_need() -> None:
    deck = outline("deck.pptx")
    slides = [[name for name in page.entries if "slides/slide" in name] for page in deck.pages]
    assert slides == [[f"ppt/slides/slide{n}.xml"] for n in (3, 1, 2)]
    first = deck.pages[0].entries
    assert first[:4] == (
        "[Content_Types].xml",
        "_rels/.rels",
        "ppt/presentation.xml",
        "ppt/_rels/presentation.xml.rels",
    )
    for part in ("slideLayouts/slideLayout1", "slideMasters/slideMaster1", "theme/theme1"):
        assert f"ppt/{part}.xml" in first
    assert deck.media == (
        Media("ppt/media/image1.png", (2, 3)),
        Media("ppt/media/image2.jpeg", (3,)),
    )
    assert set(deck.texts) == {
        "ppt/slideLayouts/slideLayout2.xml",
        "ppt/slideLayouts/_rels/slideLayout2.xml.rels",
    }


def test_a_text_has_one_page_and_pictures_in_the_order_of_the_text() -> None:
    text = outline("text.docx")
    assert len(text.pages) == 1
    assert text.media == (Media("word/media/image2.jpeg", ()), Media("word/media/image1.png", ()))


def test_sheets_are_pages() -> None:
    sheets = outline("sheets.xlsx")
    assert [page.entries[-1] for page in sheets.pages] == [
        "xl/worksheets/sheet1.xml",
        "xl/worksheets/sheet2.xml",
    ]
    assert "xl/sharedStrings.xml" in sheets.pages[0].entries


def test_slides_of_opendocument_share_their_text() -> None:
    deck = outline("deck.odp")
    assert [bool(page.entries) for page in deck.pages] == [True, False, False]
    assert deck.media == (Media("Pictures/b.png", (1, 3)), Media("Pictures/a.jpeg", (3,)))
    assert outline("text.odt").media == (Media("Pictures/a.png", ()),)


@pytest.mark.parametrize("data", [LARGE, *(path.read_bytes() for path in FILES)])
def test_every_entry_is_in_one_list_and_every_byte_in_one_part(data: bytes) -> None:
    directory, found = outlined(data)
    names = [name for page in found.pages for name in page.entries]
    names += [one.entry for one in found.media]
    names += [*found.texts, *found.others]
    assert sorted(names) == sorted(entry.name for entry in directory.entries)
    there = Extents()
    for part in parts_of(directory, found):
        assert 0 < len(part.ranges) <= MAX_RANGES
        for start, end in part.ranges:
            assert there.missing(start, end) == [(start, end)]
            there.add(start, end)
    assert list(there) == [(0, directory.start)]


def test_a_deck_of_very_many_slides_has_parts_that_are_bounded() -> None:
    count = MAX_TEXTS + 100
    related = "".join(
        f'<Relationship Id="r{n}" Type="x/slide" Target="slides/s{n}.xml"/>' for n in range(count)
    )
    listed = "".join(f'<p:sldId r:id="r{n}"/>' for n in range(count))
    show = f'<p:x xmlns:p="p" xmlns:r="relationships">{listed}</p:x>'
    data = rebuilt(
        "deck.pptx",
        {
            "ppt/_rels/presentation.xml.rels": f"<Relationships>{related}</Relationships>".encode(),
            "ppt/presentation.xml": show.encode(),
            **{f"ppt/slides/s{n}.xml": b"<x/>" for n in range(count)},
        },
    )
    directory, found = outlined(data)
    assert len(found.pages) == count
    parts = parts_of(directory, found)
    pages = [part.page for part in parts if isinstance(part, Texts) and part.page]
    assert pages == [1, *range(1, MAX_TEXTS + 2)]  # the first slide before its layout
    assert sum(isinstance(part, PicturePart) for part in parts) == 2


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("deck.pptx", {"[Content_Types].xml": b"<Types/>"}, "another kind"),
        ("deck.pptx", {"[Content_Types].xml": None}, "no document"),
        ("deck.pptx", {"_rels/.rels": None}, "which part"),
        ("deck.pptx", {"ppt/presentation.xml": b"<p:x"}, "no XML"),
        ("deck.pptx", {"ppt/presentation.xml": b""}, "no XML"),
        ("deck.odp", {"mimetype": b"application/pdf"}, "another kind"),
        ("deck.odp", {"content.xml": None}, "lacks"),
        ("deck.odp", {"META-INF/manifest.xml": None}, "lacks"),
    ],
)
def test_what_is_no_document_is_refused(
    name: str, change: dict[str, bytes | None], reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason):
        outlined(rebuilt(name, change))


def test_entities_and_files_stay_outside() -> None:
    bomb = (
        b'<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
        b'<!ENTITY f SYSTEM "file:///etc/passwd">]><p>&b;&f;</p>'
    )
    found = outlined(rebuilt("deck.pptx", {"ppt/presentation.xml": bomb}))[1]
    assert len(found.pages) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"<p>" + b"<a/>" * (MAX_ELEMENTS + 1) + b"</p>", "too many"),
        (b"<a>" * 1000 + b"</a>" * 1000, "no XML"),
        (b'<!DOCTYPE p [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "' + b"&a;" * 999 + b'">]>'
         b'<p x="' + b"&b;" * 9999 + b'"/>', "no XML"),
    ],
)  # fmt: skip
def test_xml_that_would_fill_memory_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        elements(text, "x", lambda tag, attributes: False)


def test_parts_that_lead_to_one_another_come_to_an_end() -> None:
    rels = (
        b'<Relationships><Relationship Id="a" Type="x/chart" Target="../slides/slide1.xml"/>'
        b'<Relationship Id="b" Type="x/chart" Target="../../../../etc/passwd.xml"/>'
        b'<Relationship Id="c" Type="x/image" Target="http://a.test/x.png" TargetMode="External"/>'
        b"</Relationships>"
    )
    found = outlined(rebuilt("deck.pptx", {"ppt/slides/_rels/slide1.xml.rels": rels}))[1]
    assert len(found.pages) == 3


@given(st.integers(0, 1 << 30))
def test_mutants_are_read_or_refused(seed: int) -> None:
    data, _ = mutated(random.Random(seed))
    try:
        directory, found = outlined(data)
    except Unreadable:
        return
    assert parts_of(directory, found)
