"""A text as long as one likes, of words that do not repeat, made of a short one with pictures."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

DATA = Path(__file__).parents[1] / "data" / "office"
LINES = 600
_MAIN = {
    ".docx": ("word/document.xml", "<w:sectPr>", "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"),
    ".odt": ("content.xml", "</office:text>", '<text:p text:style-name="Standard">{}</text:p>'),
}


def long_text(folder: Path, suffix: str, *, boxed: bool = False) -> Path:
    """A file of that kind in `folder`: the short one's pages, then LINES numbered ones.

    `boxed`: all of it in one element (of a .docx).
    """
    main, end, paragraph = _MAIN[suffix]
    chance = random.Random(7)
    more = "".join(
        paragraph.format(f"Line {number}: {chance.randbytes(24).hex()}.") for number in range(LINES)
    )
    path = folder / f"long{suffix}"
    with (
        zipfile.ZipFile(DATA / f"text_pictures{suffix}") as short,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made,
    ):
        for one in short.infolist():
            data = short.read(one)
            if one.filename == main:
                before, found, after = data.decode().rpartition(end)
                data = (before + more + found + after).encode()
            if one.filename == main and boxed:
                data = data.replace(b"<w:body>", b"<w:body><w:sdt><w:sdtContent>")
                data = data.replace(b"<w:sectPr>", b"</w:sdtContent></w:sdt><w:sectPr>")
            made.writestr(one, data)
    return path
