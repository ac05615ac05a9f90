"""Documents made from byte counts, and an origin that has them.

The text is real HTML with <img> tags, so that the real import driver promises the pictures; the
pictures are the sample site's, each under many addresses, so that the real transcoder makes their
levels. Transcoding needs threads and a child process, which have no place in virtual time:
`prepared` does it beforehand, and `Prepared` gives out the results.
"""

from __future__ import annotations

import asyncio
import io
import random
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from mimetypes import guess_type
from pathlib import Path
from typing import Final

from PIL import Image

from remote_proxy.origin.client import ForwardedRequest, Origin, OriginResponse
from transcoders.make.low import Low
from transcoders.make.registry import Transcoders
from transcoders.make.thumbnail import thumbnail
from transcoders.picture import Picture, PictureOptions, Unfit, up_to
from transcoders.text import TextEncoder, quality_for

PICTURES: Final = Path(__file__).parents[2] / "demo" / "site" / "news" / "img"
SMALL: Final = 2_500
"""Bytes, about, of a picture that is too small for levels (HATS, 4.1.1: less than 4 KB)."""
_MOST_PIXELS: Final = 1 << 24
_CHUNK: Final = 65_536
_PARAGRAPH: Final = 60
"""Words."""


@dataclass(frozen=True, slots=True)
class File:
    """What the origin has under one address."""

    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SyntheticPage:
    """A document and the pictures in it."""

    url: str
    files: Mapping[str, File]
    """By URL, the page itself first."""

    @property
    def size(self) -> int:
        """Bytes at the origin."""
        return sum(len(file.data) for file in self.files.values())


def page(url: str, *, text: int, large: int = 0, small: int = 0, seed: int = 1) -> SyntheticPage:
    """A page of `text` bytes of HTML, `large` bytes of photographs, `small` of small pictures.

    The pictures' bytes are reached to within one picture. They are spread evenly over the text.
    """
    pictures = _mixed(
        [*_up_to(large, cycle(_photographs()))], [*_up_to(small, cycle(_thumbnails()))]
    )
    return page_with(url, pictures, text=text, seed=seed)


def page_with(url: str, pictures: Sequence[bytes], *, text: int, seed: int = 1) -> SyntheticPage:
    """A page of `text` bytes of HTML with these JPEGs spread evenly over it, in their order."""
    files = {
        f"{url}img/{number}.jpg": File("image/jpeg", data) for number, data in enumerate(pictures)
    }
    html = _html([f"img/{number}.jpg" for number in range(len(files))], size=text, seed=seed)
    return SyntheticPage(url, {url: File("text/html; charset=utf-8", html), **files})


def page_of(folder: Path, url: str) -> SyntheticPage:
    """The page whose files a folder has, with its index.html at `url`. Raises OSError."""
    files = {url: File("text/html; charset=utf-8", (folder / "index.html").read_bytes())}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        kind = guess_type(path.name)[0] or "application/octet-stream"
        if path.name != "index.html":
            files[url + path.relative_to(folder).as_posix()] = File(kind, path.read_bytes())
    return SyntheticPage(url, files)


def text_of(size: int, *, seed: int) -> int:
    """How many bytes of HTML of that seed become `size` bytes on a slow link, once coded."""
    raw = size
    for _ in range(4):
        raw = raw * size // _coded(_html([], size=raw, seed=seed))
    return raw


def _coded(data: bytes) -> int:
    encoder = TextEncoder(quality=quality_for(None))
    pieces = [encoder.encode(data[at : at + _CHUNK]) for at in range(0, len(data), _CHUNK)]
    return sum(map(len, pieces)) + len(encoder.finish())


class Shelf(Origin):
    """An origin that has everything at hand, without a network."""

    def __init__(self, pages: Iterable[SyntheticPage]) -> None:
        super().__init__()
        self._files = {url: file for one in pages for url, file in one.files.items()}

    async def fetch(self, forwarded: ForwardedRequest) -> OriginResponse:
        found = self._files.get(forwarded.request.url)
        file = found or File("text/plain; charset=utf-8", b"there is no such page\n")
        headers = [
            ("content-type", file.content_type),
            ("content-length", str(len(file.data))),
            ("last-modified", "Thu, 02 Jan 2003 10:00:00 GMT"),
            ("cache-control", "max-age=3600"),
        ]
        return OriginResponse(
            200 if found else 404,
            "OK" if found else "Not Found",
            headers,
            _chunks(file.data),
            len(file.data),
            lambda: None,
        )


