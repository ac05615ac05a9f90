"""A real LibreOffice shows documents that are still on their way; a person works in it."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import pytest
from PIL import Image

from local_proxy.export_drivers.libreoffice.events import EventKind
from office.contents import unpacked
from office.zip_directory import parse
from tests.local_proxy.office_desk import (
    DATA,
    desk,
    difference,
    needs_libreoffice,
)
from tests.office.fake_source import FakeSource

pytestmark = [needs_libreoffice, pytest.mark.usefixtures("at_a_desk")]
ROOT = Path(__file__).resolve().parents[2]
SAME = 0.1
"""Of 255: what two exports of the same pages may differ by."""


def coarse(source: FakeSource, entry: str) -> bytes:
    """As a transcoder makes it: smaller, and of another kind; of a drawing nothing."""
    if entry.endswith(".svm"):
        return b""
    with Image.open(io.BytesIO(source.content(entry))) as image:
        small = image.convert("RGBA" if image.mode in ("P", "RGBA") else "RGB")
    small.thumbnail((48, 48))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=40)
    return file.getvalue()


@pytest.mark.parametrize(
    "document",
    [
        "deck_pictures.pptx",
        "deck_pictures.odp",
        "text_pictures.docx",
        "text_pictures.odt",
        "sheet_pictures.xlsx",
    ],
)
def test_pictures_get_better_where_they_are_shown(document: str, tmp_path: Path) -> None:
    """After the last one the document is the original's, though it was never loaded again."""

    async def scenario() -> None:
        async with desk(document, tmp_path) as at:
            source, media = at.source, at.source.outline.media
            source.feed_page(1)
            if source.outline.texts or any(page.entries for page in source.outline.pages[1:]):
                await at.until(EventKind.OPENED)
                assert (await at.person("state"))["readonly"]
            await at.text_shown()
            assert not (await at.person("state"))["readonly"]
            small = {one.entry: coarse(source, one.entry) for one in media}
            for number, entry in enumerate(filter(small.get, small), 1):
                source.feed_low(entry, small[entry])
                await at.until(EventKind.COARSE, number)
            title = (await at.person("state"))["title"]
            assert title == f"{document} (loading: pictures 0/{len(media)})"
            await at.person("pdf", path=str(tmp_path / "coarse.pdf"))
            for number, one in enumerate(reversed(media), 1):
                source.feed([one.entry])
                await at.until(EventKind.PICTURE, number)
            state = await at.person("state")
            assert not state["modified"]
            assert not state["undo"]
            await at.person("pdf", path=str(tmp_path / "live.pdf"))
            await at.person(
                "reference", original=str(DATA / document), path=str(tmp_path / "original.pdf")
            )
            source.feed_rest()
            await at.until(EventKind.COMPLETE)
            assert (await at.person("state"))["title"] == document
            assert at.events[0].kind is EventKind.STARTED
            await at.close()

    asyncio.run(scenario())
    assert SAME < difference(tmp_path / "coarse.pdf", tmp_path / "original.pdf") < 30
    assert difference(tmp_path / "live.pdf", tmp_path / "original.pdf") <= SAME


def test_edits_survive_what_comes_later(tmp_path: Path) -> None:
    original = (DATA / "deck_pictures.pptx").read_bytes()

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("type_on", page=2, text="My own words")
            await at.person("delete_pictures_on", page=2)
            await at.until(EventKind.EDITED)
            at.source.feed_pictures()
            await at.until(EventKind.PICTURE, len(at.source.outline.media))
            at.source.feed_rest()
            complete = await at.until(EventKind.COMPLETE)
            assert await asyncio.to_thread(Path(complete.text).read_bytes) == original
            assert "My own words" in await at.person("text_on", page=2)
            assert len((await at.person("state"))["undo"]) == 1
            assert await at.person("pictures_on", page=2) == []
            placed = at.count(EventKind.PICTURE)
            await at.person("undo")
            await at.until(EventKind.PICTURE, placed + 1)
            assert await at.person("pictures_on", page=2) == [[240, 160]]
            assert "My own words" in await at.person("text_on", page=2)
            await at.person(
                "save_as",
                path=str(tmp_path / "mine.pptx"),
                kind="Impress MS PowerPoint 2007 XML",
            )
            await at.close()

    asyncio.run(scenario())
    raw = (tmp_path / "mine.pptx").read_bytes()
    saved = parse(raw, length=len(raw))
    slide = saved.by_name["ppt/slides/slide2.xml"]
    assert b"My own words" in unpacked(slide, raw[slide.start : slide.end])
    sizes = {
        Image.open(io.BytesIO(unpacked(entry, raw[entry.start : entry.end]))).size
        for entry in saved.entries
        if entry.name.startswith("ppt/media/")
    }
    assert (32, 32) not in sizes


