"""The policy that gives a page's pictures a time."""

from __future__ import annotations

import pytest

from policies.api import (
    DocumentClosed,
    DocumentOpened,
    Kind,
    Policy,
    Rule,
    SessionOpened,
    SetPlan,
    TimeRefused,
)
from policies.builtin.default import Default
from policies.builtin.within import MOST, Within
from policies.host.loader import load
from policies.testing import replay


@pytest.mark.parametrize("seconds", [3.0, 5.0])
def test_all_pictures_have_so_many_seconds(seconds: float) -> None:
    result = replay(Within(seconds=seconds), [(0.0, SessionOpened())])
    assert result.commands() == [SetPlan((Rule(kind=Kind.IMAGE, within=seconds),))]


def test_what_the_user_says_of_a_page_goes_before_and_leaves_with_it() -> None:
    events = [
        (0.0, SessionOpened()),
        (1.0, DocumentOpened(1, "http://a.test/", within=3.0)),
        (1.5, DocumentOpened(3, "http://b.test/")),
        (2.0, DocumentClosed(1)),
        (2.5, DocumentClosed(3)),
    ]
    for_all, one = Rule(kind=Kind.IMAGE, within=5.0), Rule(kind=Kind.IMAGE, document=1, within=3.0)
    assert replay(Within(), events).commands() == [
        SetPlan((for_all,)),
        SetPlan((for_all, one)),
        SetPlan((for_all,)),
    ]
    assert replay(Within(seconds=None), events).commands() == [SetPlan((one,)), SetPlan(())]


@pytest.mark.parametrize("policy", [Within(), Default()])
def test_hundreds_of_pages_keep_to_a_short_plan(policy: Policy) -> None:
    """The default's as well, which has all that its policies plan."""
    opening = [
        DocumentOpened(id, "http://a.test/", save_data=True, within=3.0) for id in range(1, 301)
    ]
    result = replay(policy, list(enumerate([SessionOpened(), *opening])))
    assert result.refused == []
    last = [command for command in result.commands() if isinstance(command, SetPlan)][-1]
    timed = [rule.document for rule in last.rules if rule.within == 3.0]
    assert timed == list(range(301 - MOST, 301))


def test_the_default_obeys_the_user_and_saves_data_with_one_plan() -> None:
    events = [
        (0.0, SessionOpened()),
        (1.0, DocumentOpened(1, "http://a.test/", within=3.0)),
        (1.5, DocumentOpened(3, "http://b.test/", save_data=True)),
    ]
    plans = [one for one in replay(Default(), events).commands() if isinstance(one, SetPlan)]
    assert set(plans[-1].rules) == {
        Rule(kind=Kind.IMAGE, document=1, within=3.0),
        Rule(kind=Kind.IMAGE, document=3, level="original", similar=0.97, fit_layout=True),
        Rule(kind=Kind.FONT, document=3, fetch="never"),
    }


def test_a_time_that_is_too_short_stands_in_the_view() -> None:
    events = [
        (0.0, DocumentOpened(1, "http://a.test/", within=3.0)),
        (1.0, TimeRefused(1, 7.0)),
        (1.0, TimeRefused(9, 7.0)),
    ]
    view = replay(Within(), events).view
    assert (view.documents[1].within, view.documents[1].earliest) == (3.0, 7.0)


def test_it_is_found_by_name() -> None:
    assert load("within").name == "within"
