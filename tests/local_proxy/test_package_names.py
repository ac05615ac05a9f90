"""File names of documents: safe, and with a suffix that programs know."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.documents.file_names import MAX_BYTES, MAX_NAME, file_name
from office.outline import DocumentKind

PPTX = DocumentKind.PPTX


@pytest.mark.parametrize(
    ("url", "disposition", "kind", "name"),
    [
        ("http://a.test/x/deck.pptx?q=1", "", PPTX, "deck.pptx"),
        ("http://a.test/deck.PPTM", "", PPTX, "deck.PPTM"),
        ("http://a.test/get?id=7", "", PPTX, "get.pptx"),
        ("http://a.test/", "", None, "document"),
        ("http://a.test/a%2F..%2Fb.odt", "", DocumentKind.ODT, "a_.._b.odt"),
        ("http://a.test/..", "", PPTX, "document.pptx"),
        ("http://a.test/x", 'attachment; filename="../../.ssh/keys"', None, "_.._.ssh_keys"),
        (
            "http://a.test/x",
            "attachment; filename*=UTF-8''fo%C3%A4.docx",
            DocumentKind.DOCX,
            "foä.docx",
        ),
        ("http://a.test/x", "attachment; filename=", PPTX, "x.pptx"),
        ("http://a.test/x.odt", "attachment; filename*=idna''%ff", None, "x.odt"),
        ("http://a.test/x.odt", "attachment; filename*=undefined''a", None, "x.odt"),
        ("http://a.test/x", "inline; filename*=unicode_escape''a%5Cud800b.odt", None, "a_b.odt"),
    ],
)
def test_names(url: str, disposition: str, kind: DocumentKind | None, name: str) -> None:
    headers = [("content-disposition", disposition)] if disposition else []
    assert file_name(url, headers, kind) == name


def test_long_names_keep_their_suffix() -> None:
    name = file_name(f"http://a.test/{'x' * 500}.pptx", [], PPTX)
    assert name.endswith(".pptx")
    assert len(name) <= MAX_NAME


@pytest.mark.parametrize("letter", ["x", "%C3%A4", "%E5%A4%A9", "%F0%9F%9A%A2"])
def test_a_long_name_keeps_its_suffix_and_fits_a_file_system(tmp_path: Path, letter: str) -> None:
    name = file_name(f"http://a.test/{letter * 500}.pptx", [], PPTX)
    assert name.endswith(f"{unquote(letter) * 40}.pptx")
    assert len(name.encode()) <= MAX_BYTES
    (tmp_path / name).touch()


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from([None, *DocumentKind]))
def test_any_name_can_be_a_files(said: str, asked: str, kind: DocumentKind | None) -> None:
    disposition = f"attachment; filename*=utf-8''{quote(said)}"
    name = file_name(f"http://a.test/{quote(asked)}", [("content-disposition", disposition)], kind)
    with TemporaryDirectory() as folder:
        Path(folder, name).touch()
        assert [one.name for one in Path(folder).iterdir()] == [name]
