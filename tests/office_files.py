"""Small office documents, and what becomes of them where disks and networks are bad."""

from __future__ import annotations

import io
import os
import random
import zipfile
from pathlib import Path

FOLDER = Path(os.environ.get("SLUICE_DOCUMENTS", Path(__file__).parent / "data" / "office"))
"""Another folder may be named, of documents that are not small."""
FILES = sorted(
    path for path in FOLDER.iterdir() if path.suffix in (".pptx", ".docx", ".xlsx", ".odp", ".odt")
)
DECK = (Path(__file__).parent / "data" / "office" / "deck.pptx").read_bytes()


def with_film(size: int) -> bytes:
    """The deck with a film of so many bytes in front of all that is read."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(DECK)) as deck, zipfile.ZipFile(out, "w") as large:
        large.writestr("ppt/media/film.mp4", random.Random(1).randbytes(size))
        for entry in deck.infolist():
            large.writestr(entry, deck.read(entry))
    return out.getvalue()


LARGE = with_film(500_000)


def mutated(chance: random.Random) -> tuple[bytes, str]:
    """A document in which something is wrong, or nearly nothing, and its name."""
    path = chance.choice(FILES)
    data = bytearray(path.read_bytes())
    directory = data.rfind(b"PK\x05\x06") - 2000
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        if not data:
            break
        at = chance.choice(
            (chance.randrange(len(data)), max(0, directory + chance.randrange(2022)))
        )
        at = min(at, len(data) - 1)
        match chance.randrange(7):
            case 0 | 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                data[at : at + 4] = chance.randbytes(4)
            case 3:
                del data[at : at + chance.randrange(1, 40)]
            case 4:
                data[at:at] = data[at : at + chance.randrange(1, 40)]
            case 5:
                data[at : at + chance.randrange(1, 200)] = bytes(chance.randrange(1, 200))
            case _:
                data = data[: max(1, len(data) - chance.randrange(1, 3000))]
    return bytes(data), path.name
