"""A command that can't be carried out is told so before it leaves the device."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from policies.api import Kind, Rule
from policies.api.commands import (
    Command,
    Defer,
    Fetch,
    Raise,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetTimer,
    SetWeight,
    WatchBandwidth,
)
from policies.api.view import ComponentView, DocumentView, SessionView
from policies.host.checks import MAX_RULES, problem
from wire.messages import UNATTRIBUTED
from wire.skeleton import Use

PART = ComponentView(
    id=9, document=7, url="http://a/p.jpg", kind=Kind.IMAGE, use=Use.ELEMENT, order=0
)
PAGE = DocumentView(id=7, url="http://a/", application="browser", opened=0.0, components=(9,))
VIEW = SessionView(documents={7: PAGE}, components={9: PART})


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (SetScheduler(("browser",), "text_frist"), "did you mean 'text_first'"),
        (SetScheduler(("browser",), "edf", {"speed": 3}), "edf"),
        (SetWeight((), 1.0), "the root has no siblings"),
        (SetWeight(("browser", "7"), 0.0), "weight 0.0: must be"),
        (SetWeight(("browser", "8"), 1.0), "document browser/8 is not open"),
        (SetWeight(("browser", "7", "10"), 1.0), "component browser/7/10 is not there"),
        (SetWeight(("a", "b", "c", "d"), 1.0), "is not the path of a node"),
        (SetScheduler(("browser", "7", "9"), "fifo"), "a component has no scheduler"),
        (SetQuantum(("browser", "7", "*"), 512), "one by one"),
        (SetWeight(("tunnels", "3"), 1.0), "single tunnels can't be set"),
        (SetQuantum((), 63), "must be 64 to"),
        (SetPlan((Rule(),) * (MAX_RULES + 1)), "at most 256"),
        (Fetch(9, "finest"), "no level is called 'finest'"),
        (Fetch(9, "low", timer=-1.0), "timer of -1.0 seconds"),
        (Fetch(10), "component 10 is not there"),
        (Raise(9, 256), "urgency 256: must be 0 to 255"),
        (Defer(10), "component 10 is not there"),
        (WatchBandwidth(low=9.0, high=9.0), "is empty"),
        (SetTimer("a", after=1.0, at=2.0), "either after or at"),
        (SetTimer("a", after=float("nan")), "timer 'a' at nan"),
    ],
)
def test_the_refusal_says_what_is_wrong(command: Command, said: str) -> None:
    assert said in problem(command, VIEW)


@pytest.mark.parametrize(
    "command",
    [
        SetScheduler((), "text_first"),
        SetWeight(("browser", "7", "9"), 2.0),
        SetWeight(("browser", str(UNATTRIBUTED)), 2.0),
        SetQuantum(("browser", "7"), 0),
        SetQuantum(("browser", "7", "9"), 512),
        SetWeight(("tunnels",), 2.0),
        SetPlan((Rule(kind=Kind.IMAGE, level="low"),)),
        Fetch(9, "low", 3, timer=2.0),
        Raise(9),
        WatchBandwidth(low=1.0),
        SetTimer("a", after=1.0),
        SetTimer("a"),
    ],
)
def test_what_is_possible_is_let_through(command: Command) -> None:
    assert problem(command, VIEW) == ""


def test_a_document_of_another_application_has_another_path() -> None:
    documents: Mapping[int, DocumentView] = {
        7: DocumentView(id=7, url="", application="office", opened=0.0)
    }
    view = SessionView(documents=documents)
    assert problem(SetWeight(("office", "7"), 1.0), view) == ""
    assert "is not open" in problem(SetWeight(("browser", "7"), 1.0), view)
