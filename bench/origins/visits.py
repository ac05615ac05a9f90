"""Copies of a page under addresses of their own, so that no load has anything of another.

Each copy's pictures have other bytes, too: a remote keeps what it has made of the same bytes lately
(transcoders/make/made.py), so that the second load of a page would cost it next to nothing. So have
scripts that were made for it: a text is coded against what its device has of the same site.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

_JPEG: Final = b"\xff\xd8"
_PNG: Final = b"\x89PNG\r\n\x1a\n"
NAME: Final = "name_"
"""How names in scripts begin that differ from copy to copy; six hexadecimal digits follow."""
_NAMES: Final = re.compile(rb"name_[0-9a-f]{6}")
_SALTED: Final = frozenset((".jpg", ".png", ".webp", ".avif"))
_PNG_HEADER: Final = 33
"""Bytes of a signature and the first chunk, behind which others may stand (PNG, 5.6)."""


@contextlib.contextmanager
def visits(page: Path, count: int) -> Iterator[Path]:
    """A site that has the page so many times, as /0/index.html and on."""
    with TemporaryDirectory(prefix="sluice-visits-") as name:
        folder = Path(name)
        for visit in range(count):
            shutil.copytree(page, folder / str(visit))
            for file in (folder / str(visit)).rglob("*.*"):
                if file.suffix in _SALTED:
                    file.write_bytes(commented(file.read_bytes(), str(visit).encode()))
                elif file.suffix == ".js":
                    file.write_bytes(renamed(file.read_bytes(), str(visit).encode()))
        yield folder


def commented(picture: bytes, comment: bytes) -> bytes:
    """A picture with a comment: other bytes, but neither other pixels nor another treatment.

    Bytes behind a JPEG's end would not do: such files are never re-arranged. Anything else stays.
    """
    if picture.startswith(_JPEG):
        said = b"\xff\xfe" + (len(comment) + 2).to_bytes(2) + comment
        return _JPEG + said + picture[len(_JPEG) :]
    if picture.startswith(_PNG):
        content = b"tEXtComment\0" + comment
        chunk = (len(content) - 4).to_bytes(4) + content + zlib.crc32(content).to_bytes(4)
        return picture[:_PNG_HEADER] + chunk + picture[_PNG_HEADER:]
    if picture.startswith(b"RIFF") and picture[8:12] == b"WEBP":
        body = picture[8:] + b"note" + len(comment).to_bytes(4, "little") + comment
        body += b"\0" * (len(comment) % 2)
        return b"RIFF" + len(body).to_bytes(4, "little") + body
    if picture[4:12] == b"ftypavif":
        return picture + (8 + len(comment)).to_bytes(4) + b"free" + comment
    return picture


def renamed(script: bytes, salt: bytes) -> bytes:
    """A script with other names where they begin with NAME, each as long as before."""

    def other(name: re.Match[bytes]) -> bytes:
        return NAME.encode() + hashlib.sha256(name[0] + salt).hexdigest()[:6].encode()

    return _NAMES.sub(other, script)
