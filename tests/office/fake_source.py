"""A document on its way in, at the pace and in the order that a test wants."""

from __future__ import annotations

import posixpath
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from office.outline import DocumentKind, Media, Outline, Page
from office.zip_directory import Directory, parse

PICTURE = re.compile(r"(?i).*\.(png|jpe?g|gif|bmp|tiff?|webp|emf|wmf|svg)")
TEXT = re.compile(r"(?i).*\.(xml|rels|vml|rdf)|mimetype|.*/")


class FakeSource:
    """Feeds the file at `original` into a sparse one, as `office.source.Source` has it."""

    def __init__(self, original: Path, path: Path, outline: Outline | None = None) -> None:
        data = original.read_bytes()
        self._data = data
        self.url = f"http://fake.test/{original.name}"
        self.name = original.name
        self.length = len(data)
        self.path = path
        self.directory: Directory = parse(data, length=len(data))
        self.outline = outline or rough_outline(self.directory, data, original.suffix[1:])
        self.failure = ""
        self.focused: list[tuple[int, tuple[str, ...]]] = []
        self._here: set[str] = set()
        self._low: dict[str, bytes] = {}
        self._watchers: list[Callable[[], None]] = []
        with path.open("wb") as file:
            file.truncate(self.length)
            file.seek(self.directory.start)
            file.write(self.directory.raw)

    @property
    def complete(self) -> bool:
        return len(self._here) == len(self.directory.entries)

    def present(self, entry: str) -> bool:
        return entry in self._here

    def low(self, entry: str) -> bytes | None:
        return self._low.get(entry)

    def watch(self, changed: Callable[[], None]) -> Callable[[], None]:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed)

    def focus(self, page: int, visible: Sequence[str] = ()) -> None:
        self.focused.append((page, tuple(visible)))

    # What the test does.

    def feed(self, entries: Iterable[str]) -> None:
        by_name = self.directory.by_name
        with self.path.open("r+b") as file:
            for name in entries:
                entry = by_name[name]
                file.seek(entry.start)
                file.write(self._data[entry.start : entry.end])
                self._here.add(name)
        self._changed()

    def feed_page(self, number: int) -> None:
        self.feed(self.outline.pages[number - 1].entries)

    def feed_texts(self) -> None:
        self.feed([e for page in self.outline.pages for e in page.entries])
        self.feed(self.outline.texts)

    def feed_low(self, entry: str, picture: bytes) -> None:
        self._low[entry] = picture
        self._changed()

    def feed_pictures(self) -> None:
        self.feed(media.entry for media in self.outline.media)

    def feed_rest(self) -> None:
        self.feed([e.name for e in self.directory.entries if e.name not in self._here])

    def fail(self, reason: str) -> None:
        self.failure = reason
        self._changed()

    def copy_original(self, to: Path) -> None:
        shutil.copyfile(self.path, to)

    def _changed(self) -> None:
        for changed in list(self._watchers):
            changed()


def rough_outline(directory: Directory, data: bytes, suffix: str) -> Outline:
    """Good enough for a pptx; of others all text is one page."""
    from office.raw_entries import content

    by_name = directory.by_name

    def text(name: str) -> str:
        entry = by_name[name]
        return content(entry, data[entry.start : entry.end]).decode("utf-8", "replace")

    def relations(name: str) -> list[tuple[str, str, str]]:
        folder, _, base = name.rpartition("/")
        rels = f"{folder}/_rels/{base}.rels".lstrip("/")
        if rels not in by_name:
            return []
        found = []
        for tag in re.findall(r"<Relationship [^>]*>", text(rels)):
            a = dict(re.findall(r'(\w+)="([^"]*)"', tag))
            if a.get("TargetMode") != "External":
                target = posixpath.normpath(posixpath.join("/" + folder, a["Target"]))[1:]
                found.append((a["Id"], a["Type"].rpartition("/")[2], target))
        return found

    names = [entry.name for entry in directory.entries]
    pictures = [n for n in names if PICTURE.fullmatch(n) and "humbnail" not in n]
    texts = [n for n in names if TEXT.fullmatch(n) and n not in pictures]
    others = tuple(n for n in names if n not in texts and n not in pictures)
    if suffix != "pptx":
        media = tuple(Media(n, (), *_size(content(by_name[n], data[by_name[n].start:by_name[n].end]))) for n in pictures)
        return Outline(DocumentKind(suffix), (Page(tuple(texts)),), media, (), others)
    done: set[str] = set()

    def closure(name: str, skip: tuple[str, ...] = ()) -> list[str]:
        if name in done or name not in texts:
            return []
        done.add(name)
        folder, _, base = name.rpartition("/")
        found = [name]
        if (rels := f"{folder}/_rels/{base}.rels") in by_name:
            found.append(rels)
        for _, kind, target in relations(name):
            if kind not in skip:
                found += closure(target, skip)
        return found

    first = ["[Content_Types].xml", "_rels/.rels"]
    first += closure("ppt/presentation.xml", ("slide", "notesMaster", "handoutMaster", "slideMaster"))
    ids = {i: t for i, k, t in relations("ppt/presentation.xml")}
    slides = [ids[i] for i in re.findall(r'<p:sldId [^>]*r:id="([^"]*)"', text("ppt/presentation.xml"))]
    pages = []
    for n, slide in enumerate(slides):
        skip = ("notesSlide", "slide")
        pages.append(tuple((first if n == 0 else []) + closure(slide, skip)))
    shown: dict[str, set[int]] = {}
    for n, slide in enumerate(slides, 1):
        for _, _, target in relations(slide):
            if target in pictures:
                shown.setdefault(target, set()).add(n)
    media = tuple(
        Media(n, tuple(sorted(shown.get(n, ()))), *_size(content(by_name[n], data[by_name[n].start:by_name[n].end])))
        for n in sorted(pictures, key=lambda n: min(shown.get(n, {10**6})))
    )
    used = {e for page in pages for e in page}
    rest = tuple(n for n in texts if n not in used)
    return Outline(DocumentKind.PPTX, tuple(Page(p) for p in pages), media, rest, others)


def _size(data: bytes) -> tuple[int, int]:
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.size
    except Exception:
        return 0, 0
