"""When an office document can be read in a real LibreOffice while it is still on its way.

Beside it a plain download of the same file over the same link, which shows nothing before it is
whole. The window is on a screen that nobody sees, and is filmed there. Knows how to arrange the
parts; what is shown when is local_proxy/export_drivers/libreoffice's affair.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
from PIL import Image, ImageDraw, ImageGrab

from bench.browsers.office_person import Does, own_folder, person
from bench.browsers.screen import screen
from bench.pairs.peers import SITE, DirectPeer, SluicePeer, in_world
from bench.reports.report import Check
from emulation.lines.profiles import Profile, profile
from local_proxy.commands.document_client import FollowedSource, following
from local_proxy.export_drivers.libreoffice.events import Event, EventKind
from local_proxy.export_drivers.libreoffice.find import Office, find
from local_proxy.export_drivers.libreoffice.show import show_coming
from office.outline import DocumentKind
from office.source import Source

DOCUMENTS: Final = Path(__file__).resolve().parents[3] / "tests" / "data" / "office"
SAMPLES: Final = ("deck_pictures.pptx", "text_pictures.docx", "deck_pictures.odp")
"""Small ones; give a real one by --page."""
FIRST: Final = 7.0
"""Seconds within which slide 1 of a deck of a megabyte is to be readable at 56 kbit/s, with the
program's start."""
TEXT: Final = 13.0
"""... and all text of it. The HATS paper's deck of that size took 68 s, beside a page."""
WHOLE: Final = 1.02
"""Times a plain download's, at most, until all is here."""
MEGABYTE: Final = (800_000, 1_200_000)
"""Bytes of what counts as such a deck."""
EVERY: Final = 0.5
"""Seconds between looks at the screen."""
_SETTLING: Final = 3.0
"""Seconds for the proxies to find each other: who opens a document has them running."""
PATIENCE: Final = 1800.0
"""Seconds for one document."""
_DECKS: Final = (DocumentKind.PPTX, DocumentKind.ODP)
_PROSE: Final = (DocumentKind.DOCX, DocumentKind.ODT)
THUMB: Final = (320, 225)
COLUMNS: Final = 5
"""Pictures in a row of the film strip."""


@dataclass(slots=True)
class DocumentLoad:
    """One document as it came. Seconds from the click."""

    started: float = 0.0
    """LibreOffice is there."""
    first: float = 0.0
    text: float = 0.0
    editable: float = 0.0
    coarse: float = 0.0
    whole: float = 0.0
    """The file is here."""
    complete: float = 0.0
    """And all of it is in the window."""
    failure: str = ""
    """Why it was not complete."""
    pictures: int = 0
    identical: bool = False
    read: bool | None = None
    """The words that a person read in the window when all text was to be there are those of the
    complete document; None: nobody has asked, as of sheets."""
    film: list[tuple[float, Image.Image]] = field(default_factory=list)
    readable: asyncio.Event = field(default_factory=asyncio.Event)
    """All text is said to be there."""


def run(
    *,
    profile_name: str = "56k",
    page: Path | None = None,
    plot: Path | None = None,
    samples: Sequence[str] = SAMPLES,
) -> dict[str, Any]:
    """Measure. `page`: a document; else small samples. `plot`: where the film strip goes."""
    office, link = find(), profile(profile_name)
    if shutil.which("Xvfb") is None:
        raise OSError("no Xvfb on this machine (apt-get install xvfb)")
    documents = [page] if page is not None else [DOCUMENTS / name for name in samples]
    rows: list[dict[str, Any]] = []
    checks: dict[str, Check] = {}
    for document in documents:
        digest = hashlib.sha256(document.read_bytes()).digest()
        plain = asyncio.run(_plain(document, link, digest))
        with screen() as display:
            ours = asyncio.run(_ours(document, link, office, display, digest))
        rows.append(_row(document, plain, ours))
        print(_line(rows[-1]), flush=True)
        checks |= _checks(document, link, plain, ours)
        if plot is not None:
            _strip(ours).save(plot.with_stem(f"{plot.stem}-{document.stem}"))
    return {
        "runs": rows,
        "checks": checks,
        "notes": ["HATS paper: all text of a deck of 1.05 MB at 56 kbit/s after 68 s (figure 5)."],
    }


