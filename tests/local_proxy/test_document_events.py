"""Tests of who hears that a document's window is gone."""

from __future__ import annotations

from local_proxy.requests.document_events import DocumentEvents


def test_all_hear_of_it_in_the_order_in_which_they_asked() -> None:
    heard: list[tuple[str, int]] = []
    events = DocumentEvents()
    events.on_close(lambda document: heard.append(("first", document)))
    events.on_close(
        lambda document: heard.append(("second", document)),
        lambda document: heard.append(("third", document)),
    )
    events.close(7)
    assert heard == [("first", 7), ("second", 7), ("third", 7)]


def test_nobody_need_hear() -> None:
    DocumentEvents().close(1)
