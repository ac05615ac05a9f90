"""A real LibreOffice shows documents that are still on their way; a person works in it."""

from __future__ import annotations

import asyncio
import io
import os
import re
import select
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from local_proxy.export_drivers.libreoffice.events import Kind
from local_proxy.export_drivers.libreoffice.find import Office, find
from local_proxy.export_drivers.libreoffice.session import OfficeFailed
from local_proxy.export_drivers.libreoffice.show import show
from office.contents import unpacked
from office.zip_directory import parse
from tests.local_proxy.office_desk import (
    DATA,
    desk,
    difference,
    needs_libreoffice,
    processes,
    screen,
)
from tests.office.fake_source import FakeSource

pytestmark = needs_libreoffice
ROOT = Path(__file__).resolve().parents[2]
SAME = 0.1
"""Of 255: what two exports of the same pages may differ by."""


@pytest.fixture(scope="module")
def display() -> Iterator[str]:
    with screen() as name:
        yield name


@pytest.fixture(autouse=True)
def at_a_desk(display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Sessions live in the test's folder, so whatever is left behind is found."""
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield
    assert not processes(tmp_path)
    assert not list(tmp_path.glob("sluice-open-*"))


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
                await at.until(Kind.OPENED)
                assert (await at.person("state"))["readonly"]
            await at.text_shown()
            assert not (await at.person("state"))["readonly"]
            small = {one.entry: coarse(source, one.entry) for one in media}
            for number, entry in enumerate(filter(small.get, small), 1):
                source.feed_low(entry, small[entry])
                await at.until(Kind.COARSE, number)
            title = (await at.person("state"))["title"]
            assert title == f"{document} (loading: pictures 0/{len(media)})"
            await at.person("pdf", path=str(tmp_path / "coarse.pdf"))
            for number, one in enumerate(reversed(media), 1):
                source.feed([one.entry])
                await at.until(Kind.PICTURE, number)
            state = await at.person("state")
            assert not state["modified"]
            assert not state["undo"]
            await at.person("pdf", path=str(tmp_path / "live.pdf"))
            await at.person(
                "reference", original=str(DATA / document), path=str(tmp_path / "original.pdf")
            )
            source.feed_rest()
            await at.until(Kind.COMPLETE)
            assert (await at.person("state"))["title"] == document
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
            await at.until(Kind.EDITED)
            at.source.feed_pictures()
            await at.until(Kind.PICTURE, len(at.source.outline.media))
            at.source.feed_rest()
            complete = await at.until(Kind.COMPLETE)
            assert await asyncio.to_thread(Path(complete.text).read_bytes) == original
            assert "My own words" in await at.person("text_on", page=2)
            assert len((await at.person("state"))["undo"]) == 1
            assert await at.person("pictures_on", page=2) == []
            placed = at.count(Kind.PICTURE)
            await at.person("undo")
            await at.until(Kind.PICTURE, placed + 1)
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
            await at.until(Kind.EDITED)
            at.source.feed_rest()
            await at.until(Kind.COMPLETE)
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
            while (await at.until(Kind.PAGE, at.count(Kind.PAGE))).page != 9:
                await at.until(Kind.PAGE, at.count(Kind.PAGE) + 1)
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
                await at.until(Kind.PAGE, at.count(Kind.PAGE) + 1)
            assert first in at.source.focused[-1][1]
            assert last not in at.source.focused[-1][1]
            await at.person("read_to_the_end")
            while last not in at.source.focused[-1][1]:
                await at.until(Kind.PAGE, at.count(Kind.PAGE) + 1)
            assert first not in at.source.focused[-1][1]
            await at.close()

    asyncio.run(scenario())


def test_a_slide_show_is_not_disturbed(tmp_path: Path) -> None:
    """Its pictures get better; the document is replaced when it is over."""

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            at.source.feed_page(1)
            await at.until(Kind.OPENED)
            await at.person("present")
            at.source.feed_texts()
            at.source.feed([at.source.outline.media[0].entry])
            await at.until(Kind.PICTURE)
            assert at.count(Kind.EDITABLE) == 0
            await at.person("end_presenting")
            await at.until(Kind.EDITABLE)
            await at.close()

    asyncio.run(scenario())


def test_all_slides_can_be_read_before_their_notes_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("local_proxy.export_drivers.libreoffice.show._WAITED_FOR", 0)

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            for page in range(1, len(at.source.outline.pages) + 1):
                at.source.feed_page(page)
            await at.until(Kind.TEXT)
            assert at.count(Kind.EDITABLE) == 0
            assert (await at.person("state"))["readonly"]
            await at.text_shown()
            assert not (await at.person("state"))["readonly"]
            assert at.count(Kind.TEXT) == 1
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
            held = await at.until(Kind.HELD)
            assert held.text == ".uno:SaveAs"
            assert not saved.exists()
            assert len(at.source.focused[-1][1]) == len(at.source.outline.media)
            at.source.feed_rest()
            await at.until(Kind.STORED)
            await at.person("reference", original=str(saved), path=str(tmp_path / "saved.pdf"))
            converted = tmp_path / "converted.odp"
            deck = str(DATA / "deck_pictures.pptx")
            await at.person("convert", original=deck, to=str(converted), kind="impress8")
            pdf = str(tmp_path / "original.pdf")
            await at.person("reference", original=str(converted), path=pdf)
            await at.close()

    asyncio.run(scenario())
    assert difference(tmp_path / "saved.pdf", tmp_path / "original.pdf") <= SAME


def test_the_rest_does_not_come(tmp_path: Path) -> None:
    """What is here stays, and what waited is done."""
    saved = tmp_path / "saved.odp"

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person(
                "dispatch", command=".uno:SaveAs", URL=saved.as_uri(), FilterName="impress8"
            )
            await at.until(Kind.HELD)
            at.source.fail("The server has another version now.")
            assert (await at.until(Kind.FAILED)).text == "The server has another version now."
            await at.until(Kind.STORED)
            await at.close()

    asyncio.run(scenario())
    assert saved.exists()


def test_a_file_that_was_saved_coarse_is_said_to_be(tmp_path: Path) -> None:
    """Programs can go round the commands that wait; so does the question at closing."""

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("save_as", path=str(tmp_path / "mine.odp"), kind="impress8")
            await at.until(Kind.STORED)
            await at.close()
            assert "before all of its pictures were here" in at.events[-1].text

    asyncio.run(scenario())


def test_a_program_that_does_not_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        source = FakeSource(DATA / "deck_pictures.pptx", tmp_path / "sparse")
        office = Office("/no/soffice", find().python)
        with pytest.raises(OfficeFailed, match="/no/soffice: No such file"):
            await show(source, on_event=lambda _: None, office=office)

    asyncio.run(scenario())


@pytest.mark.parametrize("victim", ["soffice.bin", "helper"])
def test_killed_while_it_loads(victim: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            at.source.feed_page(1)
            await at.until(Kind.OPENED)
            for pid, line in processes(tmp_path).items():
                if victim in line.split(" -")[0] or f"-m {victim}" in line:
                    os.kill(pid, signal.SIGKILL)
            with pytest.raises(OfficeFailed, match="ended"):
                async with asyncio.timeout(20):
                    await at.showing

    asyncio.run(scenario())


def test_cancelled_while_it_loads(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            at.source.feed_page(1)
            await at.until(Kind.OPENED)

    asyncio.run(scenario())


def test_what_was_edited_outlives_the_proxy(tmp_path: Path) -> None:
    """A person closes the window himself; then nothing is left."""

    async def scenario() -> None:
        async with desk("deck_pictures.pptx", tmp_path) as at:
            await at.text_shown()
            await at.person("type_on", page=2, text="My own words")
            await at.until(Kind.EDITED)
            at.showing.cancel()
            assert "My own words" in await at.person("text_on", page=2)
            await at.person("close")
            await asyncio.gather(at.showing, return_exceptions=True)
            assert at.showing.cancelled()

    asyncio.run(scenario())


SHOWS_ONE_PAGE = """
import asyncio, sys
from pathlib import Path
from local_proxy.export_drivers.libreoffice.show import show
from tests.office.fake_source import FakeSource

async def main():
    source = FakeSource(Path(sys.argv[1]), Path(sys.argv[2]) / "sparse")
    source.feed_page(1)
    await show(source, on_event=lambda event: print(event.kind, flush=True))

asyncio.run(main())
"""


def test_the_proxy_is_killed(tmp_path: Path) -> None:
    """The helper ends LibreOffice, and clears up."""
    proxy = subprocess.Popen(
        [sys.executable, "-c", SHOWS_ONE_PAGE, str(DATA / "deck_pictures.pptx"), str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)},
    )
    assert proxy.stdout is not None
    with proxy.stdout:
        for line in proxy.stdout:
            if line == b"opened\n":
                break
        others = [os.pidfd_open(pid) for pid in processes(tmp_path) if pid != proxy.pid]
        proxy.kill()
        proxy.wait()
    assert len(others) >= 2
    for other in others:
        ended, _, _ = select.select([other], [], [], 20)
        os.close(other)
        assert ended


def test_links_are_not_fetched_around_the_proxy(tmp_path: Path) -> None:
    """Neither those of pictures, nor when the whole document is opened."""

    async def scenario() -> int:
        asked = 0

        def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal asked
            asked += 1
            writer.close()

        async with await asyncio.start_server(count, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            linked = tmp_path / "linked.odt"
            link_pictures(DATA / "text_pictures.odt", linked, f"http://127.0.0.1:{port}/a.png")
            async with desk("linked.odt", tmp_path, data=tmp_path) as at:
                at.source.feed_rest()
                await at.until(Kind.COMPLETE)
                await at.person("pdf", path=str(tmp_path / "linked.pdf"))
                await at.close()
        return asked

    assert asyncio.run(scenario()) == 0


def test_a_picture_that_nobody_can_read(tmp_path: Path) -> None:
    """The rest of the document is none the worse."""
    damaged = tmp_path / "damaged.pptx"
    with (
        zipfile.ZipFile(DATA / "deck_pictures.pptx") as original,
        zipfile.ZipFile(damaged, "w") as archive,
    ):
        for name in original.namelist():
            archive.writestr(name, b"?" if name.endswith("image3.png") else original.read(name))

    async def scenario() -> None:
        async with desk("damaged.pptx", tmp_path, data=tmp_path) as at:
            await at.text_shown()
            at.source.feed_rest()
            await at.until(Kind.COMPLETE)
            assert await at.person("pictures_on", page=1) == [[360, 240]]
            assert not (await at.person("state"))["modified"]
            await at.close()

    asyncio.run(scenario())


def link_pictures(document: Path, to: Path, url: str) -> None:
    """The same document, whose pictures are elsewhere."""
    with zipfile.ZipFile(document) as original, zipfile.ZipFile(to, "w") as linked:
        for name in original.namelist():
            data = original.read(name)
            if name == "content.xml":
                data, links = re.subn(
                    rb'xlink:href="Pictures/[^"]*"', b'xlink:href="%b"' % url.encode(), data
                )
                assert links
            linked.writestr(name, data)
