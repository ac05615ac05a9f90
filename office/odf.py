"""OpenDocument: all text is in one part, pictures are named in the order of reading.

Pure. Source: ODF 1.3 part 2, section 3 (packages), and part 3, 10.4 (frames), 16.40 (fill images).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from office.entry_lists import is_picture, is_text, outline
from office.errors import Unreadable
from office.outline import DocumentKind, Outline
from office.xml import Attributes, elements, resolved
from office.zip_directory import Directory

MIMETYPE: Final = "mimetype"
CONTENT: Final = "content.xml"
STYLES: Final = "styles.xml"
MAIN: Final = (MIMETYPE, CONTENT, STYLES)
_SIDES: Final = ("settings.xml", "meta.xml", "manifest.rdf")
"""1 KB, and a program takes a document for damaged in which one of them is empty."""
FRAME: Final = (MIMETYPE, "META-INF/manifest.xml", *_SIDES, STYLES, CONTENT)
"""What no program opens a document without."""
_KINDS: Final = {
    "presentation": DocumentKind.ODP,
    "text": DocumentKind.ODT,
    "spreadsheet": DocumentKind.ODS,
}
_MAX_MIMETYPE: Final = 200
MAX_PAGES: Final = 4096


def read(directory: Directory, content: Callable[[str], bytes]) -> Outline:
    """The outline of an OpenDocument file. Raises Unreadable."""
    kind = _kind(content(MIMETYPE))
    names = [entry.name for entry in directory.entries]
    if CONTENT not in names or "META-INF/manifest.xml" not in names:
        raise Unreadable("it lacks its content")
    pages, shown = _pages(kind, names, content(CONTENT))
    if STYLES in names:
        for _, attributes in elements(content(STYLES), STYLES, _matters):
            name = _reference(attributes)
            if is_picture(name):
                shown.setdefault(name, ())
    pages[0] = [*FRAME, *pages[0]]
    return outline(kind, directory, pages, shown)


def _kind(mimetype: bytes) -> DocumentKind:
    text = mimetype[:_MAX_MIMETYPE].decode("ascii", "replace").strip()
    prefix, _, name = text.rpartition(".")
    kind = _KINDS.get(name.removesuffix("-template"))
    if prefix != "application/vnd.oasis.opendocument" or kind is None:
        raise Unreadable(f"it is a document of another kind: {text!r}")
    return kind


def _pages(
    kind: DocumentKind, names: list[str], content: bytes
) -> tuple[list[list[str]], dict[str, tuple[int, ...]]]:
    """The objects' texts by page, and the pictures with their pages."""
    folders = _folders(names)
    numbered = kind is DocumentKind.ODP
    pages: list[list[str]] = [[]]
    shown: dict[str, tuple[int, ...]] = {}
    number = 0
    for tag, attributes in elements(content, CONTENT, _matters):
        if numbered and tag == "page":
            number += 1
            if number > MAX_PAGES:
                raise Unreadable(f"it has more than {MAX_PAGES} pages")
            if number > 1:
                pages.append([])
        name = _reference(attributes)
        if not name:
            continue
        if is_picture(name) or name.startswith("ObjectReplacements/"):
            before = shown.get(name, ())
            if number and number not in before[-1:]:
                before = (*before, number)
            shown[name] = before
        elif name in folders:
            pages[-1] += folders[name]
    return pages, shown


def _folders(names: list[str]) -> dict[str, list[str]]:
    """The texts in each folder: embedded objects are folders of their own."""
    found: dict[str, list[str]] = {}
    for name in names:
        folder, slash, _ = name.partition("/")
        if slash and is_text(name):
            found.setdefault(folder, []).append(name)
    return found


def _matters(tag: str, attributes: Attributes) -> bool:
    """A page, or what shows something: most other elements have no link."""
    return tag == "page" or (len(attributes) > 0 and _reference(attributes) != "")


def _reference(attributes: Attributes) -> str:
    """The entry that an element shows; "" for none."""
    for name, value in attributes.items():
        if name.endswith("xlink}href"):
            return "" if ":" in value else resolved(value, base="")
    return ""