def _row(document: Path, plain: float, ours: DocumentLoad) -> dict[str, Any]:
    return {
        "document": document.name,
        "bytes": document.stat().st_size,
        "plain_s": round(plain, 2),
        "started_s": round(ours.started, 2),
        "first_page_s": round(ours.first, 2),
        "text_s": round(ours.text, 2),
        "editable_s": round(ours.editable, 2),
        "coarse_s": round(ours.coarse, 2),
        "file_s": round(ours.whole, 2),
        "complete_s": round(ours.complete, 2),
        "pictures": ours.pictures,
    }


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['document']}, {row['bytes'] / 1000:.0f} kB: LibreOffice there {row['started_s']} s,"
        f" first page {row['first_page_s']} s, all text {row['text_s']} s,"
        f" {row['pictures']} pictures coarse {row['coarse_s']} s,"
        f" file {row['file_s']} s, in the window {row['complete_s']} s;"
        f" plain download {row['plain_s']} s"
    )


def _checks(document: Path, link: Profile, plain: float, ours: DocumentLoad) -> dict[str, Check]:
    name, size = document.name, document.stat().st_size
    share = ours.whole / plain
    found = {
        f"{name}: the file, against a plain download": Check(
            round(share, 3), "times", f"at most {WHOLE}", share <= WHOLE
        ),
        f"{name}: the file is the origin's": Check(
            "yes" if ours.identical else "no", "", "yes", ours.identical
        ),
    }
    if ours.read is not None:
        found[f"{name}: the words in the window are the complete document's"] = Check(
            "yes" if ours.read else "no", "", "yes", ours.read
        )
    if MEGABYTE[0] <= size <= MEGABYTE[1] and link.name == "56k":
        for what, at, goal in (("first page", ours.first, FIRST), ("all text", ours.text, TEXT)):
            found[f"{name}: {what} readable"] = Check(
                round(at, 2), "s", f"at most {goal}", at <= goal
            )
    return found


async def _plain(document: Path, link: Profile, digest: bytes) -> float:
    """Seconds of a download over the bare link."""
    clock = asyncio.get_running_loop().time
    async with in_world(DirectPeer(), document.parent, link, backend="relay") as endpoint:
        url = f"http://{endpoint.resolve[SITE]}/{quote(document.name)}"
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as session:
            began = clock()
            async with session.get(url, headers={"Host": SITE}) as response:
                data = await response.read()
            taken = clock() - began
    if hashlib.sha256(data).digest() != digest:
        raise OSError(f"the plain download of {document.name} is another file")
    return taken


async def _ours(
    document: Path, link: Profile, office: Office, display: str, digest: bytes
) -> DocumentLoad:
    shown, clock = DocumentLoad(), asyncio.get_running_loop().time
    os.environ["DISPLAY"] = display
    async with in_world(SluicePeer(), document.parent, link, backend="relay") as endpoint:
        proxy = urlsplit(endpoint.proxy or "")
        assert proxy.hostname is not None
        assert proxy.port is not None
        await asyncio.sleep(_SETTLING)
        url, began = endpoint.base + quote(document.name), clock()
        async with (
            _shown(document.name, office, shown, began) as (coming, over, folder),
            following(proxy.hostname, proxy.port, url) as source,
        ):
            if not isinstance(source, FollowedSource):
                raise OSError(f"{document.name} did not come in parts")
            shown.pictures = len(source.outline.media)
            coming.set_result(source)
            reading = asyncio.create_task(_reading(source, office, folder, shown, over))
            try:
                await _watched(source, over, display, shown, began)
                await reading
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            found = await asyncio.to_thread(source.path.read_bytes)
            shown.identical = hashlib.sha256(found).digest() == digest
    return shown


@contextlib.asynccontextmanager
async def _shown(
    name: str, office: Office, shown: DocumentLoad, began: float
) -> AsyncIterator[tuple[asyncio.Future[Source | None], asyncio.Event, Path]]:
    """LibreOffice, which starts while the document is asked for, as `sluice open` has it.

    Gives what awaits the document; an event: all of it is in the window, or nothing more comes; and
    the folder of its files.
    """
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    coming: asyncio.Future[Source | None] = loop.create_future()

    def heard(event: Event) -> None:
        _note(event, shown, loop.time() - began)
        if event.kind in (EventKind.COMPLETE, EventKind.FAILED, EventKind.CLOSED):
            over.set()

    with own_folder() as folder:
        showing = asyncio.create_task(
            show_coming(coming, like=name, on_event=heard, office=office, keep=folder)
        )
        showing.add_done_callback(lambda _: over.set())
        try:
            yield coming, over, folder
            if showing.done():
                await showing  # it says why
            if not shown.complete:
                raise OSError(f"{name} was not shown to its end: {shown.failure}")
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)


