"""Views of OpenDocuments' texts: all that is read, in order, in few bytes, whatever is sent."""

from __future__ import annotations

import io
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from office.entries import read
from office.errors import Unreadable
from office.extents import Extents
from office.outline import DocumentKind
from office.partial_view import chunks, survey
from office.parts import PicturePart, RestParts, Texts, Viewed, parts_of
from office.preview.pages import Preview
from office.preview.xml import Element
from office.text_view import shorthand
from office.text_view.records import CONTENT, STYLES, VIEWED, Record, TextView
from office.text_view.view_records import records_of
from office.zip_directory import parse
from tests.office.fake_source import FakeSource
from tests.office.styled_deck import content, page_text, styled_deck, styles

DATA = Path(__file__).parents[1] / "data" / "office"
DOCUMENTS = sorted(path.name for path in DATA.iterdir() if path.suffix in (".odp", ".odt"))
DECK = DATA / "deck_pictures.odp"
PAGES = 20
CONTENT_XML, STYLES_XML = content(PAGES).encode(), styles().encode()
RECORDS = records_of(DocumentKind.ODP, CONTENT_XML, STYLES_XML)
PACKED = b"".join(record.packed() for record in RECORDS)


def parts(document: Path) -> tuple[DocumentKind, bytes, bytes]:
    with zipfile.ZipFile(document) as archive:
        return (
            DocumentKind(document.suffix[1:]),
            archive.read(CONTENT),
            archive.read(STYLES),
        )


def pages(xml: bytes) -> list[str]:
    """What can be read on each page, or in all of a text."""
    root = etree.fromstring(xml)
    for unread in [*root.iter("{*}notes"), *root.iter("{*}desc"), *root.iter("{*}title")]:
        parent = unread.getparent()
        assert parent is not None
        parent.remove(unread)
    found = list(root.iter("{*}page")) or list(root.iter("{*}text"))
    return [
        "\n".join("".join(map(str, one.itertext())) for one in page.iter("{*}p", "{*}h")).strip()
        for page in found
    ]


def whole(kind: DocumentKind, records: list[Record]) -> TextView:
    view = TextView(kind, len(records) if kind is DocumentKind.ODP else 1)
    for record in records:
        view.add(record.packed())
    view.end()
    return view


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_view_has_all_that_can_be_read_page_by_page(document: str) -> None:
    kind, content_xml, styles_xml = parts(DATA / document)
    seen = pages(whole(kind, records_of(kind, content_xml, styles_xml)).parts()[CONTENT])
    before = pages(content_xml)
    assert [" ".join(page.split()) for page in seen] == [" ".join(page.split()) for page in before]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_style_that_a_view_names_is_in_it(document: str) -> None:
    kind, content_xml, styles_xml = parts(DATA / document)
    made = whole(kind, records_of(kind, content_xml, styles_xml)).parts()
    content_, styles_ = (etree.fromstring(made[name]) for name in VIEWED)
    originals = {
        str(one) for one in etree.fromstring(styles_xml).xpath("//@*[local-name()='name']")
    }

    def said(root: Element, name: str) -> set[str]:
        return {str(one) for one in root.xpath(f"//@*[local-name()='{name}']")}

    known = said(content_, "name") | said(styles_, "name")
    used = said(content_, "style-name") | said(content_, "parent-style-name")
    used |= said(styles_, "parent-style-name") | said(content_, "master-page-name")
    assert used & originals <= known
    assert {one for one in used if one.startswith("_") and one not in originals} <= known


def test_styles_that_are_alike_are_one_and_the_rest_is_little() -> None:
    made = whole(DocumentKind.ODP, RECORDS).parts()
    assert made[CONTENT].count(b"<style:style ") <= 4
    assert len(PACKED) * 15 < len(CONTENT_XML)
    first = etree.fromstring(made[CONTENT]).find(".//{*}page")
    assert first is not None
    bold = [str(one.text) for one in first.iter("{*}span")]
    assert bold == ["the"]  # the others look as most of the paragraph does
    assert b"unsaid" not in made[CONTENT]


def test_pages_come_in_their_order_and_the_others_are_empty_meanwhile() -> None:
    view = TextView(DocumentKind.ODP, PAGES)
    for number, record in enumerate(RECORDS, 1):
        assert view.add(record.packed())
        assert view.pages == number
        shown = pages(view.parts()[CONTENT])
        assert len(shown) == PAGES
        assert shown[:number] == [page_text(one) for one in range(1, number + 1)]
        assert not any(shown[number:])
    assert not view.whole
    view.end()
    assert view.whole


@given(st.lists(st.integers(0, len(PACKED)), max_size=5))
def test_however_it_is_cut_it_is_the_same(cuts: list[int]) -> None:
    view, at = TextView(DocumentKind.ODP, PAGES), 0
    for cut in sorted([*cuts, len(PACKED)]):
        view.add(PACKED[at:cut])
        at = cut
    view.end()
    assert view.parts() == whole(DocumentKind.ODP, RECORDS).parts()


@given(st.text(alphabet=st.characters(min_codepoint=32, exclude_categories=["Cs"])))
def test_shorthand_can_be_undone(text: str) -> None:
    both = f'{text}</text:p><text:p text:style-name="{text}"/>'
    assert shorthand.long(shorthand.short(both)) == both
    assert shorthand.length(shorthand.short(both)) == len(both)


# -- hostile documents, hostile peers ------------------------------------------------------------


