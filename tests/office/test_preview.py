"""Pages of documents as HTML: what is on them, from what is here, whatever is in the file."""

from __future__ import annotations

import io
import random
import re
import zipfile
import zlib
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from office.contents import unpacked
from office.errors import NeedsMore, Unreadable
from office.extents import Extents
from office.preview import markup
from office.preview.pages import Preview
from office.reading import read
from office.zip_directory import Directory, parse
from tests.office_files import FILES, mutated

DATA = Path(__file__).parents[1] / "data" / "office"
A = 'xmlns:a="urn:a" xmlns:p="urn:p" xmlns:r="http://x/relationships"'
ODF = (
    'xmlns:office="urn:o:office:1.0" xmlns:text="urn:o:text:1.0" xmlns:draw="urn:o:drawing:1.0" '
    'xmlns:svg="urn:o:svg:1.0" xmlns:table="urn:o:table:1.0" xmlns:xlink="http://x/xlink" '
    'xmlns:style="urn:o:style:1.0" xmlns:fo="urn:o:fo:1.0" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
)
ALLOWED = {
    *("a", "b", "br", "div", "h1", "h2", "h3", "h4", "h5", "h6", "i", "img", "p", "span"),
    *("table", "td", "tr", "u"),
}


class Opened:
    """A document, of which all is here, or as much as is said."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.directory: Directory = parse(data, length=len(data))
        self.outline = read(self.directory, self.content)
        self.preview = Preview(self.directory, self.outline, lambda a, b: data[a:b])

    def content(self, name: str) -> bytes:
        entry = self.directory.by_name[name]
        return unpacked(entry, self.data[entry.start : entry.end])

    def page(self, number: int, *, without: tuple[str, ...] = ()) -> str:
        there = Extents(
            (entry.start, entry.end)
            for entry in self.directory.entries
            if not entry.name.startswith(without or ("\0",))
        )
        return "".join(self.preview.page(number, there).blocks)

    def pages(self) -> list[str]:
        return [self.page(number) for number in range(1, len(self.outline.pages) + 1)]


def rebuilt(name: str, change: Mapping[str, str]) -> Opened:
    out = io.BytesIO()
    with zipfile.ZipFile(DATA / name) as before, zipfile.ZipFile(out, "w") as after:
        files = {entry: before.read(entry) for entry in before.namelist()}
        for entry, data in {**files, **{k: v.encode() for k, v in change.items()}}.items():
            after.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return Opened(out.getvalue())


def original(name: str) -> Opened:
    return Opened((DATA / name).read_bytes())


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def is_harmless(html: str) -> bool:
    """Whether it has only what a preview needs, and nothing that runs or fetches."""
    tags = Tags()
    tags.feed(html)
    for tag, attributes in tags.seen:
        names = {"class", "style", "colspan", "rowspan", "data-m", "alt", "href", "rel", "target"}
        if tag not in ALLOWED or attributes.keys() - names:
            return False
        href = attributes.get("href")
        if href is not None and not re.match(r"\s*(https?|mailto):", href, re.IGNORECASE):
            return False
        if re.search(r"url|expression|@|\\", attributes.get("style") or ""):
            return False
    return True


# -- what is on the pages ------------------------------------------------------------------------


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip()


def test_slides_have_their_text_in_the_order_of_the_show() -> None:
    assert [words(page) for page in original("deck.pptx").pages()] == [
        "First of three slides",
        "Second",
        "Third",
    ]
    assert [bool(page) for page in original("deck.odp").pages()] == [True] * 3


def test_pictures_have_their_places_and_their_numbers() -> None:
    pages = original("deck.pptx").pages()
    assert re.findall(r'data-m="(\d)"', "".join(pages)) == ["0", "1", "0"]
    assert "left:16.67%;top:27.78%;width:66.67%;height:55.56%" in pages[1]
    assert len(re.findall("data-m", "".join(original("deck.odp").pages()))) == 3


@pytest.mark.parametrize("name", ["text.docx", "text.odt"])
def test_texts_flow_with_their_pictures(name: str) -> None:
    (page,) = original(name).pages()
    assert "<h1" in page or "<p" in page
    assert 'data-m="0"' in page
    assert words(page)


def test_sheets_are_tables() -> None:
    first, second = original("sheets.xlsx").pages()
    assert "<td>" in first
    assert "<td>" in second
    assert first.startswith("<h2>")


def test_a_slide_is_shown_before_its_layout_is_here() -> None:
    title = '<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>{}</p:sp>'
    text = "<p:spPr/><p:txBody><a:p><a:r><a:t>Hello</a:t></a:r></a:p></p:txBody>"
    place = '<a:xfrm><a:off x="914400" y="0"/><a:ext cx="9" cy="9"/></a:xfrm>'
    tree = f"<p:x {A}><p:cSld><p:spTree>{title}</p:spTree></p:cSld></p:x>"
    deck = rebuilt(
        "deck.pptx",
        {
            "ppt/slides/slide3.xml": tree.format(text),
            "ppt/slideLayouts/slideLayout1.xml": tree.format(f"<p:spPr>{place}</p:spPr>"),
        },
    )
    early = deck.page(1, without=("ppt/slideLayouts", "ppt/slideMasters", "ppt/theme"))
    assert words(early) == "Hello"
    assert "left:6%" in early  # a sensible place
    assert "left:10%" in deck.page(1)  # the layout's


def test_a_page_says_what_it_lacks() -> None:
    deck = original("deck.pptx")
    slide = deck.directory.by_name["ppt/slides/slide3.xml"]
    nothing = deck.preview.page(1, Extents())
    assert nothing.blocks == ()
    assert slide.name in nothing.missing
    some = deck.preview.page(1, Extents([(slide.start, slide.end)]))
    assert words("".join(some.blocks)) == "First of three slides"
    assert some.missing == {"ppt/slides/_rels/slide3.xml.rels"} | (some.missing - {slide.name})
    assert deck.preview.page(1, Extents([(0, len(deck.data))])).missing == frozenset()


@pytest.mark.parametrize(("name", "entry"), [("text.docx", "word/document.xml"),
                                             ("text.odt", "content.xml")])  # fmt: skip
def test_a_text_is_shown_as_far_as_it_is_here(name: str, entry: str) -> None:
    source = original(name).content(entry).decode()
    kind = "w:p" if name.endswith("docx") else "text:p"
    space = 'xmlns:w="w"' if name.endswith("docx") else 'xmlns:text="t"'
    run = "<w:r><w:t>{}</w:t></w:r>" if name.endswith("docx") else "{}"
    noise = random.Random(5)
    lines = [f"line {n} {noise.randbytes(40).hex()}" for n in range(200)]
    many = "".join(f"<{kind} {space}>{run.format(line)}</{kind}>" for line in lines)
    end = "</w:body>" if name.endswith("docx") else "</office:text>"
    opened = rebuilt(name, {entry: source.replace(end, many + end)})
    at = opened.directory.by_name[entry]
    half = opened.preview.page(1, Extents([(at.start, (at.start + at.end) // 2)]))
    assert half.growing == {entry}
    assert "line 20 " in "".join(half.blocks)
    assert "line 199 " not in "".join(half.blocks)
    assert "line 199 " in opened.page(1)


def slide_with(shape: str, *, rels: str = "") -> str:
    """HTML of a slide with that in it."""
    tree = f"<p:sld {A}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>"
    change = {"ppt/slides/slide3.xml": tree}
    if rels:
        change["ppt/slides/_rels/slide3.xml.rels"] = f"<Relationships>{rels}</Relationships>"
    return rebuilt("deck.pptx", change).page(1)


def box(paragraphs: str, *, properties: str = "") -> str:
    place = '<a:xfrm><a:off x="914400" y="0"/><a:ext cx="914400" cy="685800"/></a:xfrm>'
    body = f"<p:txBody><a:bodyPr/>{paragraphs}</p:txBody>"
    return f"<p:sp><p:nvSpPr/><p:spPr>{place}{properties}</p:spPr>{body}</p:sp>"


def test_text_has_its_look() -> None:
    html = slide_with(
        box(
            '<a:p><a:pPr lvl="1"><a:buChar char="•"/></a:pPr><a:r>'
            '<a:rPr sz="3600" b="1" i="1"><a:solidFill><a:srgbClr val="AA0011"/></a:solidFill>'
            "</a:rPr><a:t>big</a:t></a:r></a:p>"
        )
    )
    assert "left:10%;top:0%;width:10%;height:10%" in html
    assert "font-size:5cqw;color:#aa0011" in html
    assert "<b>" in html
    assert "<i>" in html
    assert 'class="l1 item"' in html
    assert "•" in html


def test_groups_move_and_scale_what_is_in_them() -> None:
    group = (
        '<p:grpSp><p:grpSpPr><a:xfrm><a:off x="4572000" y="3429000"/>'
        '<a:ext cx="914400" cy="685800"/><a:chOff x="0" y="0"/>'
        '<a:chExt cx="1828800" cy="1371600"/></a:xfrm></p:grpSpPr>{}</p:grpSp>'
    )
    html = slide_with(group.format(box("<a:p><a:r><a:t>in</a:t></a:r></a:p>")))
    assert "left:55%;top:50%;width:5%;height:5%" in html


def test_tables_are_tables() -> None:
    cell = "<a:tc{}><p:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></p:txBody></a:tc>"
    row = cell.format(' gridSpan="2"', "wide") + cell.format(' hMerge="1"', "hidden")
    html = slide_with(
        '<p:graphicFrame><p:xfrm><a:off x="0" y="0"/><a:ext cx="9" cy="9"/></p:xfrm><a:graphic>'
        f"<a:graphicData><a:tbl><a:tr>{row}</a:tr></a:tbl></a:graphicData></a:graphic>"
        "</p:graphicFrame>"
    )
    assert '<td colspan="2">' in html
    assert "hidden" not in html


def test_light_text_is_dark_where_nothing_is_known_behind_it() -> None:
    white = (
        '<a:p><a:r><a:rPr><a:solidFill><a:srgbClr val="FFFFFF"/></a:solidFill></a:rPr>'
        "<a:t>white</a:t></a:r></a:p>"
    )
    assert "#ffffff" not in slide_with(box(white))
    dark = '<a:solidFill><a:srgbClr val="000000"/></a:solidFill>'
    assert "color:#ffffff" in slide_with(box(white, properties=dark))


def test_a_sheet_shows_dates_numbers_and_its_first_rows() -> None:
    cells = "".join(f'<row r="{n}"><c r="A{n}"><v>{n}</v></c></row>' for n in range(2, 400))
    sheet = (
        '<worksheet><sheetData><row r="1"><c r="A1" s="1"><v>45000.5</v></c>'
        '<c r="C1" t="b"><v>1</v></c><c r="D1"><v>0.30000000000000004</v></c>'
        f'<c r="ZZ1"><v>far</v></c></row>{cells}</sheetData></worksheet>'
    )
    with zipfile.ZipFile(DATA / "sheets.xlsx") as book:
        rels = book.read("xl/_rels/workbook.xml.rels").decode()
        types = book.read("[Content_Types].xml").decode()
    styles = '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>'
    related = '<Relationship Id="s" Type="x/styles" Target="styles.xml"/></Relationships>'
    html = rebuilt(
        "sheets.xlsx",
        {
            "xl/worksheets/sheet1.xml": sheet,
            "xl/styles.xml": styles,
            "xl/_rels/workbook.xml.rels": rels.replace("</Relationships>", related),
            "[Content_Types].xml": types,
        },
    ).page(1)
    assert "2023-03-15 12:00" in html
    assert "<td>TRUE</td><td>0.3</td>" in html
    assert "first 200 rows" in html
    assert "far" not in html


def test_sheets_of_open_document() -> None:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>"
    twice = cell.format(' table:number-columns-repeated="2"', "twice")
    content = (
        f"<office:document-content {ODF}><office:body><office:spreadsheet>"
        '<table:table table:name="One"><table:table-row>'
        f"{twice}{cell.format('', 'once')}"
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048575"/></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    html = rebuilt("text.odt", {"mimetype": kind, "content.xml": content}).page(1)
    assert "<h2>One</h2>" in html
    assert "<td>twice</td><td>twice</td><td>once</td>" in html
    assert "first" not in html


def test_slides_of_open_document_have_styles_and_places() -> None:
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>"
        '<style:style style:name="P1" style:family="paragraph">'
        '<style:text-properties fo:font-size="20pt" fo:font-weight="bold" fo:color="#112233"/>'
        "</style:style></office:automatic-styles><office:body><office:presentation>"
        '<draw:page><draw:frame svg:x="2.8cm" svg:y="2.1cm" svg:width="14cm" svg:height="1in">'
        '<draw:text-box><text:list><text:list-item><text:p text:style-name="P1">a'
        '<text:s text:c="2"/>b</text:p></text:list-item></text:list></draw:text-box></draw:frame>'
        "</draw:page></office:presentation></office:body></office:document-content>"
    )
    html = rebuilt("deck.odp", {"content.xml": content}).page(1)
    assert "left:10%;top:10%;width:50%" in html
    assert "color:#112233" in html
    assert "<b>a</b>" in html
    assert 'class="bullet"' in html


def test_a_slide_is_small() -> None:
    sizes = [len(zlib.compress(page.encode(), 9)) for page in original("deck.pptx").pages()]
    assert max(sizes) < 700


# -- what must not get out -----------------------------------------------------------------------

EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def test_what_is_written_stays_text() -> None:
    evil = escaped(EVIL)
    html = slide_with(
        box(
            f'<a:p><a:pPr algn="{evil}" lvl="99"><a:buChar char="{evil}"/></a:pPr><a:r>'
            f'<a:rPr sz="{evil}" b="{evil}"><a:solidFill><a:srgbClr val="{evil}"/></a:solidFill>'
            f"</a:rPr><a:t>{evil}</a:t></a:r></a:p>",
            properties=f'<a:solidFill><a:srgbClr val="url(//x)"/></a:solidFill>'
            f'<a:prstGeom prst="{evil}"/>',
        )
        + f'<p:pic><p:nvPicPr><p:cNvPr descr="{evil}"/></p:nvPicPr><p:blipFill>'
        '<a:blip r:embed="r9"/></p:blipFill><p:spPr><a:xfrm rot="nan"><a:off x="inf" y="-1e99"/>'
        '<a:ext cx="1" cy="1"/></a:xfrm></p:spPr></p:pic>'
    )
    assert "&lt;script&gt;" in html
    assert is_harmless(html)


@pytest.mark.parametrize(
    ("target", "there"),
    [
        ("https://example.org/?a=1&b=2", True),
        ("mailto:a@example.org", True),
        ("javascript:alert(1)", False),
        (" jAvAsCrIpT:alert(1)", False),
        ("java\tscript:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("//example.org/", False),
        ("http://[", False),
    ],
)
def test_links_lead_to_the_web_or_to_mail(target: str, there: bool) -> None:
    html = slide_with(
        box('<a:p><a:r><a:rPr><a:hlinkClick r:id="r1"/></a:rPr><a:t>x</a:t></a:r></a:p>'),
        rels=f'<Relationship Id="r1" TargetMode="External" Target="{escaped(target)}"/>',
    )
    assert ("<a href" in html) == there
    assert is_harmless(html)
    if there:
        assert 'rel="noopener noreferrer"' in html


def test_external_pictures_are_not_named() -> None:
    html = slide_with(
        '<p:pic><p:blipFill><a:blip r:embed="r1" r:link="r1"/></p:blipFill><p:spPr><a:xfrm>'
        '<a:off x="0" y="0"/><a:ext cx="9" cy="9"/></a:xfrm></p:spPr></p:pic>',
        rels='<Relationship Id="r1" TargetMode="External" Target="http://example.org/x.png"/>',
    )
    assert "example.org" not in html


def test_entities_are_not_read() -> None:
    evil = f"""<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/hostname"><!ENTITY a "aaaaaaaaaa">
        <!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
        <p:sld {A}><p:cSld><p:spTree>{box("<a:p><a:r><a:t>&f;&c;here</a:t></a:r></a:p>")}
        </p:spTree></p:cSld></p:sld>"""
    html = rebuilt("deck.pptx", {"ppt/slides/slide3.xml": evil}).page(1)
    host = Path("/etc/hostname")
    assert not host.exists() or host.read_text().strip() not in html
    assert len(html) < 2000


def test_groups_and_tables_without_end_are_cut() -> None:
    deep = "<p:grpSp>" * 200 + box("<a:p><a:r><a:t>x</a:t></a:r></a:p>") + "</p:grpSp>" * 200
    assert is_harmless(slide_with(deep))
    nested = "<w:tbl><w:tr><w:tc>" * 60 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 60
    text = f'<w:document xmlns:w="w"><w:body>{nested}</w:body></w:document>'
    assert is_harmless(rebuilt("text.docx", {"word/document.xml": text}).page(1))
    lists = "<text:list><text:list-item>" * 60 + "</text:list-item></text:list>" * 60
    body = (
        f"<office:d {ODF}><office:body><office:text>{lists}</office:text></office:body></office:d>"
    )
    assert is_harmless(rebuilt("text.odt", {"content.xml": body}).page(1))


def test_a_page_has_an_end() -> None:
    paragraph = "<w:p><w:r><w:t>" + "word " * 100 + "</w:t></w:r></w:p>"
    text = f'<w:document xmlns:w="w"><w:body>{paragraph * 5000}</w:body></w:document>'
    page = rebuilt("text.docx", {"word/document.xml": text}).page(1)
    assert len(page) < markup.MAX_BLOCKS + 1000
    assert page.endswith(markup.MORE)


def test_a_layout_that_leads_back_to_itself_is_followed_once() -> None:
    rels = '<Relationship Id="r1" Type="x/slideLayout" Target="slide3.xml"/>' \
           '<Relationship Id="r2" Type="x/slideMaster" Target="slide3.xml"/>' \
           '<Relationship Id="r3" Type="x/theme" Target="slide3.xml"/>'  # fmt: skip
    assert "x" in slide_with(box("<a:p><a:r><a:t>x</a:t></a:r></a:p>"), rels=rels)


# -- what is damaged -----------------------------------------------------------------------------


def everything(data: bytes, chance: random.Random) -> int:
    """Make all pages, with all and with some of the file here; how many there were."""
    try:
        opened = Opened(data)
    except (Unreadable, NeedsMore):
        return 0
    half = Extents((entry.start, entry.end) for entry in opened.directory.entries
                   if chance.random() < 0.5)  # fmt: skip
    cut = chance.randrange(len(data))
    for there in (half, Extents([(0, cut)]), Extents([(0, len(data))])):
        opened.preview.size(there)
        for number in range(1, len(opened.outline.pages) + 1):
            assert is_harmless("".join(opened.preview.page(number, there).blocks))
    return len(opened.outline.pages)


@pytest.mark.parametrize("seed", range(5))
def test_damaged_files_never_raise(seed: int) -> None:
    chance = random.Random(seed)
    assert sum(everything(mutated(chance)[0], chance) for _ in range(40))


def scrambled(text: str, chance: random.Random) -> str:
    """XML in which values, names and elements are others."""
    values = ["", "-1", "1e400", "nan", "9" * 30, "r1", "../../x", escaped(EVIL), "\u202e", "0"]
    for _ in range(chance.randrange(1, 12)):
        match chance.randrange(4):
            case 0:
                found = list(re.finditer(r'="[^"]*"', text))
                if found:
                    at = chance.choice(found)
                    text = f'{text[: at.start()]}="{chance.choice(values)}"{text[at.end() :]}'
            case 1:
                found = list(re.finditer(r"<(\w+:)?\w+[^<>]*/>", text))
                if found:
                    at, other = chance.choice(found), chance.choice(found)
                    text = text[: at.start()] + other[0] + text[at.end() :]
            case 2:
                found = list(re.finditer(r"<(\w+:)?\w+[^<>]*/>", text))
                if found:
                    at = chance.choice(found)
                    text = text[: at.start()] + at[0] * 20 + text[at.end() :]
            case _:
                text = re.sub(r"\b\d+\b", lambda _: str(chance.randrange(-9, 9)), text, count=3)
    return text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_documents_that_make_no_sense_never_raise(path: Path) -> None:
    chance = random.Random(path.name)
    pages = 0
    for _ in range(40):
        out = io.BytesIO()
        with zipfile.ZipFile(path) as before, zipfile.ZipFile(out, "w") as after:
            for name in before.namelist():
                data = before.read(name)
                if name.endswith(("xml", "rels")) and chance.random() < 0.15:
                    data = scrambled(data.decode(), chance).encode()
                after.writestr(name, data, zipfile.ZIP_DEFLATED)
        pages += everything(out.getvalue(), chance)
    assert pages
