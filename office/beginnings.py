"""The beginning of a text that is still on its way, as a text of its own.

Its last paragraph is left out, since more of it may come, and what was open is closed; what stands
at the end of a text, like the margins of its last section, is not there yet. Pure.

Source: ECMA-376-1, 17.2.2 (body); ODF 1.3 part 3, 3.4 (office:text).
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from office.contents import beginning
from office.errors import Unreadable
from office.outline import DocumentKind, Outline
from office.preview.tree import inside
from office.preview.xml import local, recovered
from office.zip_directory import ZipEntry

SIZE: Final = 4096
"""Bytes in the zip that are worth being shown: some pages, as people write them."""
MAX_XML: Final = 4 << 20
"""Bytes of XML that are looked at."""
_BODIES: Final = {
    DocumentKind.DOCX: ("word/document.xml", ("body",)),
    DocumentKind.ODT: ("content.xml", ("body", "text")),
}
"""The part with the text, and where in it the paragraphs are."""


def main_text(outline: Outline) -> str:
    """The entry that has all of a text; "" of documents whose pages are entries of their own."""
    name, _ = _BODIES.get(outline.kind, ("", ()))
    return name if name in outline.pages[0].entries else ""


def begins(entry: ZipEntry, reach: int) -> bool:
    """Whether the bytes up to the offset `reach` may be worth showing, with more to come."""
    return entry.start + SIZE <= reach < entry.end


def closed(kind: DocumentKind, entry: ZipEntry, raw: bytes) -> bytes:
    """XML of the paragraphs that are in `raw`, the first bytes of the entry's range.

    Raises Unreadable where there are none that could be read.
    """
    root = recovered(beginning(entry, raw, MAX_XML))
    body = root
    for tag in _BODIES[kind][1]:
        body = next((one for one in inside(body) if local(one.tag) == tag), None)
    if root is None or body is None or not len(body):
        raise Unreadable(f"{entry.name!r} has no paragraph yet")
    body.remove(body[-1])
    if not any(text.strip() for text in body.itertext()):
        raise Unreadable(f"{entry.name!r} has no words yet")
    made = etree.tostring(root, encoding="UTF-8", xml_declaration=True, standalone=True)
    try:  # what was recovered of damage may have prefixes whose namespaces are lost
        etree.fromstring(made, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"{entry.name!r} is damaged: {error}") from None
    return made
