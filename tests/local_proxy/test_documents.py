"""Which document a request belongs to, by whatever its Referer says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_proxy.requests.open_documents import MAX_DOCUMENTS, UNSEEN, Documents
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


def ids(documents: Documents) -> list[int]:
    return [document.id for document in documents]


def test_what_nobody_has_looked_at_for_an_hour_is_let_go() -> None:
    documents = opened("http://a/", "http://b/", "http://c/", "http://d/", "http://e/")
    documents.shown(3, True, now=1.0)  # read ever since
    documents.shown(5, True, now=1.0)
    documents.shown(5, False, now=2.0)
    documents.looked_at(5, now=UNSEEN)  # a hidden tab that loads something is not looked at
    documents.looked_at(7, now=UNSEEN)  # without tracking, who loads something may be
    gone = documents.open(11, "http://f/", now=UNSEEN + 1.0)
    assert [document.id for document in gone] == [1, 9]
    assert ids(documents) == [3, 5, 7, 11]
    gone = documents.open(13, "http://g/", now=UNSEEN + 2.0)
    assert [document.id for document in gone] == [5]
    assert documents.of("http://c/") == UNATTRIBUTED
    assert documents.of("http://b/") == 3
    documents.shown(3, False, now=UNSEEN + 3.0)
    gone = documents.open(15, "http://h/", now=2 * UNSEEN + 2.5)
    assert [document.id for document in gone] == [7, 11, 13]
    assert ids(documents) == [3, 15]


def test_a_page_that_was_let_go_is_known_until_it_is_opened_again() -> None:
    documents = opened("http://a/one", "http://a/two")
    documents.open(5, "http://b/", now=UNSEEN)
    gone = documents.let_go("http://a/one#part")
    assert gone is not None
    assert gone.id == 1
    assert documents.let_go("http://[") is None
    documents.open(7, "http://a/one", now=UNSEEN)
    assert documents.let_go("http://a/one") is None
    documents.close(5)
    assert documents.let_go("http://b/") is None  # its window is gone


def test_the_page_that_is_read_is_not_the_one_to_make_room() -> None:
    documents = opened(*(f"http://a/{number}" for number in range(MAX_DOCUMENTS)))
    documents.shown(1, True, now=0.5)
    gone = documents.open(9999, "http://b/", now=1.0)
    assert [document.id for document in gone] == [3]
    assert documents.of("http://a/0") == 1


def test_what_is_closed_leaves_nothing_behind() -> None:
    documents = opened("http://a/", "http://a/", "http://b/")
    for number in (1, 3, 5):
        documents.shown(number, True, now=1.0)
        documents.close(number)
        documents.shown(number, True, now=1.0)
        documents.looked_at(number, now=1.0)
    assert len(documents) == 0
    for referer in ("http://a/", "http://a/other", "http://b/"):
        assert documents.of(referer) == UNATTRIBUTED
    documents.open(1, "http://a/", now=2.0)  # on the screen before, and nobody has said so again
    gone = documents.open(7, "http://c/", now=UNSEEN + 2.0)
    assert [document.id for document in gone] == [1]