def test_copies_of_coarse_pictures_get_better_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("copy_slide", page=1)
            await at.until(EventKind.EDITED)
            at.source.feed_rest()
            await at.until(EventKind.COMPLETE)
            first, copy = (
                await at.person("pictures_on", page=1),
                await at.person("pictures_on", page=2),
            )
            assert first == copy == [[360, 240]]
            await at.close()

    asyncio.run(scenario())


def test_the_slide_in_view_comes_next(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("go", page=9)
            while (await at.until(EventKind.PAGE, at.count(EventKind.PAGE))).page != 9:
                await at.until(EventKind.PAGE, at.count(EventKind.PAGE) + 1)
            page, visible = at.source.focused[-1]
            assert page == 9
            on_nine = [m.entry for m in at.source.outline.media if 9 in m.pages]
            assert list(visible) == on_nine != []
            await at.close()

    asyncio.run(scenario())


def test_the_pictures_on_the_screen_of_a_text_come_next(tmp_path: Path) -> None:
    """Its pages are known to nobody before it is laid out."""

    async def scenario() -> None:
        async with desk("text_pictures.docx", tmp_path) as at:
            await at.text_shown()
            first, *_, last = (media.entry for media in at.source.outline.media)
            while not at.source.focused[-1][1]:
                await at.until(EventKind.PAGE, at.count(EventKind.PAGE) + 1)
            assert first in at.source.focused[-1][1]
            assert last not in at.source.focused[-1][1]
            await at.person("read_to_the_end")
            while last not in at.source.focused[-1][1]:
                await at.until(EventKind.PAGE, at.count(EventKind.PAGE) + 1)
            assert first not in at.source.focused[-1][1]
            await at.close()

    asyncio.run(scenario())


def test_a_slide_show_is_not_disturbed(tmp_path: Path) -> None:
    """Its pictures get better; the document is replaced when it is over."""

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            at.source.feed_page(1)
            await at.until(EventKind.OPENED)
            await at.person("present")
            at.source.feed_texts()
            at.source.feed([at.source.outline.media[0].entry])
            await at.until(EventKind.PICTURE)
            assert at.count(EventKind.EDITABLE) == 0
            await at.person("end_presenting")
            await at.until(EventKind.EDITABLE)
            await at.close()

    asyncio.run(scenario())


def test_all_slides_can_be_read_before_their_notes_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_proxy.export_drivers.libreoffice.show.WAITED_FOR", 0)

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            for page in range(1, len(at.source.outline.pages) + 1):
                at.source.feed_page(page)
            await at.until(EventKind.TEXT)
            assert at.count(EventKind.EDITABLE) == 0
            assert (await at.person("state"))["readonly"]
            await at.text_shown()
            assert not (await at.person("state"))["readonly"]
            assert at.count(EventKind.TEXT) == 1
            await at.close()

    asyncio.run(scenario())


def test_saving_waits_for_all_pictures(tmp_path: Path) -> None:
    saved = tmp_path / "saved.odp"

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person(
                "dispatch", command=".uno:SaveAs", URL=saved.as_uri(), FilterName="impress8"
            )
            held = await at.until(EventKind.HELD)
            assert held.text == ".uno:SaveAs"
            assert not saved.exists()
            assert len(at.source.focused[-1][1]) == len(at.source.outline.media)
            at.source.feed_rest()
            await at.until(EventKind.STORED)
            await at.person("reference", original=str(saved), path=str(tmp_path / "saved.pdf"))
            converted = tmp_path / "converted.odp"
            deck = str(DATA / "deck_pictures.pptx")
            await at.person("convert", original=deck, to=str(converted), kind="impress8")
            pdf = str(tmp_path / "original.pdf")
            await at.person("reference", original=str(converted), path=pdf)
            await at.close()

    asyncio.run(scenario())
    assert difference(tmp_path / "saved.pdf", tmp_path / "original.pdf") <= SAME
