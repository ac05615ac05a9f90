"""Records of a text view: one for each page, or piece of a text, in the order of reading.

On the way its parts are between control characters, which no XML has, and others of them stand for
what is said most (shorthand.py). The device puts what is here
together to a `content.xml` and a `styles.xml`, with empty pages for those that are not. Pure.

Source: ODF 1.3 part 3, 3.1 (document roots); ISO 646, 4.1.10 (information separators).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Final

from lxml import etree

from office.errors import Unreadable
from office.outline import DocumentKind
from office.text_view import shorthand
from office.text_view.vocabulary import SPACES

CONTENT: Final = "content.xml"
STYLES: Final = "styles.xml"
VIEWED: Final = (CONTENT, STYLES)
"""The parts that a view is of."""
MAX_VIEW: Final = 2 << 20
"""Bytes of a view as it is written, and on the way, where it is shorter."""
MAX_RECORDS: Final = 8192
BODIES: Final[Mapping[DocumentKind, str]] = {
    DocumentKind.ODP: "office:presentation",
    DocumentKind.ODT: "office:text",
}
"""Kinds that have views, and the element that is their body. The texts of a spreadsheet are nearly
all of it: nothing would be gained."""
_FIELD: Final = "\x1f"
_END: Final = b"\x1e"
_NAMES: Final = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
_OPEN: Final = f"{_NAMES}>"
"""Of no version: LibreOffice takes a package for broken whose manifest says another."""
_XML: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_EMPTY: Final = "<draw:page/>"


@dataclass(frozen=True, slots=True)
class Record:
    """XML, each of it in the element that it is for."""

    named: str
    """In styles.xml: styles with names."""
    layouts: str
    """... page layouts and what the masters use,"""
    masters: str
    """... master pages."""
    automatic: str
    """In content.xml: the styles of its pages."""
    body: str
    """Pages, or paragraphs."""

    def packed(self) -> bytes:
        return shorthand.short(_FIELD.join(astuple(self))).encode() + _END


class TextView:
    """What is here of a view."""

    def __init__(self, kind: DocumentKind, pages: int) -> None:
        """`pages`: how many the document has."""
        self._kind = kind
        self._of = pages
        self._records: list[Record] = []
        self._room = MAX_VIEW
        self._rest = b""
        self.data = bytearray()
        """What has come of it."""
        self.whole = False
        """Nothing more of it comes."""

    @property
    def pages(self) -> int:
        """Pages from the first that it has."""
        if self._kind is DocumentKind.ODP:
            return len(self._records)
        return self._of if self.whole else 0

    @property
    def size(self) -> int:
        """Bytes that have come."""
        return len(self.data)

    def instead(self, present: Callable[[str], bool]) -> dict[str, bytes]:
        """The parts that it stands for, while one of them is not here: they go together."""
        return {} if all(map(present, VIEWED)) else self.parts()

    def add(self, data: bytes) -> bool:
        """More of it has come; whether that ends a record. Raises Unreadable for what can't be."""
        self.data += data
        *ended, self._rest = (self._rest + data).split(_END)
        for raw in ended:
            record = _record(raw, self._room)
            self._room -= sum(map(len, astuple(record)))
            self._records.append(record)
        limit = self._of if self._kind is DocumentKind.ODP else MAX_RECORDS
        if self._kind not in BODIES or len(self.data) > MAX_VIEW or len(self._records) > limit:
            raise Unreadable("a text view that can't be")
        return bool(ended)

    def end(self) -> None:
        """Ends the view. Raises Unreadable where something lacks, or it is no XML."""
        self.whole = True
        if self._rest or not self._records or self.pages != self._of:
            raise Unreadable("half a text view")
        for part in self.parts().values():
            try:
                etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True))
            except etree.XMLSyntaxError as error:
                raise Unreadable(f"a text view that is no XML: {error}") from None

    def parts(self) -> dict[str, bytes]:
        """The parts of the document that it stands for, each whole, if it has any page."""
        if not self._records:
            return {}
        body = BODIES[self._kind]
        missing = self._of - len(self._records) if self._kind is DocumentKind.ODP else 0
        joined = Record(*("".join(part) for part in zip(*map(astuple, self._records), strict=True)))
        content = (
            f"{_XML}<office:document-content{_OPEN}"
            f"<office:automatic-styles>{joined.automatic}</office:automatic-styles>"
            f"<office:body><{body}>{joined.body}{_EMPTY * missing}</{body}></office:body>"
            "</office:document-content>"
        )
        styles = (
            f"{_XML}<office:document-styles{_OPEN}<office:styles>{joined.named}</office:styles>"
            f"<office:automatic-styles>{joined.layouts}</office:automatic-styles>"
            f"<office:master-styles>{joined.masters}</office:master-styles>"
            "</office:document-styles>"
        )
        return {CONTENT: content.encode(), STYLES: styles.encode()}


def _record(raw: bytes, room: int) -> Record:
    """`room`: bytes that it may have."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Unreadable("a text view that is no text") from None
    if shorthand.length(text) > room:
        raise Unreadable("a text view that is too long")
    fields = shorthand.long(text).split(_FIELD)
    if len(fields) != 5:
        raise Unreadable("a record of a text view that can't be")
    return Record(*fields)
