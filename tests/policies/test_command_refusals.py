"""Who hears of a command that can't be carried out: the policy that gave it, once, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from policies.api import (
    Command,
    CommandRefused,
    DocumentOpened,
    Event,
    Kind,
    Policy,
    Rule,
    SessionOpened,
    SessionView,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetTimer,
    SetWeight,
    SkeletonGrew,
)
from policies.builtin.default import Default
from policies.host.chain import MAX_REFUSALS, PolicyHost, PolicyTurn
from policies.host.checks import MAX_COMMAND
from policies.host.standing_commands import MAX_DOUBTFUL, StandingCommands
from policies.host.to_wire import message_for
from policies.testing import Player, replay
from policies.testing.simulation import Item, SimulatedPage, simulate
from wire.messages import MAX_MESSAGE, encode

OPENED = SessionOpened()
TOO_MUCH = 20_000
"""Bytes of a quantum that the device lets go and the remote proxy refuses."""


class Says:
    """Answers events as the test says and keeps the refusals that it hears."""

    def __init__(self, name: str, answer: Callable[[Event], Iterable[Command]]) -> None:
        self.name = name
        self._answer = answer
        self.refusals: list[CommandRefused] = []

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, CommandRefused):
            self.refusals.append(event)
        return self._answer(event)


def saying(*commands: Command, name: str = "says") -> Says:
    """Says these when the session opens."""
    return Says(name, lambda event: commands if isinstance(event, SessionOpened) else ())


class Session:
    """A host whose commands are numbered as a session numbers them."""

    def __init__(self, *policies: Policy) -> None:
        self.player = Player(policies)
        self.player.play(OPENED, now=0.0)
        self.said = dict(self.player.take())

    def refuse(self, number: int, reason: str = "no") -> list[Command]:
        return self.player.refused(number, reason, now=1.0)


@pytest.mark.parametrize("wrong", [SetWeight((), 1.0), SetScheduler(("browser",), "fofi")])
def test_what_the_device_refuses_comes_back_to_who_gave_it(wrong: Command) -> None:
    giver, other = saying(wrong, name="giver"), saying(name="other")
    result = replay([giver, other], [(0.0, OPENED)])
    (heard,) = giver.refusals
    assert heard.command == wrong
    assert heard.reason and heard.reason in result.refused[0]
    assert other.refusals == [] and result.sent == []


def test_what_the_remote_refuses_comes_back_to_who_gave_it() -> None:
    one, two = SetWeight(("browser",), 2.0), SetWeight(("office",), 2.0)
    giver, other = saying(one, name="giver"), saying(two, name="other")
    session = Session(giver, other)
    number = next(number for number, command in session.said.items() if command == one)
    session.refuse(number, "too many\n\x1b[2Jrules")
    assert giver.refusals == [CommandRefused(one, "too many  [2Jrules")]
    assert other.refusals == []
    assert "the remote proxy says: too many" in session.player.result.refused[0]
    session.refuse(number)
    assert len(giver.refusals) == 1, "a command is refused once"


def test_a_plan_that_no_message_holds_is_refused_with_those_of_other_policies_counted() -> None:
    half = SetPlan((Rule(components=tuple(range(1 << 20, (1 << 20) + 6_000)), tier=1),))
    first, second = saying(half, name="first"), saying(half, name="second")
    (kept,) = replay([first, second], [(0.0, OPENED)]).commands()
    assert kept == half
    assert first.refusals == []
    assert "bytes in all: at most 49152" in second.refusals[0].reason
    message = message_for(SetPlan(half.rules * 2))
    assert message is not None
    assert MAX_COMMAND < len(encode(message)) < MAX_MESSAGE


@pytest.mark.parametrize("number", [0, -1, 99, 1 << 64])
def test_numbers_that_were_never_said_are_ignored(number: int) -> None:
    policy = saying(SetWeight(("browser",), 2.0))
    session = Session(policy)
    assert session.refuse(number) == []
    assert policy.refusals == [] and session.player.result.refused == []


@pytest.mark.parametrize(
    "wrong", [SetWeight((), 1.0), SetQuantum(("browser",), TOO_MUCH)], ids=["device", "remote"]
)
def test_who_answers_a_refusal_with_what_is_refused_does_not_go_on_for_ever(wrong: Command) -> None:
    policy = Says(
        "stubborn", lambda e: [wrong] if isinstance(e, SessionOpened | CommandRefused) else []
    )
    for round_trip in (0.0, 0.2):
        policy.refusals.clear()
        done = simulate(
            policy, [SimulatedPage(1, (Item(2, 900),))], rate=900, round_trip=round_trip
        )
        assert policy.refusals == [CommandRefused(wrong, policy.refusals[0].reason)]
        assert len(done.replay.refused) == 2, "the second one is logged alone"


def test_an_answer_to_a_refusal_that_can_be_carried_out_is() -> None:
    def answer(event: Event) -> Iterable[Command]:
        if isinstance(event, SessionOpened):
            yield SetScheduler(("browser",), "fofi")
        if isinstance(event, CommandRefused):
            yield SetScheduler(("browser",), "fifo")

    assert replay(Says("", answer), [(0.0, OPENED)]).commands() == [
        SetScheduler(("browser",), "fifo")
    ]


def test_refusals_wait_in_a_bounded_number_and_are_logged_all() -> None:
    many = [SetWeight((f"a{n}",), 0.0) for n in range(3 * MAX_REFUSALS)]
    policy = saying(*many)
    host = PolicyHost([policy], fallback=Default)
    (turn,) = host.hear(OPENED, now=0.0).turns
    step = host.reacted(turn, many, seconds=0.0, now=0.0)
    assert (len(step.turns), len(step.refused)) == (MAX_REFUSALS, len(many))
    first, *_ = step.turns
    host.reacted(first, [], seconds=0.0, now=0.0)
    again = host.reacted(PolicyTurn(turn.slot, OPENED), many, seconds=0.0, now=0.0)
    assert len(again.turns) == 1, "as many as it has heard since"


def test_a_policy_that_was_switched_off_hears_nothing() -> None:
    policy, other = saying(SetWeight(("browser",), 2.0)), saying()
    host = PolicyHost([policy, other], fallback=Default)
    step = host.reacted(
        host.hear(OPENED, now=0.0).turns[0], [SetWeight(("browser",), 2.0)], seconds=0.0, now=0.0
    )
    host.said(1, step.given[0])
    host.failed(host.slots[0], "test")
    assert host.refused(1, "no").turns == ()


def test_a_standing_command_is_told_of_by_the_number_it_has_in_the_new_session() -> None:
    wrong = SetWeight(("browser",), 2.0)
    host = PolicyHost([saying(), saying()], fallback=Default)
    first, second = host.hear(OPENED, now=0.0).turns
    (given,) = host.reacted(first, [wrong], seconds=0.0, now=0.0).given
    host.said(11, given)
    host.reacted(second, [SetPlan(()), SetWeight(("office",), 2.0)], seconds=0.0, now=0.0)
    again = host.begin_again()
    assert host.refused(11, "of another session").turns == ()
    assert again.commands == (wrong, SetWeight(("office",), 2.0), SetPlan(()))
    for number, given in enumerate(again.given):
        host.said(number, given)
    (turn,) = host.refused(0, "no").turns
    assert (turn.slot, turn.event) == (first.slot, CommandRefused(wrong, "no"))
    assert wrong not in host.begin_again().commands, "what was refused does not stand"


def test_of_a_plan_that_is_said_again_each_policy_hears_its_own() -> None:
    plans = [SetPlan((Rule(kind=Kind.IMAGE, level=level),)) for level in ("low", "high")]
    host = PolicyHost([saying(), saying(), saying()], fallback=Default)
    turns = host.hear(OPENED, now=0.0).turns
    for turn, plan in zip(turns, plans, strict=False):
        (given,) = host.reacted(turn, [plan], seconds=0.0, now=0.0).given
        assert [giver.command for giver in given.givers] == [plan]
    again = host.begin_again()
    host.said(1, again.given[-1])
    told = {turn.slot.index: turn.event for turn in host.refused(1, "no").turns}
    assert told == {n: CommandRefused(plan, "no") for n, plan in enumerate(plans)}
    assert host.rules == ()


# -- what stands ---------------------------------------------------------------------------------


def test_what_was_refused_stands_no_more_and_can_be_said_again() -> None:
    settings = StandingCommands()
    wrong, usual = SetWeight(("browser",), 9.0), SetWeight(("browser",), 1.0)
    settings.put(0, wrong)
    assert settings.put(0, wrong) == []
    settings.refused(0, wrong)
    assert (settings.standing(), dict(settings.weights)) == ([], {})
    assert settings.put(0, usual) == [usual], "the remote may hold to what came before"
    assert settings.put(0, usual) == []


def test_another_policys_word_holds_again_when_one_is_refused() -> None:
    settings = StandingCommands()
    first, second = SetScheduler(("browser",), "edf"), SetScheduler(("browser",), "fifo")
    settings.put(0, first)
    settings.put(1, second)
    settings.refused(1, second)
    assert settings.standing() == [first]
    assert settings.schedulers == {("browser",): "edf"}
    assert settings.put(1, first) == [first]


def test_a_refusal_of_what_was_said_before_leaves_the_last_word() -> None:
    settings = StandingCommands()
    old, new = SetQuantum(("browser",), TOO_MUCH), SetQuantum(("browser",), 512)
    settings.put(0, old)
    settings.put(0, new)
    settings.refused(0, old)
    assert settings.standing() == [new]
    plans = [SetPlan((Rule(tier=tier),)) for tier in (1, 2)]
    for plan in plans:
        settings.put(0, plan)
    settings.refused(0, plans[0])
    assert settings.rules == plans[1].rules
    settings.refused(0, plans[1])
    assert settings.rules == ()
    assert settings.put(0, SetPlan(())) == [SetPlan(())]


def test_what_the_remote_still_goes_by_is_undone_with_its_policy() -> None:
    settings = StandingCommands()
    taken, wrong = SetWeight(("browser",), 2.0), SetWeight(("browser",), 3.0)
    settings.put(0, taken)
    settings.put(0, wrong)
    settings.refused(0, wrong)
    assert settings.withdraw(1) == []
    assert settings.withdraw(0) == [SetWeight(("browser",), 1.0)]
    assert settings.withdraw(0) == []


def test_of_commands_that_set_nothing_a_refusal_changes_nothing() -> None:
    settings = StandingCommands()
    settings.refused(0, SetTimer("a"))
    settings.refused(0, SetWeight(("never said",), 1.0))
    assert settings.put(0, SetWeight(("never said",), 1.0)) == []


def test_refusals_do_not_grow_without_bound_and_leave_with_their_document() -> None:
    settings = StandingCommands()
    for number in range(MAX_DOUBTFUL + 5):
        command = SetWeight(("a", str(number)), 2.0)
        settings.put(0, command)
        settings.refused(0, command)
    settings.forget(document=("a", "10"), components=())
    assert len(settings.withdraw(0)) == MAX_DOUBTFUL - 1


# -- in a simulation -----------------------------------------------------------------------------


@pytest.mark.parametrize("round_trip", [0.0, 0.5])
def test_a_simulation_tells_what_its_tree_refuses(round_trip: float) -> None:
    heard: list[float] = []

    class Listens(Says):
        def react(self, event: Event, view: SessionView) -> Iterable[Command]:
            if isinstance(event, CommandRefused):
                heard.append(view.now)
            return super().react(event, view)

    wrong = SetQuantum(("browser",), TOO_MUCH)
    policy = Listens("", lambda event: [wrong] if isinstance(event, DocumentOpened) else [])
    other = saying()
    page = SimulatedPage(1, (Item(2, 9_000),), at=1.0)
    simulate([policy, other], [page], rate=1_000, round_trip=round_trip)
    assert policy.refusals == [
        CommandRefused(wrong, "quantum of 20000 bytes: must be 64 to 16384, or 0")
    ]
    assert heard == [pytest.approx(1.0 + round_trip, abs=0.3)]
    assert other.refusals == []


def test_a_simulation_obeys_a_components_weight() -> None:
    def answer(event: Event) -> Iterable[Command]:
        if isinstance(event, SkeletonGrew):
            yield SetWeight(("browser", "1", "4"), 3.0)

    page = SimulatedPage(1, (Item(2, 3_000, Kind.TEXT), Item(4, 3_000, Kind.TEXT)))
    done = simulate(Says("", answer), [page], rate=1_000, quantum=100)
    assert done.components[4].complete == pytest.approx(4.0, abs=0.2)
    assert done.components[2].complete == pytest.approx(6.0)
