"""A page as sites make them today: little of what it shows is an <img src> of a JPEG.

Its pictures are WebPs and AVIFs; the first is preloaded, a third are made lazy by a script, a third
by a script from data that it fetches. Scripts come in all ways: small in the head, half a megabyte
`async` and as a module, one at the page's end that names what reads pixels of canvases, and one
that four frames share. Made of the demonstration's photographs (demo/site/NOTICE); the same bytes
each time with the same Pillow, but for the names in its scripts (bench/origins/visits.py).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Final

from PIL import Image

from bench.origins.visits import NAME
from bench.scenarios.pages.page_load import SITE

PICTURES: Final = 24
FRAMES: Final = 4
_SIZE: Final = (600, 400)
"""Pixels."""
_WORDS: Final = 60
"""Of text under each picture."""
_SCRIPTS: Final = {"analytics.js": 250_000, "app.js": 200_000, "ad.js": 90_000, "end.js": 40_000}
"""Bytes of each."""
_LAZY: Final = """for (const one of document.querySelectorAll("[data-src]")) {
  one.src = one.dataset.src;
}"""
_MADE: Final = """const stories = await (await fetch("stories.json")).json();
for (const {picture, text} of stories) {
  const story = document.createElement("article"), image = document.createElement("img");
  image.width = 300; image.height = 200; image.src = picture;
  story.append(image, text);
  document.querySelector("main").append(story);
}"""
_DRAWN: Final = "function thumbnail(brush, canvas) { brush.drawImage(canvas, 0, 0, 9, 9); }"
_STYLE: Final = """main{display:grid;grid-template-columns:repeat(4,1fr);gap:1em}
p,article{font-size:.7em}"""


def make(folder: Path) -> Path:
    """The page in a folder of its own; that folder."""
    chance = random.Random(7)
    (folder / "img").mkdir(parents=True)
    pictures = list(_pictures(folder, chance))
    texts = [" ".join(f"word{chance.randrange(5000)}" for _ in range(_WORDS)) for _ in pictures]
    third = PICTURES // 3
    made = [
        {"picture": picture, "text": text}
        for picture, text in zip(pictures[-third:], texts[-third:], strict=True)
    ]
    (folder / "stories.json").write_text(json.dumps(made))
    for name, size in _SCRIPTS.items():
        (folder / name).write_text(_script(size, chance))
    for name, code in (("app.js", _MADE), ("end.js", _DRAWN)):
        with (folder / name).open("a") as file:
            file.write(code)
    (folder / "lazy.js").write_text(f'addEventListener("DOMContentLoaded", () => {{{_LAZY}}});')
    for number in range(FRAMES):
        frame = f"<!doctype html><script src=ad.js></script><p>Advertisement {number}"
        (folder / f"frame{number}.html").write_text(frame)
    (folder / "style.css").write_text(_STYLE)
    stories = [
        f'<article><img {"data-src" if number >= third else "src"}="{picture}" width="300" '
        f'height="200" alt=""><h2>Story {number}</h2><p>{text}</p></article>'
        for number, (picture, text) in enumerate(
            zip(pictures[:-third], texts[:-third], strict=True)
        )
    ]
    frames = "".join(
        f'<iframe src="frame{number}.html" width="300" height="60"></iframe>'
        for number in range(FRAMES)
    )
    (folder / "index.html").write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Modern</title>'
        f'<link rel="preload" as="image" href="{pictures[0]}"><script src="lazy.js"></script>'
        '<script async src="analytics.js"></script><link rel="stylesheet" href="style.css">'
        f'<script type="module" src="app.js"></script></head><body><main>{"".join(stories)}</main>'
        f'{frames}<script src="end.js"></script></body></html>\n'
    )
    return folder


def _pictures(folder: Path, chance: random.Random) -> Iterator[str]:
    """Their addresses."""
    photographs = cycle(sorted((SITE / "news" / "img").glob("*.jpg")))
    for number, path in zip(range(PICTURES), photographs, strict=False):
        with Image.open(path) as photograph:
            share = chance.uniform(0.6, 0.95)
            width, height = (round(side * share) for side in photograph.size)
            left = chance.randrange(photograph.width - width + 1)
            top = chance.randrange(photograph.height - height + 1)
            part = photograph.convert("RGB").crop((left, top, left + width, top + height))
        name = f"img/{number:02}.{'avif' if number % 2 else 'webp'}"
        part.resize(_SIZE, Image.Resampling.LANCZOS).save(folder / name, quality=75)
        yield name


def _script(size: int, chance: random.Random) -> str:
    """Code that does nothing, as dense as code is."""
    lines, length = [], 0
    words = [f"{NAME}{chance.randrange(1 << 24):06x}" for _ in range(size // 60)]
    while length < size:
        one, two, three = chance.choices(words, k=3)
        value = f"{two}.{three}?{two}[{chance.randrange(999)}]:null"
        line = f"var {one}=function({two}){{return {value}}};"  # again and again in a module, too
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines) + "\n"
