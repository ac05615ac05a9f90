"""File names of documents: safe, and with a suffix that programs know."""

from __future__ import annotations

import pytest

from local_proxy.documents.file_names import MAX_NAME, file_name
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
    ],
)
def test_names(url: str, disposition: str, kind: DocumentKind | None, name: str) -> None:
    headers = [("content-disposition", disposition)] if disposition else []
    assert file_name(url, headers, kind) == name


def test_long_names_keep_their_suffix() -> None:
    name = file_name(f"http://a.test/{'x' * 500}.pptx", [], PPTX)
    assert name.endswith(".pptx")
    assert len(name) <= MAX_NAME