def mutated(data: bytes, seed: int) -> bytes:
    chance, found = random.Random(seed), bytearray(data)
    tags = [b"<draw:page>", b"</text:p>", b"<text:span>", b"<office:body>", b"&#1;", b"\xff"]
    tags += [b"<!DOCTYPE x [<!ENTITY a 'aaaa'>]>", b"&a;", b"<style:style>", b'"', b"</a>", b"\0"]
    for _ in range(chance.randint(1, 6)):
        at, end = sorted(chance.randrange(len(found) + 1) for _ in range(2))
        match chance.randrange(4):
            case 0:
                found[at:at] = chance.choice(tags)
            case 1:
                del found[at : min(end, at + 200)]
            case 2:
                found[at:at] = found[at : min(end, at + 3000)]
            case _:
                found[at : at + 1] = chance.randbytes(1)
    return bytes(found)


@settings(max_examples=150, deadline=None)
@given(st.integers(), st.sampled_from(DOCUMENTS))
def test_of_a_mutant_there_is_a_view_or_a_reason(seed: int, document: str) -> None:
    kind, content_xml, styles_xml = parts(DATA / document)
    try:
        records = records_of(kind, mutated(content_xml, seed), mutated(styles_xml, seed + 1))
        view = whole(kind, records)
    except Unreadable:
        return
    assert etree.fromstring(view.parts()[CONTENT]) is not None


@settings(max_examples=150, deadline=None)
@given(st.integers())
def test_a_view_that_is_damaged_on_its_way_is_refused_or_is_xml(seed: int) -> None:
    view = TextView(DocumentKind.ODP, PAGES)
    try:
        view.add(mutated(PACKED, seed))
        view.end()
    except Unreadable:
        return
    assert set(view.parts()) == set(VIEWED)


@pytest.mark.parametrize(
    "data",
    [
        PACKED * 2,  # more pages than there are
        b"\x1f\x1f\x1f\x1f" + b"\x01" * 100_000 + b"\x1e",  # 7 MB, once it is written out
        b"x" * ((2 << 20) + 1),
        b"\x1e",
        b"\x1f" * 9 + b"\x1e",
    ],
)
def test_what_is_too_much_or_no_record_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(Unreadable):
        TextView(DocumentKind.ODP, PAGES).add(data)


def test_half_a_view_does_not_pass_for_all_of_it() -> None:
    for data in (
        b"",
        RECORDS[0].packed(),
        PACKED[:-1],
        PACKED.replace(b"draw:page ", b"draw:pag "),
    ):
        view = TextView(DocumentKind.ODP, PAGES)
        view.add(data)
        with pytest.raises(Unreadable):
            view.end()


def test_too_long_a_text_and_a_spreadsheet_have_none() -> None:
    long = CONTENT_XML.replace(b"bridge", b"bridge" * 20_000)
    for kind, xml in ((DocumentKind.ODP, long), (DocumentKind.ODS, CONTENT_XML)):
        with pytest.raises(Unreadable):
            records_of(kind, xml, STYLES_XML)


# -- in a document ---------------------------------------------------------------------------------


def test_parts_of_a_document_with_a_view_are_all_of_it_and_the_view_is_early() -> None:
    data = styled_deck()
    directory = parse(data, length=len(data))
    entries = directory.by_name

    def raw(name: str) -> bytes:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(name)

    outline = read(directory, raw)
    cut = parts_of(directory, outline, view=1000)
    kinds = [type(part) for part in cut]
    assert kinds[:2] == [Texts, Viewed]
    assert cut[1] == Viewed(len(outline.pages), 1000)
    there = Extents(one for part in cut for one in part.ranges)
    assert there.covers(0, directory.start)
    assert there.size == sum(end - start for part in cut for start, end in part.ranges)
    last = max(index for index, part in enumerate(cut) if isinstance(part, Texts | PicturePart))
    late = Extents(
        one for part in cut[last + 1 :] if isinstance(part, RestParts) for one in part.ranges
    )
    assert all(late.covers(entries[name].start, entries[name].end) for name in VIEWED)


def test_a_program_opens_what_a_view_has_of_a_document(tmp_path: Path) -> None:
    source = FakeSource(DECK, tmp_path / "sparse")
    source.hold_back_texts()
    source.feed_page(1)
    source.feed_view(2)
    seen = survey(source.directory, source.outline, source.present, source.text)
    assert (seen.pages, seen.viewed, seen.whole_text) == (2, True, False)
    assert source.text is not None
    instead = source.text.instead(source.present)
    made = b"".join(chunks(source.directory, source.outline, source.present, source.raw, instead))
    directory = parse(made, length=len(made))
    assert [one.name for one in directory.entries] == [one.name for one in source.directory.entries]
    source.feed(VIEWED)
    assert not source.text.instead(source.present)
    seen = survey(source.directory, source.outline, source.present, source.text)
    assert (seen.pages, seen.viewed) == (len(source.outline.pages), False)


def test_a_preview_shows_the_view_and_knows_what_is_better(tmp_path: Path) -> None:
    source = FakeSource(DECK, tmp_path / "sparse")
    source.feed_view(1)
    assert source.text is not None
    made = source.text.parts()
    preview = Preview(source.directory, source.outline, source.raw, made.get)
    shown = preview.page(1, Extents())
    assert "A river in nine slides" in "".join(shown.blocks)
    assert set(VIEWED) <= shown.missing
    assert not shown.growing
    assert not preview.page(2, Extents()).blocks
