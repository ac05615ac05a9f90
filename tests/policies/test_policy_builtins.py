"""The built-in policies, by the commands that they send over a recorded session."""

from __future__ import annotations

import pytest

from policies.api import (
    ROOT,
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    FocusChanged,
    Kind,
    PointerOn,
    Progress,
    Raise,
    Rule,
    ScrolledInView,
    SessionOpened,
    SetPlan,
    SetScheduler,
    SetWeight,
    SkeletonGrew,
    Use,
    VisibilityChanged,
)
from policies.builtin.attention import Attention
from policies.builtin.default import Default
from policies.builtin.equal import Equal
from policies.builtin.focus import Focus
from policies.builtin.original import Original
from policies.builtin.save_data import MOST, SaveData
from policies.testing import Player, Replay, replay
from wire.skeleton import Part

BROWSER = ("browser",)
A, B = ("browser", "1"), ("browser", "3")


def picture(component: int, order: int = 0) -> Part:
    return Part(component, f"http://site/{component}.jpg", Kind.IMAGE, Use.ELEMENT, order)


def opened(document: int) -> DocumentOpened:
    return DocumentOpened(document, f"http://site/{document}")


def test_focus_shifts_as_in_figure_7() -> None:
    """Two pages; B comes to the front, later A again: four fifths go along each time."""
    player = Player(Focus())
    player.play(SessionOpened(), now=0.0)
    assert SetWeight(A, 4.0) in player.play(opened(1), now=0.0)
    assert SetWeight(A, 1.0) in player.play(opened(3), now=2.0)
    assert player.result.view.weights == {A: 1.0, B: 4.0, BROWSER: 4.0}
    player.play(FocusChanged(1), now=5.0)
    view = player.result.view
    assert view.weights[A] / (view.weights[A] + view.weights[B]) == pytest.approx(0.8)
    assert view.schedulers[A] == "in_order"
    assert view.schedulers[B] == "low_fidelity_first"


@pytest.mark.parametrize("others", [1, 2, 5])
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_the_front_has_its_share_however_many_are_behind(share: float, others: int) -> None:
    documents = [opened(2 * n + 1) for n in range(others + 1)]
    result = replay(Focus(share=share), [(0.0, SessionOpened()), *((1.0, d) for d in documents)])
    front = result.view.weights["browser", str(2 * others + 1)]
    whole = sum(weight for path, weight in result.view.weights.items() if len(path) == 2)
    assert front / whole == pytest.approx(share)


def test_focus_gives_the_application_in_front_its_share_too() -> None:
    office = DocumentOpened(5, "deck.pptx", "office")
    result = replay(Focus(), [(0, SessionOpened()), (0, opened(1)), (1, office)])
    assert result.view.weights[("office",)] == pytest.approx(4.0)
    assert result.view.weights[BROWSER] == 1.0


def test_focus_with_nothing_in_front_is_fair() -> None:
    result = replay(
        Focus(), [(0, SessionOpened()), (0, opened(1)), (0, opened(3)), (1, FocusChanged(None))]
    )
    assert result.view.weights[A] == result.view.weights[B] == 1.0


@pytest.mark.parametrize("share", [0.0, 1.0, -1, 80])
def test_focus_refuses_a_share_that_is_none(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Focus(share=share)


def test_a_hidden_front_document_gives_way_to_the_one_seen_last() -> None:
    events: list[Event] = [SessionOpened(), opened(1), opened(3), opened(5), FocusChanged(3)]
    player = Player(Focus())
    for event in [*events, VisibilityChanged(3, visible=False)]:
        player.play(event, now=1.0)
    assert player.result.view.front == 5
    player.play(DocumentClosed(5), now=2.0)
    assert player.result.view.front == 1
    player.play(VisibilityChanged(1, visible=False), now=3.0)
    assert player.result.view.front is None


def test_equal_is_puppeteer_without_hats() -> None:
    result = replay(Equal(), [(0, SessionOpened()), (1, opened(1)), (2, opened(3))])
    assert result.sent == [
        (0, SetScheduler(ROOT, "wf2q_plus")),
        (1, SetScheduler(BROWSER, "wf2q_plus")),
        (1, SetScheduler(A, "in_order")),
        (2, SetScheduler(B, "in_order")),
    ]


def test_original_touches_nothing() -> None:
    result = replay(Original(), [(0, SessionOpened())])
    assert result.commands()[0] == SetPlan((Rule(untouched=True),))


def test_default_composes_the_small_ones() -> None:
    result = replay(Default(), [(0, SessionOpened()), (1, opened(1)), (2, opened(3))])
    assert result.commands()[0] == SetScheduler(ROOT, "text_first", {"inner": "wf2q_plus"})
    assert result.view.schedulers == {
        ROOT: "text_first",
        BROWSER: "wf2q_plus",
        A: "low_fidelity_first",
        B: "low_fidelity_first",
    }
    assert result.view.weights[B] == pytest.approx(4.0)
    assert result.refused == []


def test_save_data_limits_the_pictures_of_who_asks_for_it() -> None:
    def rules(*documents: int) -> tuple[Rule, ...]:
        return tuple(
            rule
            for document in documents
            for rule in (
                Rule(
                    kind=Kind.IMAGE,
                    document=document,
                    level="original",
                    similar=0.97,
                    fit_layout=True,
                ),
                Rule(kind=Kind.FONT, document=document, fetch="never"),
            )
        )

    saving = [DocumentOpened(id, "http://site/", save_data=True) for id in (3, 5)]
    events = [SessionOpened(), opened(1), *saving, DocumentClosed(1), DocumentClosed(3)]
    result = replay(SaveData(), list(enumerate(events)))
    assert result.sent == [
        (2, SetPlan(rules(3))),
        (3, SetPlan(rules(3, 5))),
        (5, SetPlan(rules(5))),
    ]


def plans(result: Replay) -> list[SetPlan]:
    return [command for command in result.commands() if isinstance(command, SetPlan)]


def test_save_data_keeps_to_a_short_plan_of_what_was_in_front_last() -> None:
    opening = [DocumentOpened(id, "http://site/", save_data=True) for id in range(1, 301)]
    events = [SessionOpened(), *opening, FocusChanged(300), FocusChanged(7), FocusChanged(7)]
    result = replay(SaveData(), list(enumerate(events)))
    named = [{rule.document for rule in plan.rules} for plan in plans(result)]
    assert result.refused == []
    assert len(named) == len(opening) + 1  # what is in front already changes nothing
    assert max(map(len, named)) == MOST
    assert named[-2] == set(range(301 - MOST, 301))
    assert named[-1] == {7, *range(302 - MOST, 301)}


def test_attention_raises_what_is_looked_at_and_lets_go_again() -> None:
    player = Player(Attention())
    player.play(opened(1), now=0.0)
    player.play(SkeletonGrew(1, tuple(picture(2 * n, n) for n in range(1, 5))), now=0.0)

    def after(event: Event) -> list[Command]:
        return player.play(event, now=1.0)

    assert after(ScrolledInView(1, (2, 4))) == [Raise(2, 1), Raise(4, 1)]
    assert after(Progress(2, 90, "low")) == [Raise(2, 0)]  # coarse: now the others
    assert after(PointerOn(4)) == [Raise(4, 2)]
    assert after(PointerOn(6)) == [Raise(4, 1), Raise(6, 2)]
    after(Progress(2, 900, "original", complete=True))
    assert after(ScrolledInView(1, (8,))) == [Raise(4, 0), Raise(8, 1)]
    assert after(PointerOn(None)) == [Raise(6, 0)]
    assert player.result.refused == []
