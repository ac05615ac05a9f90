"""Decisions about a document on its way, without LibreOffice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from local_proxy.commands.office_suite import line, suite
from local_proxy.export_drivers.libreoffice import originals
from local_proxy.export_drivers.libreoffice.events import Event, EventKind
from local_proxy.export_drivers.libreoffice.files import Files
from local_proxy.export_drivers.libreoffice.find import NoOffice, find
from local_proxy.export_drivers.libreoffice.pictures import Next, Pictures
from local_proxy.tracking_drivers.libreoffice import OfficeTracker
from office.partial_view import survey
from office.source import Source
from tests.office.fake_source import FakeSource

DATA = Path(__file__).parents[1] / "data" / "office"
DECK = DATA / "deck_pictures.pptx"


@pytest.fixture
def source(tmp_path: Path) -> FakeSource:
    return FakeSource(DECK, tmp_path / "sparse")


def opened(source: FakeSource) -> Pictures:
    """All stand-ins are where the outline says."""
    pictures = Pictures(source)
    marks = survey(source.directory, source.outline, source.present).marks
    media = source.outline.media
    pictures.opened(marks, {str(n): media[n - 1].pages for n in marks})
    return pictures


def test_the_page_in_view_comes_before_others_and_coarse_before_fine(source: FakeSource) -> None:
    pictures = opened(source)
    assert (pictures.next(()), pictures.done, pictures.of, pictures.unsure) == (None, 0, 8, False)
    first, last = source.outline.media[0].entry, source.outline.media[7].entry
    source.feed([first])
    source.feed_low(last, b"coarse")
    assert pictures.next(()) == Next(8, final=False)
    assert pictures.next((first,)) == Next(1, final=True)
    pictures.shown(8, final=False)
    assert pictures.next(()) == Next(1, final=True)
    pictures.shown(1, final=True)
    assert (pictures.next(()), pictures.done) == (None, 1)


def test_what_can_not_be_shown_needs_the_whole_file(source: FakeSource) -> None:
    pictures = opened(source)
    pictures.lost(3, final=False)
    assert not pictures.unsure
    pictures.lost(3)
    assert pictures.unsure
    elsewhere = Pictures(source)
    marks = survey(source.directory, source.outline, source.present).marks
    elsewhere.opened(marks, {"1": [1]})
    assert elsewhere.unsure, "seven pictures of slides were not found"
    elsewhere.opened(marks, {str(n): [1] for n in marks})
    assert not elsewhere.unsure, "the next view has them all"


def test_the_source_hears_of_the_page_once(source: FakeSource) -> None:
    tracker = OfficeTracker(source)
    on_nine = [media.entry for media in source.outline.media if 9 in media.pages]
    tracker.page(9)
    tracker.page(9)
    assert source.focused == [(9, tuple(on_nine))]
    tracker.front(False)
    tracker.page(1)
    assert len(source.focused) == 1, "behind other windows"
    tracker.front(True)
    assert source.focused[-1][0] == 1
    tracker.all_wanted()
    assert set(source.focused[-1][1]) == {media.entry for media in source.outline.media}


def test_originals_are_kept_in_nobodys_place(source: FakeSource, tmp_path: Path) -> None:
    source.feed_rest()
    kept = [originals.keep(source, tmp_path) for _ in range(2)]
    assert [path.name for path in kept] == [
        "deck_pictures (original).pptx",
        "deck_pictures (original 2).pptx",
    ]
    assert all(path.read_bytes() == DECK.read_bytes() for path in kept)


def test_a_name_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    source = FakeSource(DECK, tmp_path / "sparse")
    source.name = "../../up.pptx"
    source.feed_rest()
    (tmp_path / "session").mkdir()
    path = asyncio.run(Files(source, tmp_path / "session").view())
    assert path == tmp_path / "session" / "1" / "up.pptx"
    assert path.read_bytes() == DECK.read_bytes()


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(NoOffice, match="no-such-program"):
        find("no-such-program")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("local_proxy.export_drivers.libreoffice.find.FOLDERS", ())
    said: list[str] = []
    opening = suite(said.append)
    assert opening is not None

    async def opened() -> None:
        coming: asyncio.Future[Source | None] = asyncio.get_running_loop().create_future()
        coming.set_result(None)
        await opening(coming, like="deck.pptx")

    asyncio.run(opened())
    assert "apt-get install libreoffice" in said[0]
    monkeypatch.delenv("DISPLAY")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert suite(said.append) is None
    assert "no screen" in said[1]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event(EventKind.HELD, 1.0, text=".uno:SaveAs"), "SaveAs waits for the pictures"),
        (Event(EventKind.COMPLETE, 1.0), "the window shows the whole document"),
        (Event(EventKind.PICTURE, 1.0), ""),
        (Event(EventKind.FAILED, 1.0, text="gone"), "gone"),
    ],
)
def test_lines_for_a_terminal(event: Event, text: str) -> None:
    assert line(event) == text
