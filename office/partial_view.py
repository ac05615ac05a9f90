"""The file that an office program opens while parts of the document are still on their way.

Every name of the central directory is in it, for programs call a file broken where a name is
missing. What is here is copied as it lies in the original; pictures have stand-ins that can be told
apart; a view of texts stands for them; slides behind the last readable one are empty ones of the
first one's layout; the rest is 0 bytes long. Nothing is recompressed. Must not know: programs,
links, files on disks. Pure.

Source: measured with LibreOffice 7.4 (which names may be left out: none); APPNOTE.TXT 6.3.10, 4.3.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from office import placeholders
from office.beginnings import begins, main_text
from office.outline import DocumentKind, Outline
from office.text_view.records import VIEWED, TextView
from office.zip_directory import LOCAL, STORED, UTF_8, Directory, ZipEntry

_CENTRAL: Final = struct.Struct("<4s6H3L5H2L")
_END: Final = struct.Struct("<4s4H2LH")
_START: Final = 42
"""Offset of the local header's offset in a record of the central directory (4.3.12)."""
_VERSION: Final = 20
_OPEN_DOCUMENT: Final = (DocumentKind.ODP, DocumentKind.ODT, DocumentKind.ODS)
_MIDNIGHT_1980: Final = (0, 0x21)
"""MS-DOS time and date."""
_SLIDE: Final = re.compile(r"(?P<folder>.*/)slides/(?P<name>[^/]+\.xml)")
_LAYOUT: Final = re.compile(r".*/slideLayouts/[^/]+\.xml")
_PICTURE: Final = re.compile(
    r"(?i).*\.(png|jpe?g|jpe|gif|bmp|tiff?|webp|emf|wmf|svg|jfif|pct|pict)"
)
"""Names, outside the outline too (a thumbnail), that a program decodes as pictures."""
_UNSEEN: Final = re.compile(r"(?i)(docProps/|Thumbnails/|Configurations2/)")
"""What no program shows of a document."""
COPIED: Final = 1 << 18
"""Bytes that are read from the original at a time."""


@dataclass(frozen=True, slots=True)
class View:
    """What a partial file made now would show."""

    pages: int
    """Pages from the first that have all their texts; 0: it can't be opened yet, but if"""
    begun: bool
    """the beginning of its one text is here and may be shown (office/beginnings.py)."""
    whole_text: bool
    """All texts are here, those that no page needs too, and nothing stands for any."""
    marks: Mapping[int, str]
    """Number of a stand-in -> the picture's entry."""
    viewed: bool
    """A view stands for its texts."""
    empty: tuple[str, ...]
    """Entries that stay 0 bytes long, or whose stand-in can't be found: for the complete file."""


def survey(
    directory: Directory,
    outline: Outline,
    present: Callable[[str], bool],
    text: TextView | None = None,
    *,
    reach: int = 0,
) -> View:
    """What is here. `text`: a view of it, as far as that is; `reach`: the offset up to which its
    main text is here, if it has one.
    """
    pages = 0
    for page in outline.pages:
        if not all(present(entry) for entry in page.entries):
            break
        pages += 1
    missing = [number for number, media in enumerate(outline.media, 1) if not present(media.entry)]
    marks = {n: outline.media[n - 1].entry for n in missing if n < placeholders.MARKS}
    unmarked = [outline.media[n - 1].entry for n in missing if n >= placeholders.MARKS]
    texts = [entry for entry in outline.texts if not present(entry)]
    sizes = {entry.name: entry.size for entry in directory.entries}
    others = [e for e in outline.others if sizes[e] and not _UNSEEN.match(e) and not present(e)]
    whole_text = pages == len(outline.pages) and not texts
    if outline.kind in _OPEN_DOCUMENT:
        # All its pages are one text, in which an embedded object must not be empty. Where there is
        # a view of it, it comes last, and no page names it.
        read = all(present(name) for name in VIEWED if name in sizes)
        pages = pages if read and pages == len(outline.pages) else 0
    viewed = text is not None and text.pages > 0 and not all(map(present, VIEWED))
    if text is not None and viewed and all(map(present, outline.pages[0].entries)):
        pages = text.pages
    main = main_text(outline)
    frame = (entry for entry in outline.pages[0].entries if entry != main)
    begun = main != "" and begins(directory.by_name[main], reach) and all(map(present, frame))
    return View(pages, begun, whole_text, marks, viewed, (*unmarked, *texts, *others))


