"""Tests of policies over several applications: shares, focus, text first, and what has a name."""

from __future__ import annotations

import pytest

from policies.api import (
    DocumentClosed,
    DocumentOpened,
    Event,
    FocusChanged,
    Kind,
    Policy,
    SessionOpened,
    SessionView,
    SetQuantum,
    SetScheduler,
    SetWeight,
)
from policies.api.commands import Path
from policies.builtin.decks import decks
from policies.builtin.default import Default
from policies.builtin.equal import Equal
from policies.builtin.focus import Focus
from policies.builtin.low_fidelity_first import LowFidelityFirst
from policies.builtin.text_first import TextFirst
from policies.host.checks import problem
from policies.host.standing_commands import StandingCommands
from policies.host.to_wire import for_one_application
from policies.testing import Player, replay
from policies.testing.simulation import Item, Outcome, SimulatedPage, simulate
from wire import messages as m
from wire.applications import Application

RATE = 10_000.0


def page(document: int, *items: Item, office: bool = False) -> SimulatedPage:
    application = Application.OFFICE if office else Application.BROWSER
    return SimulatedPage(document, items, package=office, application=application)


def pictures(first: int, count: int = 4, size: int = 20_000) -> tuple[Item, ...]:
    return tuple(Item(first + 2 * n, size) for n in range(count))


# -- what the built-in ones do -----------------------------------------------------------------


def share_in_front(view: SessionView) -> float:
    """The part of the link that the document in front would have, were all to send."""
    assert view.front is not None
    front = view.documents[view.front]
    paths = [one.path for one in view.documents.values()]

    def part(path: Path, siblings: set[Path]) -> float:
        return view.weights.get(path, 1.0) / sum(view.weights.get(one, 1.0) for one in siblings)

    mine = {path for path in paths if path[0] == front.application}
    return part(front.path[:1], {path[:1] for path in paths}) * part(front.path, mine)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("office", [0, 1, 3])
@pytest.mark.parametrize("pages", [1, 2, 9])
def test_the_front_has_its_share_however_many_applications_there_are(
    share: float, office: int, pages: int
) -> None:
    opened: list[Event] = [DocumentOpened(2 * n + 1, "u", "office") for n in range(office)]
    opened += [DocumentOpened(2 * n + 101, "u") for n in range(pages)]
    player = Player(Focus(share=share))
    for event in [SessionOpened(), *opened]:
        player.play(event, now=0.0)
    for document in (101, *([1] if office else [])):
        player.play(FocusChanged(document), now=1.0)
        if office + pages > 1:
            assert share_in_front(player.result.view) == pytest.approx(share, abs=0.001)
    assert player.result.refused == []


def test_what_focus_said_of_an_application_ends_with_its_documents() -> None:
    player = Player(Focus())
    for event in (
        SessionOpened(),
        DocumentOpened(1, "u", "office"),
        DocumentOpened(3, "u"),
        DocumentOpened(5, "u"),
    ):
        player.play(event, now=0.0)
    assert player.result.view.weights["office",] < 1.0
    assert SetWeight(("office",), 1.0) in player.play(DocumentClosed(1), now=1.0)
    assert player.result.view.weights["browser",] == 4.0
    assert SetWeight(("browser",), 1.0) in player.play(FocusChanged(None), now=2.0)


def both(policy: Policy, *, office: bool) -> Outcome:
    """A page and a deck at once, the deck in its own application or in the browser's."""
    deck = page(1, Item(2, 8_000, Kind.TEXT), *pictures(4), office=office)
    beside = page(101, Item(102, 8_000, Kind.TEXT), *pictures(104))
    events = [(4.0, FocusChanged(1)), (8.0, FocusChanged(101))]
    return simulate(policy, [deck, beside], rate=RATE, events=events)


@pytest.mark.parametrize("policy", [TextFirst, Focus, Default, Equal])
def test_a_deck_and_a_page_are_ordered_alike_whoever_shows_the_deck(policy: type[Policy]) -> None:
    in_browser, in_office = both(policy(), office=False), both(policy(), office=True)
    for component, before in in_browser.components.items():
        after = in_office.components[component]
        for level, at in before.levels.items():
            assert after.levels[level] == pytest.approx(at, abs=0.15), (component, level)


@pytest.mark.parametrize("policy", [TextFirst(), Default()])
def test_text_of_all_applications_goes_before_any_picture(policy: Policy) -> None:
    done = both(policy, office=True)
    texts = done.reached([Item(2, 0), Item(102, 0)])
    assert texts == pytest.approx(1.6, abs=0.1)


def test_no_picture_of_any_application_is_refined_before_all_are_coarse() -> None:
    done = both(LowFidelityFirst(together=True), office=True)
    coarse = done.reached([*pictures(4), *pictures(104)], "low")
    medium = [done.components[one.component].levels["medium"] for one in pictures(4)]
    assert coarse is not None
    assert min(medium) > coarse


