"""Documents of a few parts, each written out by a test."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from tests.office.preview_of import ODF, Opened

R = 'xmlns:r="http://x/relationships"'
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."


def zipped(entries: Mapping[str, str | bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these, in their order."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content, method)
    return out.getvalue()


def relations(*of: tuple[str, str, str], external: tuple[tuple[str, str], ...] = ()) -> str:
    """Id, kind and target of each; `external`: ids and addresses of links."""
    inside = "".join(
        f'<Relationship Id="{id_}" Type="http://x/{kind}" Target="{target}"/>'
        for id_, kind, target in of
    )
    outside = "".join(
        f'<Relationship Id="{id_}" Type="http://x/hyperlink" Target="{to}" TargetMode="External"/>'
        for id_, to in external
    )
    return f"<Relationships>{inside}{outside}</Relationships>"


def open_xml(main: str, kind: str, parts: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """The entries of a document of Office Open XML whose main part is `main`."""
    return {
        "[Content_Types].xml": f'<Types><Override PartName="/{main}" ContentType="{_OPEN_XML}'
        f'{kind}.main+xml"/></Types>',
        "_rels/.rels": relations(("r1", "officeDocument", main)),
        **parts,
    }


def word(body: str, *, rels: str = "", **parts: str) -> Opened:
    """A text with that body; `parts` by their names, `styles` and `numbering`."""
    related = relations(*((name, name, f"{name}.xml") for name in parts))
    entries: dict[str, str | bytes] = {
        "word/document.xml": f"<document {R}><body>{body}</body></document>",
        "word/_rels/document.xml.rels": rels or related,
        "word/media/a.png": b"a picture",
        **{f"word/{name}.xml": content for name, content in parts.items()},
    }
    kind = "wordprocessingml.document"
    return Opened(zipped(open_xml("word/document.xml", kind, entries)))


def workbook(rows: str, *, styles: str = "", shared: str = "") -> Opened:
    """A workbook with one sheet of these rows."""
    entries: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook {R}><sheets><sheet name="Rivers" r:id="s"/></sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            ("s", "worksheet", "worksheets/sheet1.xml"),
            ("t", "sharedStrings", "sharedStrings.xml"),
            ("u", "styles", "styles.xml"),
        ),
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst>{shared}</sst>",
        "xl/styles.xml": f"<styleSheet>{styles}</styleSheet>",
    }
    return Opened(zipped(open_xml("xl/workbook.xml", "spreadsheetml.sheet", entries)))


def open_document(kind: str, body: str, *, automatic: str = "", styles: str = "") -> Opened:
    """A "presentation", "text" or "spreadsheet" with that body; `styles`: the inside of
    styles.xml."""
    return Opened(
        zipped(
            {
                "mimetype": f"{_OPEN_DOCUMENT}{kind}",
                "META-INF/manifest.xml": "<manifest/>",
                "content.xml": f"<office:document-content {ODF}><office:automatic-styles>"
                f"{automatic}</office:automatic-styles><office:body><office:{kind}>{body}"
                f"</office:{kind}></office:body></office:document-content>",
                "styles.xml": f"<office:document-styles {ODF}>{styles}</office:document-styles>",
                "Pictures/a.png": b"a picture",
            }
        )
    )
