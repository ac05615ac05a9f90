"""Tests of the policy by which nobody's fetches get little of the link while pages load."""

from __future__ import annotations

import pytest

from policies.api import DocumentOpened, FocusChanged, GiveWay, SessionOpened, SetWeight
from policies.builtin.background import SHARE, UNASKED, Background
from policies.testing import Player, replay
from policies.testing.simulated_remote import Item, SimulatedPage
from policies.testing.simulation import simulate
from wire.applications import Application
from wire.messages import BACKGROUND, UNATTRIBUTED
from wire.skeleton import Kind

RATE = 10_000.0
PAGE = SimulatedPage(3, tuple(Item(component, 20_000) for component in (5, 7)))


def chatter(document: int, application: Application) -> SimulatedPage:
    return SimulatedPage(document, (Item(101, 10_000, Kind.OTHER),), application=application)


def test_all_nodes_are_weighed_once_when_a_session_opens() -> None:
    assert replay(Background(), [(0.0, SessionOpened())]).commands() == [
        SetWeight(("background",), SHARE),
        GiveWay(("background",)),
        SetWeight(("other",), UNASKED),
        SetWeight(("browser", str(UNATTRIBUTED)), UNASKED),
    ]


def test_nothing_else_changes_anything() -> None:
    player = Player(Background())
    player.play(SessionOpened(), now=0.0)
    assert player.play(DocumentOpened(1, "http://a.test/"), now=1.0) == []
    assert player.play(FocusChanged(1), now=2.0) == []


@pytest.mark.parametrize(
    ("document", "application", "share"),
    [
        (BACKGROUND, Application.BACKGROUND, SHARE),
        (UNATTRIBUTED, Application.OTHER, UNASKED),
        (UNATTRIBUTED, Application.BROWSER, UNASKED),
    ],
)
def test_beside_a_page_they_get_their_share_and_no_more(
    document: int, application: Application, share: float
) -> None:
    beside = chatter(document, application)
    done = simulate([Background()], [PAGE, beside], rate=RATE)
    loaded = done.reached(PAGE.items)
    assert loaded is not None
    assert done.share(document, 0.0, loaded) == pytest.approx(share / (1 + share), abs=0.01)
    plain = simulate([], [PAGE, beside], rate=RATE).reached(PAGE.items)
    assert plain is not None
    assert loaded < 0.9 * plain


def test_while_nothing_else_moves_they_have_all_of_the_link() -> None:
    page = chatter(BACKGROUND, Application.BACKGROUND)
    alone = simulate([Background()], [page], rate=RATE).reached(page.items)
    assert alone == pytest.approx(1.0, rel=0.01)
