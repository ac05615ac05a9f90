"""Has all of a device's give way, from the first session on, and as long as it is on."""

from __future__ import annotations

from policies.api import ROOT, DocumentOpened, GiveWay, SessionOpened
from policies.builtin.default import Default
from policies.builtin.polite import Polite
from policies.host.chain import PolicyHost
from policies.testing import replay


def test_all_gives_way_from_the_start() -> None:
    heard = [(0.0, SessionOpened()), (1.0, DocumentOpened(1, "http://a.test/"))]
    assert replay(Polite(), heard).commands() == [GiveWay(ROOT)]


def test_a_policy_that_goes_takes_that_along() -> None:
    host = PolicyHost([Polite()], fallback=Default)
    (turn,) = host.hear(SessionOpened(), now=0.0).turns
    given = host.reacted(turn, [GiveWay(ROOT)], seconds=0.0, now=0.0).given
    assert [one.command for one in given] == [GiveWay(ROOT)]
    gone = host.failed(turn.slot, "it raised").given
    assert GiveWay(ROOT, on=False) in [one.command for one in gone]
