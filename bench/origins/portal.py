"""A page of 120 pictures, as portals have them: small ones in columns, 3.5 MB together.

Made of the demonstration's photographs (demo/site/NOTICE), each picture a part of one that no other
shows; the same bytes each time with the same Pillow.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

from PIL import Image

from bench.scenarios.pages.page_load import SITE

PICTURES: Final = 120
SIZE: Final = (420, 280)
"""Pixels."""
QUALITY: Final = 90
_WORDS: Final = 40
"""Of text under each picture."""


def make(folder: Path) -> Path:
    """The page in a folder of its own; that folder."""
    chance = random.Random(5)
    photographs = sorted((SITE / "news" / "img").glob("*.jpg"))
    (folder / "img").mkdir(parents=True)
    parts = []
    for number in range(PICTURES):
        with Image.open(photographs[number % len(photographs)]) as photograph:
            share = chance.uniform(0.45, 0.9)
            width, height = (round(side * share) for side in photograph.size)
            left = chance.randrange(photograph.width - width + 1)
            top = chance.randrange(photograph.height - height + 1)
            part = photograph.convert("RGB").crop((left, top, left + width, top + height))
        name = f"img/{number:03}.jpg"
        part.resize(SIZE, Image.Resampling.LANCZOS).save(folder / name, quality=QUALITY)
        text = " ".join(f"word{chance.randrange(5000)}" for _ in range(_WORDS))
        parts.append(
            f'<article><img src="{name}" width="{SIZE[0] // 2}" height="{SIZE[1] // 2}" alt="">'
            f"<h2>Story {number}</h2><p>{text}</p></article>"
        )
    style = "main{display:grid;grid-template-columns:repeat(5,1fr);gap:1em}p{font-size:.7em}"
    (folder / "style.css").write_text(style)
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Portal</title>'
    head += '<link rel="stylesheet" href="style.css"></head><body><main>'
    (folder / "index.html").write_text(head + "\n".join(parts) + "</main></body></html>\n")
    return folder
