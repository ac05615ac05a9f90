"""Pages of documents as HTML: nothing gets out of them, whatever is in the file."""

from __future__ import annotations

import io
import random
import re
import zipfile
from pathlib import Path

import pytest

from office.errors import NeedsMore, Unreadable
from office.extents import Extents
from office.preview import markup
from tests.office.preview_of import (
    EVIL,
    ODF,
    A,
    Opened,
    box,
    escaped,
    is_harmless,
    rebuilt,
    slide_with,
)
from tests.office_files import FILES, mutated


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
