"""The host's own rules: focus, standing settings, timers, what commands become on the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.api import (
    ROOT,
    Box,
    Cancel,
    Command,
    ComponentView,
    Defer,
    DocumentClosed,
    DocumentOpened,
    Event,
    Fetch,
    FocusChanged,
    Kind,
    LayoutKnown,
    LinkLost,
    LinkRestored,
    PointerOn,
    Progress,
    Raise,
    Resume,
    Rule,
    ScrolledInView,
    SessionOpened,
    SessionView,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetTimer,
    SetWeight,
    SkeletonGrew,
    TimerExpired,
    Use,
    VisibilityChanged,
    WatchBandwidth,
)
from policies.host.model import MAX_COMPONENTS, MAX_DOCUMENTS, SessionModel
from policies.host.standing_commands import StandingCommands
from policies.host.to_wire import message_for
from policies.testing import Player, replay
from wire import messages
from wire.skeleton import Part

PARTS = tuple(Part(2 * n, "u", Kind.IMAGE, Use.ELEMENT, n) for n in range(1, 4))


class Answers:
    """Answers events of a type with commands."""

    name = "answers"

    def __init__(self, answers: dict[type, list[Command]]) -> None:
        self._answers = answers
        self.heard: list[Event] = []

    def react(self, event: Event, view: SessionView) -> list[Command]:
        self.heard.append(event)
        return self._answers.get(type(event), [])


def view(model: SessionModel) -> SessionView:
    return model.view(now=0.0, schedulers={}, weights={})


# -- the model -----------------------------------------------------------------------------------


def test_what_events_add_up_to() -> None:
    model = SessionModel()
    for event in (
        DocumentOpened(1, "http://a/"),
        SkeletonGrew(1, PARTS[1:]),
        SkeletonGrew(1, PARTS[:2]),
        Progress(4, 100, "low", length=900),
        LayoutKnown(1, (Box(4, 320, 200), Box(99, 1, 1))),
        ScrolledInView(1, (4, 6)),
        PointerOn(6),
        LinkLost("reset"),
    ):
        model.hear(event, now=1.0)
    told = view(model)
    assert told.documents[1].components == (2, 4, 6)
    assert told.components[4] == ComponentView(
        id=4, document=1, url="u", kind=Kind.IMAGE, use=Use.ELEMENT, order=2, width=320,
        height=200, length=900, received=100, level="low", in_view=True,
    )  # fmt: skip
    assert (told.pointer, told.connected, told.front) == (6, False, 1)
    model.hear(LinkRestored(), now=2.0)
    model.hear(DocumentClosed(1), now=2.0)
    after = view(model)
    assert (dict(after.components), after.pointer, after.connected) == ({}, None, True)
    assert told.components[4].received == 100  # a snapshot stays as it is


@pytest.mark.parametrize(
    "event",
    [
        Progress(99, 1, "low"),
        SkeletonGrew(99, PARTS),
        FocusChanged(99),
        FocusChanged(1),
        VisibilityChanged(99, visible=False),
        ScrolledInView(99, (2,)),
        ScrolledInView(1, ()),
        PointerOn(99),
        PointerOn(None),
        DocumentClosed(99),
        DocumentOpened(1, "again"),
        LayoutKnown(99, ()),
        Progress(2, 50, ""),  # neither a level nor the end
    ],
)
def test_nobody_hears_of_what_is_not_there_or_changes_nothing(event: Event) -> None:
    model = SessionModel()
    model.hear(DocumentOpened(1, "http://a/"), now=0.0)
    model.hear(SkeletonGrew(1, PARTS), now=0.0)
    assert model.hear(event, now=1.0) == []


def test_memory_is_bounded_whatever_is_opened() -> None:
    model = SessionModel()
    for document in range(1, 2 * MAX_DOCUMENTS + 9, 2):
        model.hear(DocumentOpened(document, "u"), now=0.0)
    many = tuple(
        Part(n, "u", Kind.IMAGE, Use.OTHER, n) for n in range(2, 2 * MAX_COMPONENTS + 10, 2)
    )
    newest = 2 * MAX_DOCUMENTS + 7
    model.hear(SkeletonGrew(newest, many), now=0.0)
    told = view(model)
    assert len(told.documents) == MAX_DOCUMENTS
    assert len(told.components) == MAX_COMPONENTS
    assert told.front == newest


EVENTS = st.one_of(
    st.builds(DocumentOpened, st.integers(1, 5), st.just("u")),
    st.builds(DocumentClosed, st.integers(1, 5)),
    st.builds(FocusChanged, st.none() | st.integers(1, 5)),
    st.builds(VisibilityChanged, st.integers(1, 5), st.booleans()),
    st.builds(SkeletonGrew, st.integers(1, 5), st.just(PARTS)),
    st.builds(Progress, st.integers(1, 8), st.integers(0, 99), st.sampled_from(["", "low"])),
    st.builds(PointerOn, st.none() | st.integers(1, 8)),
)


@given(st.lists(EVENTS, max_size=40))
def test_focus_is_always_on_an_open_visible_document_and_told_when_it_moves(
    events: list[Event],
) -> None:
    model = SessionModel()
    front = None
    for event in events:
        for heard in model.hear(event, now=0.0):
            if isinstance(heard, FocusChanged):
                assert heard.document != front
                front = heard.document
        told = view(model)
        assert told.front == front
        assert front is None or told.documents[front].visible
        owned = [id for document in told.documents.values() for id in document.components]
        assert sorted(owned) == sorted(told.components)
        assert told.pointer is None or told.pointer in told.components


@given(st.lists(EVENTS, max_size=30))
def test_a_newcomer_is_told_all_there_is(events: list[Event]) -> None:
    model, copy = SessionModel(), SessionModel()
    for event in events:
        model.hear(event, now=0.0)
    for event in model.recall():
        copy.hear(event, now=0.0)
    told, again = view(model), view(copy)
    assert list(again.documents) == list(told.documents)
    assert again.components.keys() == told.components.keys()
    assert again.front == told.front


# -- settings -----------------------------------------------------------------------------------

SETTINGS = st.one_of(
    st.builds(SetScheduler, st.sampled_from([(), ("b",)]), st.sampled_from(["fifo", "edf"])),
    st.builds(SetWeight, st.just(("b",)), st.sampled_from([1.0, 2.0])),
    st.builds(Defer, st.sampled_from([2, 4])),
    st.builds(Resume, st.sampled_from([2, 4])),
    st.builds(Raise, st.just(2), st.integers(0, 2)),
    st.builds(SetPlan, st.sampled_from([(), (Rule(level="low"),)])),
)


def apply(state: dict[object, object], commands: list[Command]) -> None:
    """What a remote proxy ends up with."""
    for command in commands:
        match command:
            case SetScheduler(path, name):
                state["scheduler", path] = name
            case SetWeight(path, weight):
                state["weight", path] = weight
            case Defer(component) | Resume(component):
                state["deferred", component] = isinstance(command, Defer)
            case Raise(component, urgency):
                state["urgency", component] = urgency
            case SetPlan(rules):
                state["plan"] = rules


USUAL: dict[object, object] = {
    ("scheduler", ()): "wf2q_plus", ("scheduler", ("b",)): "wf2q_plus", ("weight", ("b",)): 1.0,
    ("deferred", 2): False, ("deferred", 4): False, ("urgency", 2): 0, "plan": (),
}  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 2), SETTINGS), max_size=30), st.integers(0, 2))
def test_withdrawing_leaves_what_the_others_said(
    words: list[tuple[int, Command]], gone: int
) -> None:
    settings, without = StandingCommands(), StandingCommands()
    state, expected = dict(USUAL), dict(USUAL)
    for owner, command in words:
        apply(state, settings.put(owner, command))
        if owner != gone:
            apply(expected, without.put(owner, command))
    apply(state, settings.withdraw(gone))
    assert state == expected
    fresh = dict(USUAL)
    apply(fresh, settings.standing())
    assert fresh == expected


def test_what_changes_nothing_is_not_sent() -> None:
    settings = StandingCommands()
    assert settings.put(0, SetWeight(("b",), 1.0)) == []
    assert settings.put(0, Resume(2)) == []
    assert settings.put(0, SetPlan(())) == []
    assert settings.put(0, SetScheduler(ROOT, "fifo")) == [SetScheduler(ROOT, "fifo")]
    assert settings.put(1, SetScheduler(ROOT, "fifo")) == []
    assert settings.withdraw(0) == []


def test_a_closed_document_takes_its_settings_along() -> None:
    policy = Answers({DocumentOpened: [SetWeight(("browser", "1"), 3.0)], SkeletonGrew: [Defer(2)]})
    player = Player(policy)
    player.play(DocumentOpened(1, "u"), now=0.0)
    player.play(SkeletonGrew(1, PARTS), now=0.0)
    assert player.result.view.weights == {("browser", "1"): 3.0}
    player.play(DocumentClosed(1), now=0.0)
    assert player.result.view.weights == {}


# -- plans, timers -----------------------------------------------------------------------------


def test_a_plan_follows_the_focus() -> None:
    policy = Answers({SessionOpened: [SetPlan((Rule(document="front", level="high"),))]})
    result = replay(
        policy,
        [
            (0, SessionOpened()),
            (1, DocumentOpened(1, "u")),
            (2, DocumentOpened(3, "u")),
            (3, FocusChanged(None)),
        ],
    )
    rule = Rule(level="high", document=1)
    assert result.sent == [
        (0, SetPlan(())),
        (1, SetPlan((rule,))),
        (2, SetPlan((Rule(level="high", document=3),))),
        (3, SetPlan(())),
    ]


def test_a_fetch_timer_stops_when_the_level_is_here() -> None:
    policy = Answers(
        {SkeletonGrew: [Fetch(2, "medium", timer=5), Fetch(4, "low", timer=5), Fetch(6, timer=9)]}
    )
    replay(
        policy,
        [
            (0, DocumentOpened(1, "u")),
            (0, SkeletonGrew(1, PARTS)),
            (1, Progress(2, 10, "low")),
            (2, Progress(4, 10, "high")),
            (3, Progress(6, 10, "", complete=True)),
        ],
        until=20.0,
    )
    assert [e for e in policy.heard if isinstance(e, TimerExpired)] == [TimerExpired("fetch:2")]


def test_timers_expire_in_order_at_their_time() -> None:
    class Clock:
        name = "clock"
        times: tuple[tuple[float, str], ...] = ()

        def react(self, event: Event, view: SessionView) -> list[Command]:
            if isinstance(event, TimerExpired):
                self.times += ((view.now, event.name),)
                return [SetTimer("again", after=2.0)] if len(self.times) < 4 else []
            return [SetTimer("late", at=7.5), SetTimer("first", after=1.0)]

    clock = Clock()
    replay(clock, [(0.0, SessionOpened())], until=60.0)
    assert clock.times == ((1.0, "first"), (3.0, "again"), (5.0, "again"), (7.0, "again"), (7.5, "late"))  # fmt: skip  # noqa: E501


def test_a_recording_must_not_go_back_in_time() -> None:
    with pytest.raises(ValueError, match="back in time"):
        replay(Answers({}), [(2.0, SessionOpened()), (1.0, LinkLost())])


# -- on the wire -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            SetScheduler(("browser",), "text_first", {"inner": "edf"}),
            messages.SetScheduler(["browser"], "text_first", {"inner": "edf"}),
        ),
        (SetWeight(("browser", "1"), 4.0), messages.SetWeight(["browser", "1"], 4.0)),
        (SetQuantum(ROOT, 512), messages.SetQuantum([], 512)),
        (SetPlan((Rule(level="low"),)), messages.SetPlan([{"level": "low"}])),
        (Fetch(2, "low", 3, timer=4.0), messages.Fetch(2, "low", 3, 4.0)),
        (Cancel(2), messages.Cancel(2)),
        (Defer(2), messages.Hold(2, on=True)),
        (Resume(2), messages.Hold(2, on=False)),
        (Raise(2, 3), messages.Raise(2, 3)),
        (WatchBandwidth(), None),
        (SetTimer("t", after=1.0), None),
    ],
)
def test_what_a_command_becomes(command: Command, message: messages.Message | None) -> None:
    assert message_for(command) == message
    if message is not None:
        assert messages.decode(messages.encode(message)) == message
