"""Tests of following a person through a document: which pictures are wanted, and what is said."""

from __future__ import annotations

from typing import cast

from local_proxy.tracking_drivers.libreoffice import OfficeTracker
from office.outline import DocumentKind, Media, Outline, OutlinePage
from office.source import Source

OUTLINE = Outline(
    DocumentKind.PPTX,
    (OutlinePage(()), OutlinePage(()), OutlinePage(())),
    (Media("a", (1,)), Media("b", (2,)), Media("c", (2, 3)), Media("d", ())),
)


class Told:
    """A document's source that remembers what it was told."""

    def __init__(self) -> None:
        self.outline = OUTLINE
        self.heard: list[tuple[int, tuple[str, ...]]] = []

    def focus(self, page: int, wanted: tuple[str, ...]) -> None:
        """A person is at this page, and these entries are to come first."""
        self.heard.append((page, wanted))


def tracked() -> tuple[Told, OfficeTracker]:
    told = Told()
    return told, OfficeTracker(cast(Source, told))


def test_the_pictures_of_the_page_are_wanted() -> None:
    told, tracker = tracked()
    tracker.page(2)
    tracker.page(3)
    assert told.heard == [(2, ("b", "c")), (3, ("c",))]


def test_nothing_is_said_twice() -> None:
    told, tracker = tracked()
    for _ in range(3):
        tracker.page(2)
    tracker.front(True)
    assert told.heard == [(2, ("b", "c"))]


def test_where_the_screen_is_known_its_pictures_count_and_no_page_s() -> None:
    told, tracker = tracked()
    tracker.page(1, ("d", "c"))
    assert told.heard == [(1, ("d", "c"))]


def test_a_picture_is_also_wanted_where_it_was_found_to_be_shown() -> None:
    """A master's picture stands in the outline with no page, or with another."""
    told, tracker = tracked()
    tracker.page(1)
    tracker.places({"d": (1, 3)})
    tracker.page(2)
    assert told.heard == [(1, ("a",)), (1, ("a", "d")), (2, ("b", "c"))]


def test_who_waits_for_all_gets_those_of_the_page_first() -> None:
    told, tracker = tracked()
    tracker.page(2)
    tracker.all_wanted()
    assert told.heard[-1] == (2, ("b", "c", "a", "d"))


def test_a_window_behind_others_has_its_turn_when_it_comes_forward() -> None:
    told, tracker = tracked()
    tracker.page(1)
    tracker.front(False)
    tracker.page(3)
    assert told.heard == [(1, ("a",))]
    tracker.front(True)
    assert told.heard[-1] == (3, ("c",))
    tracker.front(False)
    tracker.front(True)
    assert told.heard[-1] == (3, ("c",)) and len(told.heard) == 3, "another window was in front"
