"""The file that is opened while parts are missing: what is in it, whatever has come."""

from __future__ import annotations

import io
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from office import placeholders
from office.partial_view import chunks, survey
from office.zip_directory import parse
from tests.office.fake_source import FakeSource

DATA = Path(__file__).parents[1] / "data" / "office"
KINDS = (".pptx", ".docx", ".xlsx", ".odp", ".odt", ".ods")
DOCUMENTS = sorted(path.name for path in DATA.iterdir() if path.suffix in KINDS)


def view(source: FakeSource) -> bytes:
    with source.path.open("rb") as file:

        def read(start: int, end: int) -> bytes:
            file.seek(start)
            return file.read(end - start)

        return b"".join(chunks(source.directory, source.outline, source.present, read))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_name_is_there_and_what_is_here_is_unchanged(document: str, tmp_path: Path) -> None:
    source = FakeSource(DATA / document, tmp_path / "sparse")
    source.feed_page(1)
    seen = survey(source.directory, source.outline, source.present)
    if document.endswith((".odp", ".odt", ".ods")):
        # All of its pages are one text: it is opened once.
        assert (seen.pages > 0) is seen.whole_text
        for number in range(2, len(source.outline.pages) + 1):
            source.feed_page(number)
        seen = survey(source.directory, source.outline, source.present)
        assert seen.whole_text
    assert 1 <= seen.pages <= len(source.outline.pages)
    assert set(seen.marks.values()) == {media.entry for media in source.outline.media}
    made = view(source)
    assert [e.name for e in parse(made, length=len(made)).entries] == [
        e.name for e in source.directory.entries
    ]
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.testzip() is None
        for entry in source.outline.pages[0].entries:
            assert archive.read(entry) == source.content(entry)
        for number, entry in seen.marks.items():
            with Image.open(io.BytesIO(archive.read(entry))) as stand_in:
                colours = stand_in.convert("RGB").getcolors()
            assert colours == [(placeholders.SIDE**2, placeholders.colour(number))]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_complete_view_has_the_contents_of_the_original(document: str, tmp_path: Path) -> None:
    source = FakeSource(DATA / document, tmp_path / "sparse")
    source.feed_rest()
    seen = survey(source.directory, source.outline, source.present)
    assert (seen.whole_text, seen.marks, seen.empty) == (True, {}, ())
    made = view(source)
    end = parse(made, length=len(made)).start
    assert made[:end] == (DATA / document).read_bytes()[: source.directory.start]


def test_later_slides_are_empty_ones_of_the_first_ones_layout(tmp_path: Path) -> None:
    source = FakeSource(DATA / "deck_pictures.pptx", tmp_path / "sparse")
    source.feed_page(1)
    # Here, but of no use before the layout it may want.
    source.feed(["ppt/slides/slide5.xml"])
    with zipfile.ZipFile(io.BytesIO(view(source))) as archive:
        assert archive.read("ppt/slides/slide5.xml") == placeholders.slide()
        relations = archive.read("ppt/slides/_rels/slide5.xml.rels").decode()
    layouts = [e for e in source.outline.pages[0].entries if "/slideLayouts/slide" in e]
    assert f'"../slideLayouts/{layouts[0].rpartition("/")[2]}"' in relations


@given(st.data())
def test_any_parts_in_any_order_make_a_zip(data: st.DataObject) -> None:
    document = data.draw(st.sampled_from(["deck.pptx", "text.odt", "sheets.xlsx"]))
    with tempfile.TemporaryDirectory() as folder:
        source = FakeSource(DATA / document, Path(folder) / "sparse")
        names = [entry.name for entry in source.directory.entries]
        source.feed(data.draw(st.lists(st.sampled_from(names), unique=True)))
        made = view(source)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        assert archive.namelist() == names
        assert archive.testzip() is None


@given(st.integers(0, placeholders.MARKS - 1), st.integers(0, 20000), st.integers(0, 20000))
def test_stand_ins_are_told_apart(mark: int, width: int, height: int) -> None:
    with Image.open(io.BytesIO(placeholders.picture(mark, width=width, height=height))) as image:
        red, green, blue = image.convert("RGB").getpixel((0, 0))  # type: ignore[misc]
    assert (red - 224) << 8 | (green - 224) << 4 | (blue - 224) == mark


@pytest.mark.parametrize("document", ["deck_pictures.odp", "text_pictures.odt"])
def test_before_the_first_of_a_view_there_is_nothing_to_read(document: str, tmp_path: Path) -> None:
    """Texts that there is a view of come last: without them the frame is an empty document."""
    source = FakeSource(DATA / document, tmp_path / "sparse")
    source.hold_back_texts()
    for number in range(1, len(source.outline.pages) + 1):
        source.feed_page(number)
    assert survey(source.directory, source.outline, source.present).pages == 0
    source.feed_view()
    seen = survey(source.directory, source.outline, source.present, source.text)
    assert seen.viewed
    assert seen.pages == len(source.outline.pages)
    source.feed_texts()
    seen = survey(source.directory, source.outline, source.present, source.text)
    assert not seen.viewed
    assert seen.whole_text
