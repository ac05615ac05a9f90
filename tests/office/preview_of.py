"""Documents whose pages are made as HTML, and what may be in that."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

from office.contents import unpacked
from office.entries import read
from office.extents import Extents
from office.preview.pages import Preview
from office.preview.parts import Parts
from office.zip_directory import Directory, parse

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

    @property
    def pictures(self) -> dict[str, int]:
        """Their numbers, by entry."""
        return {one.entry: number for number, one in enumerate(self.outline.media)}

    def there(self, *, without: tuple[str, ...] = ()) -> Extents:
        """All of the file but entries whose names begin so."""
        return Extents(
            (entry.start, entry.end)
            for entry in self.directory.entries
            if not entry.name.startswith(without or ("\0",))
        )

    def parts(self, *, without: tuple[str, ...] = ()) -> Parts:
        parts = Parts(self.directory, lambda start, end: self.data[start:end], lambda name: None)
        parts.now(self.there(without=without))
        return parts

    def page(self, number: int, *, without: tuple[str, ...] = ()) -> str:
        return "".join(self.preview.page(number, self.there(without=without)).blocks)

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


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).strip()


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


EVIL = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def escaped(value: str) -> str:
    return value.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
