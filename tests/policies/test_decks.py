"""Policies for documents of office programs, on a real tree in virtual time."""

from __future__ import annotations

from policies.api import (
    DocumentOpened,
    Kind,
    Policy,
    Raise,
    Rule,
    ScrolledInView,
    SessionOpened,
    SetPlan,
    SkeletonGrew,
)
from policies.builtin.decks import DeckCurrentSlide, DeckInOrder, DeckInView, DeckText
from policies.builtin.default import Default
from policies.host.loader import load
from policies.testing import replay
from policies.testing.simulation import Item, Outcome, SimulatedPage, simulate
from wire.skeleton import Part, Use

MODEM = 7_000.0
TEXTS = (Item(2, 6_000, Kind.TEXT), Item(4, 1_000, Kind.TEXT), Item(6, 1_000, Kind.TEXT))
PICTURES = tuple(Item(8 + 2 * n, 42_000) for n in range(4))
DECK = SimulatedPage(1, (*TEXTS, *PICTURES), package=True)
PAGE = SimulatedPage(101, tuple(Item(102 + 2 * n, 20_000) for n in range(3)))


def shown(*policies: Policy, events: list[tuple[float, ScrolledInView]] | None = None) -> Outcome:
    return simulate([Default(), *policies], [DECK, PAGE], rate=MODEM, events=events or [])


def ends(outcome: Outcome) -> list[int]:
    """The deck's pictures in the order in which they are whole."""
    whole = [(done, one.component) for one in PICTURES
             if (done := outcome.components[one.component].complete) is not None]  # fmt: skip
    return [component for _, component in sorted(whole)]


def test_text_only_brings_no_picture_of_a_deck_and_all_of_pages() -> None:
    outcome = shown(DeckText())
    assert outcome.reached(TEXTS) is not None
    assert outcome.reached(PAGE.items) is not None
    assert not any(outcome.components[one.component].levels for one in PICTURES)


def test_in_order_each_picture_is_whole_before_the_next() -> None:
    outcome = shown(DeckInOrder())
    assert ends(outcome) == [8, 10, 12, 14]
    first, second = (outcome.components[one.component] for one in PICTURES[:2])
    assert first.complete is not None
    assert first.complete < second.levels["low"]
    coarse_first = shown().components[8].complete
    assert coarse_first is not None
    assert first.complete < coarse_first


def test_in_view_goes_before_all_others() -> None:
    outcome = shown(DeckInView(), events=[(2.0, ScrolledInView(1, (12,)))])
    assert ends(outcome)[0] == 12
    both = [(2.0, ScrolledInView(1, (12,))), (4.0, ScrolledInView(1, (14,)))]
    assert ends(shown(DeckInView(), events=both))[0] == 14


def test_the_current_slide_is_fine_and_all_others_coarse() -> None:
    outcome = shown(DeckCurrentSlide(), events=[(2.0, ScrolledInView(1, (10, 12)))])
    assert set(ends(outcome)) == {10, 12}
    for one in PICTURES:
        assert "low" in outcome.components[one.component].levels
    assert outcome.reached(PAGE.items) is not None
    more = [(2.0, ScrolledInView(1, (10,))), (60.0, ScrolledInView(1, (14,)))]
    assert set(ends(shown(DeckCurrentSlide(), events=more))) == {10, 14}


def test_a_deck_that_a_browser_shows_is_told_by_its_parts() -> None:
    url = "http://example.org/deck.pptx"
    deck = [Part(3, f"{url}#3", Kind.IMAGE, Use.ELEMENT, 1)]
    page = [Part(13, "http://example.org/a.png", Kind.IMAGE, Use.ELEMENT, 1)]
    answers = replay(
        DeckText(),
        [
            (0.0, SessionOpened()),
            (1.0, DocumentOpened(1, url)),
            (1.0, DocumentOpened(11, "http://example.org/")),
            (2.0, SkeletonGrew(11, tuple(page))),
            (3.0, SkeletonGrew(1, tuple(deck))),
        ],
    ).answers
    plans = [command for _, _, command in answers if isinstance(command, SetPlan)]
    assert plans == [
        SetPlan(
            (
                Rule(kind=Kind.IMAGE, document=1, level="none"),
                Rule(kind=Kind.MEDIA, document=1, level="none"),
            )
        )
    ]


def test_what_is_out_of_view_goes_back_to_its_place() -> None:
    url = "http://example.org/deck.pptx"
    parts = tuple(Part(n, f"{url}#{n}", Kind.IMAGE, Use.ELEMENT, n) for n in (3, 5))
    answers = replay(
        DeckInView(),
        [
            (1.0, DocumentOpened(1, url)),
            (2.0, SkeletonGrew(1, parts)),
            (3.0, ScrolledInView(1, (3,))),
            (4.0, ScrolledInView(1, (5,))),
        ],
    ).answers
    raised = [command for _, _, command in answers]
    assert raised == [Raise(3, 1), Raise(3, 0), Raise(5, 1)]


def test_they_are_found_by_name() -> None:
    for name in ("deck_text", "deck_in_order", "deck_in_view", "deck_current_slide"):
        assert load(name).name == name