def chunks(
    directory: Directory,
    outline: Outline,
    present: Callable[[str], bool],
    read: Callable[[int, int], bytes],
    instead: Mapping[str, bytes] | None = None,
) -> Iterator[bytes]:
    """The partial file. `read(start, end)` gives bytes of the original that are here, `instead` has
    what stands for texts (TextView.instead)."""
    here = {entry.name for entry in directory.entries if present(entry.name)}
    stand_ins = _stand_ins(directory, outline, here)
    stand_ins |= instead or {}
    here -= stand_ins.keys()  # a slide is of no use before its layout
    records = {entry.name: raw for entry, raw in _records(directory)}
    central: dict[str, bytes] = {}
    at = 0
    for entry in sorted(directory.entries, key=lambda entry: entry.start):
        record = records[entry.name]
        if entry.name in here:
            central[entry.name] = _moved(record, at)
            at += entry.end - entry.start
            for begin in range(entry.start, entry.end, COPIED):
                yield read(begin, min(begin + COPIED, entry.end))
        else:
            data = stand_ins.get(entry.name, b"")
            local = _stored(_name(record), entry.flags, data)
            central[entry.name] = _replaced(record, at, data)
            at += len(local)
            yield local
    listing = b"".join(central[entry.name] for entry in directory.entries)
    count = len(directory.entries)
    yield listing + _END.pack(b"PK\x05\x06", 0, 0, count, count, len(listing), at, 0)


def _stand_ins(directory: Directory, outline: Outline, here: set[str]) -> dict[str, bytes]:
    """Bytes for what is missing; what is not named stays empty."""
    missing = {entry.name for entry in directory.entries} - here
    found = {name: placeholders.picture(0) for name in sorted(missing) if _PICTURE.fullmatch(name)}
    for number, media in enumerate(outline.media, 1):
        if media.entry in missing:
            mark = number if number < placeholders.MARKS else 0
            found[media.entry] = placeholders.picture(mark, width=media.width, height=media.height)
    if outline.kind is DocumentKind.PPTX:
        found |= _empty_slides(outline, missing)
    return found


def _empty_slides(outline: Outline, missing: set[str]) -> dict[str, bytes]:
    """Slides, with relations to a layout that is here, for those that lack some text."""
    layout = ""
    found = {}
    for page in outline.pages:
        if not missing.intersection(page.entries):
            layout = layout or next((e for e in page.entries if _LAYOUT.fullmatch(e)), "")
            continue
        for entry in page.entries:
            if match := _SLIDE.fullmatch(entry):
                found[entry] = placeholders.slide()
                found[f"{match['folder']}slides/_rels/{match['name']}.rels"] = (
                    placeholders.slide_relations(layout.rpartition("/")[2])
                )
    return found


def _records(directory: Directory) -> Iterator[tuple[ZipEntry, bytes]]:
    """Each entry's record of the central directory."""
    at = 0
    for entry in directory.entries:
        name, extra, comment = _CENTRAL.unpack_from(directory.raw, at)[10:13]
        end = at + _CENTRAL.size + name + extra + comment
        yield entry, directory.raw[at:end]
        at = end


def _name(record: bytes) -> bytes:
    return record[_CENTRAL.size : _CENTRAL.size + _CENTRAL.unpack_from(record)[10]]


def _moved(record: bytes, start: int) -> bytes:
    """The record of an entry whose local header is at `start` now."""
    return record[:_START] + start.to_bytes(4, "little") + record[_CENTRAL.size :]


def _replaced(record: bytes, start: int, data: bytes) -> bytes:
    """The record of an entry in whose place `data` stands."""
    flags = _CENTRAL.unpack_from(record)[3] & UTF_8
    name = _name(record)
    return _CENTRAL.pack(
        b"PK\x01\x02", _VERSION, _VERSION, flags, STORED, *_MIDNIGHT_1980,
        zlib.crc32(data), len(data), len(data), len(name), 0, 0, 0, 0, 0, start,
    ) + name  # fmt: skip


def _stored(name: bytes, flags: int, data: bytes) -> bytes:
    """A local header and `data` behind it as it is; of the flags only the name's coding is kept."""
    header = LOCAL.pack(
        b"PK\x03\x04", _VERSION, flags & UTF_8, STORED, *_MIDNIGHT_1980,
        zlib.crc32(data), len(data), len(data), len(name), 0,
    )  # fmt: skip
    return header + name + data
