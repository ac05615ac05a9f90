"""Which document a request belongs to, by whatever its Referer says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.documents import MAX_DOCUMENTS, Documents
from wire.messages import UNATTRIBUTED


def opened(*urls: str) -> Documents:
    documents = Documents()
    for number, url in enumerate(urls):
        documents.open(2 * number + 1, url, now=0.0)
    return documents


@pytest.mark.parametrize(
    ("referer", "document"),
    [
        ("http://a/one", 1),
        ("http://a/two", 5),
        ("http://a/", 5),
        ("http://a/style.css", 5),
        ("http://b/#part", 3),
        ("http://c/", UNATTRIBUTED),
        ("", UNATTRIBUTED),
        ("http://[", UNATTRIBUTED),
    ],
)
def test_the_page_itself_or_the_newest_of_its_origin(referer: str, document: int) -> None:
    assert opened("http://a/one", "http://b/", "http://a/two").of(referer) == document


@given(st.text())
def test_any_referer_is_looked_up(referer: str) -> None:
    assert opened("http://a/").of(referer) in (1, UNATTRIBUTED)


def test_the_oldest_is_forgotten_first() -> None:
    documents = opened(*(f"http://a/{number}" for number in range(MAX_DOCUMENTS)))
    gone = documents.open(9999, "http://b/", now=1.0)
    assert [document.id for document in gone] == [1]
    assert len(documents) == MAX_DOCUMENTS
    assert documents.close(1) is None