def _note(event: Event, shown: DocumentLoad, at: float) -> None:
    match event.kind:
        case EventKind.STARTED:
            shown.started = at
        case EventKind.OPENED:
            shown.first = at
        case EventKind.TEXT:
            shown.text = shown.coarse = at
            shown.readable.set()
        case EventKind.EDITABLE:
            shown.editable = at
        case EventKind.COARSE:
            shown.coarse = at
        case EventKind.COMPLETE:
            shown.complete = at
        case EventKind.FAILED | EventKind.CLOSED:
            shown.failure = event.text or "closed"


async def _reading(
    source: FollowedSource, office: Office, folder: Path, shown: DocumentLoad, over: asyncio.Event
) -> None:
    """A person reads what is there when all text is said to be, and once more at the end."""
    if source.outline.kind not in (*_DECKS, *_PROSE):
        return
    await _first_of(shown.readable, over)
    if not shown.text:
        return  # it ended before: who shows it says why
    async with person(office, folder) as does:
        before = await _words(source, does)
        await over.wait()
        if not shown.complete:
            return
        shown.read = before == await _words(source, does) and any(before)


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


async def _words(source: FollowedSource, does: Does) -> list[list[str]]:
    """All of a text; of a deck, on each slide. Shapes without text are none.

    Of a small document the whole file may take its place in the window just then.
    """
    if source.outline.kind in _PROSE:
        return [(await does("patiently", what="prose")).split()]
    slides = range(1, len(source.outline.pages) + 1)
    return [(await does("patiently", what="text_on", page=one)).split() for one in slides]


async def _watched(
    source: FollowedSource, over: asyncio.Event, display: str, shown: DocumentLoad, began: float
) -> None:
    """Until the window has all of it."""
    clock = asyncio.get_running_loop().time

    def came() -> None:
        if source.complete and not shown.whole:
            shown.whole = clock() - began

    unwatch = source.watch(came)
    async with _filmed(display, shown, began), asyncio.timeout(PATIENCE):
        await over.wait()
        await asyncio.sleep(2 * EVERY)
    unwatch()


@contextlib.asynccontextmanager
async def _filmed(display: str, shown: DocumentLoad, began: float) -> AsyncIterator[None]:
    async def film() -> None:
        clock = asyncio.get_running_loop().time
        while True:
            seen = await asyncio.to_thread(ImageGrab.grab, None, False, False, display)
            small = seen.resize(THUMB, Image.Resampling.LANCZOS)
            if not shown.film or shown.film[-1][1].tobytes() != small.tobytes():
                shown.film.append((clock() - began, small))
            await asyncio.sleep(EVERY)

    filming = asyncio.create_task(film())
    try:
        yield
    finally:
        filming.cancel()
        await asyncio.gather(filming, return_exceptions=True)


def _strip(shown: DocumentLoad) -> Image.Image:
    """Some of the film: what is new first, with its times."""
    frames = _spread(shown.film, 3 * COLUMNS)
    rows = -(-len(frames) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (THUMB[0] + 8), rows * (THUMB[1] + 24)), "white")
    draw = ImageDraw.Draw(sheet)
    for index, (at, image) in enumerate(frames):
        x, y = index % COLUMNS * (THUMB[0] + 8), index // COLUMNS * (THUMB[1] + 24)
        draw.text((x + 4, y + 4), f"{at:.1f} s", fill="black")
        sheet.paste(image, (x, y + 20))
    return sheet


def _spread(
    film: Sequence[tuple[float, Image.Image]], count: int
) -> list[tuple[float, Image.Image]]:
    """So many frames at most, the first and the last among them, the beginning denser."""
    if len(film) <= count:
        return list(film)
    last = len(film) - 1
    chosen = sorted({round(last * (index / (count - 1)) ** 2) for index in range(count)})
    return [film[index] for index in chosen]