class Prepared(Transcoders):
    """Pictures that were transcoded before; of others it says that they are best left alone."""

    def __init__(
        self, made: Mapping[bytes, Picture], sketched: Mapping[bytes, Picture] | None = None
    ) -> None:
        """`sketched`: for who takes sketches; pictures that are not in it are as in `made`."""
        super().__init__(workers=1, jpegtran=None)
        self._plain = dict(made)
        self._sketched = {**self._plain, **(sketched or {})}

    def knows(self, data: bytes) -> bool:
        """Whether that picture was transcoded, and has levels."""
        return data in self._plain

    async def low(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        *,
        whose: str = "",
        private: bool = False,
    ) -> Low | None:
        return None  # all is there at once

    async def finish(
        self,
        data: bytes,
        content_type: str,
        options: PictureOptions,
        low: Low | None,
        *,
        whose: str = "",
        private: bool = False,
    ) -> Picture | None:
        made = (self._sketched if options.sketch else self._plain).get(data)
        return up_to(made, options.stop) if made is not None else None

    async def thumbnail(self, data: bytes, *, whose: str = "") -> bytes | None:
        """The coarse version of a document's picture, made at once."""
        try:
            return thumbnail(data, max_pixels=_MOST_PIXELS)
        except Unfit:
            return None

    async def exact(self, *_: object, **__: object) -> None:
        """Pictures in documents go as they are: threads know no virtual time."""


async def _transcode(sources: Mapping[bytes, str], *, sketch: bool) -> dict[bytes, Picture]:
    transcoders, options = Transcoders(workers=1), PictureOptions(sketch=sketch)
    try:
        found = {
            data: await transcoders.picture(data, kind, options) for data, kind in sources.items()
        }
    finally:
        await transcoders.close()
    return {data: picture for data, picture in found.items() if picture is not None}


def prepared(
    pages: Sequence[SyntheticPage], *, kinds: Collection[str] = ("image/jpeg",)
) -> Prepared:
    """The pages' pictures of these content types, transcoded by the real transcoders. Not from
    within a loop.

    Both ways; the pages have them in <img>s and devices take sketches, so sessions ask for those.
    """
    sources = {
        file.data: file.content_type
        for one in pages
        for file in one.files.values()
        if file.content_type in kinds
    }
    return Prepared(
        asyncio.run(_transcode(sources, sketch=False)),
        asyncio.run(_transcode(sources, sketch=True)),
    )


async def _chunks(data: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(data), _CHUNK):
        yield data[start : start + _CHUNK]


# -- what pages are made of ----------------------------------------------------------------------


def _photographs() -> list[bytes]:
    return [path.read_bytes() for path in sorted(PICTURES.glob("*.jpg"))]


def _thumbnails() -> list[bytes]:
    """Small pictures, of about SMALL bytes."""
    found = []
    for path in sorted(PICTURES.glob("*.jpg")):
        with Image.open(path) as picture:
            for quality in (75, 60, 45, 30, 15):
                out = io.BytesIO()
                picture.resize((96, 72)).save(out, "JPEG", quality=quality)
                if out.tell() <= SMALL:
                    break
        found.append(out.getvalue())
    return found


def _up_to(size: int, sources: Iterator[bytes]) -> Iterator[bytes]:
    """Pictures until together they come as near to `size` as one picture allows."""
    total = 0
    for data in sources:
        if total + len(data) / 2 > size:
            return
        total += len(data)
        yield data


def _mixed(some: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    """Both in their order, spread evenly among each other."""
    places = [
        (place / len(list_), data) for list_ in (some, others) for place, data in enumerate(list_)
    ]
    return [data for _, data in sorted(places, key=lambda pair: pair[0])]


def _html(pictures: Sequence[str], *, size: int, seed: int) -> bytes:
    """HTML of `size` bytes, or a little more where the tags alone are longer."""
    words = _words(random.Random(seed))
    head = "<!doctype html><html lang=en><title>A page of given size</title><body>\n"
    tags = [f'<img src="{name}" alt="">\n' for name in pictures]
    room = max(0, size - len(head) - sum(map(len, tags)))
    parts, written = [head], 0
    for number, tag in enumerate([*tags, ""]):
        until = room * (number + 1) // (len(tags) + 1)
        parts += [_text(until - written, words), tag]
        written = until
    return "".join(parts).encode()


def _text(size: int, words: Iterator[str]) -> str:
    """Paragraphs of `size` characters in all; none of their tags is cut."""
    parts = []
    while size > len("<p>\n"):
        sentence = " ".join(next(words) for _ in range(_PARAGRAPH))[: size - len("<p>\n")]
        parts.append(f"<p>{sentence}\n")
        size -= len(parts[-1])
    return "".join(parts) + "\n" * size


def _words(chance: random.Random) -> Iterator[str]:
    """Words of a made-up language, some far more usual than others: they compress as text does."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    known = [
        "".join(chance.choices(letters, range(26, 0, -1), k=chance.randint(2, 11)))
        for _ in range(8_000)
    ]
    usual = [1 / (rank + 3) for rank in range(len(known))]  # Zipf
    while True:
        yield from chance.choices(known, usual, k=1_000)