def test_documents_in_parts_are_decks_whoever_shows_them_and_plain_files_are_not() -> None:
    found: list[list[int]] = []

    class Looks:
        name = "looks"

        def react(self, event: Event, view: SessionView) -> list[SetWeight]:
            found.append([document.id for document in decks(view)])
            return []

    plain = SimulatedPage(201, pictures(204, 1), application=Application.OFFICE)
    preview = SimulatedPage(301, pictures(304, 1), package=True)
    pages = [page(1, *pictures(4), office=True), page(101, *pictures(104)), plain, preview]
    simulate(Looks(), pages, rate=RATE)
    assert found[-1] == [1, 301]


@pytest.mark.parametrize("office", [0.2, 0.6])
def test_a_policy_shares_the_link_between_applications(office: float) -> None:
    class Shares:
        name = "shares"

        def react(self, event: Event, view: SessionView) -> list[SetWeight]:
            if not isinstance(event, SessionOpened):
                return []
            return [SetWeight(("office",), office), SetWeight(("browser",), 1 - office)]

    pages = [
        page(1, *pictures(4), office=True),
        page(101, *pictures(104)),
        page(201, *pictures(204)),
    ]
    done = simulate(Shares(), pages, rate=RATE)
    assert done.replay.refused == []
    assert done.share(1, 0.0, 8.0) == pytest.approx(office, abs=0.01)


# -- what a path may name ----------------------------------------------------------------------

OPEN = replay([], [(0.0, DocumentOpened(7, "u", "office"))]).view


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("office",), ""),
        (("tunnels",), ""),
        (("*",), ""),
        (("office", "7"), ""),
        (("browser", "*"), ""),
        (("*", "*"), ""),
        (("other", str(m.UNATTRIBUTED)), ""),
        (("background", str(m.BACKGROUND)), ""),
        (("ofice",), "did you mean 'office'"),
        (("browser", "7"), "is not open"),
        (("*", "7"), "is not open"),
        (("browser", str(m.BACKGROUND)), "is not open"),
        (("office", "7", "*"), "one by one"),
        (("office", "*", "9"), "one by one"),
        (("office", ""), "is not the path"),
    ],
)
def test_paths_name_applications_that_there_are(path: Path, said: str) -> None:
    scheduler = [SetScheduler(path, "fifo")] if len(path) < 3 else []  # a component has none
    for command in (SetWeight(path, 2.0), SetQuantum(path, 512), *scheduler):
        found = problem(command, OPEN)
        assert said in found if said else not found


ALL, ONE = ("browser", "*"), ("browser", "7")


def test_what_is_said_of_all_and_then_of_one_is_both_sent() -> None:
    standing = StandingCommands()
    assert standing.put(0, SetWeight(ONE, 1.0)) == []  # as it is
    assert standing.put(0, SetWeight(ALL, 3.0)) == [SetWeight(ALL, 3.0)]
    assert standing.put(0, SetWeight(ONE, 1.0)) == [SetWeight(ONE, 1.0)]
    assert standing.put(0, SetWeight(ALL, 3.0)) == [SetWeight(ALL, 3.0)]


def test_a_policy_that_goes_takes_what_it_said_of_all_and_leaves_the_others_words() -> None:
    standing = StandingCommands()
    standing.put(0, SetWeight(ONE, 5.0))
    standing.put(0, SetQuantum(ONE, 512))
    standing.put(1, SetWeight(ALL, 3.0))
    assert standing.withdraw(1) == [SetWeight(ALL, 1.0), SetWeight(ONE, 5.0)]
    assert standing.standing() == [SetWeight(ONE, 5.0), SetQuantum(ONE, 512)]


def test_what_is_said_of_all_holds_for_one_again_once_nobody_speaks_of_it() -> None:
    standing = StandingCommands()
    standing.put(0, SetScheduler(ALL, "fifo"))
    standing.put(1, SetScheduler(ONE, "edf"))
    assert standing.withdraw(1) == [SetScheduler(ONE, "fifo")]
    assert standing.withdraw(0) == [SetScheduler(ALL, "wf2q_plus")]


# -- a remote proxy that knows one application ---------------------------------------------------


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ([], []),
        (["browser"], ["browser"]),
        (["browser", "7"], ["browser", "7"]),
        (["*", "*"], ["*", "*"]),
        (["tunnels"], ["tunnels"]),
        (["office", "7"], ["browser", "7"]),
        (["office", "7", "9"], ["browser", "7", "9"]),
        (["office"], None),
        (["office", "*"], None),
        (["background"], ["browser", str(m.BACKGROUND)]),
        (["other"], ["browser", str(m.UNATTRIBUTED)]),
        (["other", "0"], ["browser", "0"]),
    ],
)
def test_an_older_remote_hears_of_the_one_application_that_it_has(
    path: list[str], there: list[str] | None
) -> None:
    for message in (m.SetWeight(path, 2.0), m.SetScheduler(path, "edf"), m.SetQuantum(path, 512)):
        found = for_one_application(message)
        assert (found is None) if there is None else (found is not None)
        if isinstance(found, type(message)):
            assert found.path == there
    assert for_one_application(m.Raise(5, 1)) == m.Raise(5, 1)
