"""Hundreds of open documents: shares hold, and an event costs what it does with a few."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.tree.node import MAX_WEIGHT
from policies.api import (
    Command,
    DocumentClosed,
    DocumentOpened,
    Event,
    FocusChanged,
    Kind,
    PointerOn,
    Policy,
    Progress,
    Rule,
    ScrolledInView,
    SessionOpened,
    SessionView,
    SetPlan,
    SetScheduler,
    SetWeight,
    SkeletonGrew,
    Use,
    VisibilityChanged,
)
from policies.builtin.default import Default
from policies.builtin.focus import Focus
from policies.host.model import MAX_DOCUMENTS
from policies.host.snapshots import Snapshots
from policies.testing import Player
from policies.testing.simulation import Item, SimulatedPage, simulate
from wire.skeleton import Part

PARTS = 10


def first_part(document: int) -> int:
    return document * 1000


def load(player: Player, documents: Iterable[int]) -> None:
    """Open documents with pictures, the last of them in front."""
    player.play(SessionOpened(), now=0.0)
    for document in documents:
        player.play(DocumentOpened(document, f"http://{document}.test/"), now=0.0)
        parts = tuple(
            Part(first_part(document) + n, f"/{n}", Kind.IMAGE, Use.ELEMENT, n)
            for n in range(PARTS)
        )
        player.play(SkeletonGrew(document, parts), now=0.0)


def lines(work: Callable[[], object]) -> int:
    """Lines of Python that the work takes: what it costs, on whatever machine."""
    count = 0

    def line(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def what_happens(document: int, other: int) -> list[Event]:
    part = first_part(document)
    return [
        Progress(part, 100, "low", length=400),
        ScrolledInView(document, (part, part + 1)),
        PointerOn(part + 1),
        FocusChanged(other),
        VisibilityChanged(document, visible=True),
        DocumentOpened(900_001, "http://new.test/"),
        SkeletonGrew(900_001, (Part(900_002, "/new", Kind.IMAGE, Use.ELEMENT, 0),)),
        DocumentClosed(900_001),
    ]


def costs(policy: Policy, documents: int) -> list[int]:
    """The cost of each thing that happens while so many are open."""
    player = Player(policy)
    load(player, range(1, documents + 1))
    events = what_happens(documents, 1)
    return [lines(partial(player.play, event, now=1.0)) for event in events]


@pytest.mark.parametrize("policy", [Default, Focus])
def test_an_event_costs_as_much_with_400_documents_as_with_4(
    policy: Callable[[], Policy],
) -> None:
    few, many = costs(policy(), 4), costs(policy(), 400)
    assert all(cost > 10 for cost in few)
    for event, with_few, with_many in zip(what_happens(4, 1), few, many, strict=True):
        assert with_many <= 1.2 * with_few + 20, type(event).__name__


@pytest.mark.parametrize("documents", [2, 252, 600, MAX_DOCUMENTS])
def test_four_fifths_go_to_the_front_however_many_documents_are_open(documents: int) -> None:
    player = Player(Focus())
    load(player, range(1, documents + 1))
    player.play(FocusChanged(1), now=1.0)
    player.play(FocusChanged(2), now=2.0)
    view = player.result.view
    assert player.result.refused == []
    weights = [view.weights.get(document.path, 1.0) for document in view.documents.values()]
    assert view.weights["browser", "2"] / sum(weights) == pytest.approx(0.8)
    assert sum(weight != 1.0 for weight in weights) == 1
    schedulers = {view.schedulers[document.path] for document in view.documents.values()}
    assert schedulers == {"in_order", "low_fidelity_first"}
    assert view.schedulers["browser", "2"] == "in_order"


def test_the_remotes_scheduler_keeps_to_that_share() -> None:
    pages = [
        SimulatedPage(number, (Item(10_000 + number, 400_000 if number == 300 else 500),), at=0.0)
        for number in range(1, 301)
    ]
    outcome = simulate(Focus(), pages, rate=100_000, until=1.0)
    assert outcome.replay.refused == []
    assert outcome.share(300, 0.0, 1.0) == pytest.approx(0.8, abs=0.02)


def test_applications_share_like_documents() -> None:
    player = Player(Focus())
    player.play(SessionOpened(), now=0.0)
    for number in range(1, 7):
        application = ("browser", "office", "other")[number % 3]
        player.play(DocumentOpened(number, "u", application), now=0.0)
    player.play(FocusChanged(1), now=1.0)
    weights = player.result.view.weights
    assert weights["office",] == 8.0
    assert weights["browser",] == weights["other",] < 1.0  # a document of office is behind, too
    for closed in (3, 6):  # all of one application
        player.play(DocumentClosed(closed), now=2.0)
    assert player.result.view.weights["office",] == 4.0


def test_no_share_is_refused_by_its_weight() -> None:
    player = Player(Focus(share=0.9999))
    load(player, range(1, 201))
    assert player.result.refused == []
    assert player.result.view.weights["browser", "200"] == MAX_WEIGHT


def test_one_document_too_many_closes_the_oldest_for_policies_too() -> None:
    class Listens:
        name = "listens"

        def __init__(self) -> None:
            self.closed: list[int] = []

        def react(self, event: Event, view: SessionView) -> Iterable[Command]:
            if isinstance(event, DocumentClosed):
                self.closed.append(event.document)
            if isinstance(event, DocumentOpened):
                path = ("browser", str(event.document))
                yield SetWeight(path, 2.0)
                yield SetScheduler(path, "in_order")

    policy = Listens()
    player = Player(policy)
    for document in range(1, MAX_DOCUMENTS + 3):
        player.play(DocumentOpened(document, "u"), now=0.0)
    assert policy.closed == [1, 2]
    view = player.result.view
    assert len(view.weights) == len(view.schedulers) == MAX_DOCUMENTS


def test_a_component_below_what_is_no_document_is_not_there() -> None:
    class Guesses:
        name = "guesses"

        def react(self, event: Event, view: SessionView) -> Iterable[Command]:
            yield SetWeight(("browser", "0", "5"), 2.0)

    player = Player(Guesses())
    player.play(SessionOpened(), now=0.0)
    assert "is not there" in player.result.refused[0]


def test_the_plan_is_resolved_anew_when_the_front_changes() -> None:
    class Spares:
        name = "spares"

        def react(self, event: Event, view: SessionView) -> Iterable[Command]:
            if isinstance(event, SessionOpened):
                yield SetPlan((Rule(document="back", level="low"),))

    player = Player(Spares())
    load(player, (1, 2))
    player.play(FocusChanged(1), now=1.0)
    fronts = [
        one.rules[0].not_document for one in player.result.commands() if isinstance(one, SetPlan)
    ]
    assert fronts == [None, 1, 2, 1]


@given(
    st.lists(st.tuples(st.integers(0, 300), st.one_of(st.none(), st.integers(0, 9)), st.booleans()))
)
def test_a_frozen_copy_is_what_the_map_was(changes: list[tuple[int, int | None, bool]]) -> None:
    live: Snapshots[int] = Snapshots()
    model: dict[int, int] = {}
    copies = []
    for key, value, freeze in changes:
        if value is None:
            live.discard(key)
            model.pop(key, None)
        else:
            live[key] = value
            model[key] = value
        if freeze:
            copies.append((live.freeze(), dict(model)))
    copies.append((live.freeze(), dict(model)))
    for frozen, then in copies:
        assert dict(frozen) == then
        assert len(frozen) == len(then)
        assert all(frozen.get(key) == then.get(key) for key in range(300))
    assert len(live) == len(model)
    assert live.freeze() is live.freeze()
    assert live.freeze().get("x") is None  # type: ignore[call-overload]
