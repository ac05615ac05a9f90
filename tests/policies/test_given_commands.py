"""Tests of what is remembered of commands that were said: whose each number is, and no more."""

from __future__ import annotations

from policies.api import Raise
from policies.host.given_commands import MOST_SAID, GivenCommand, Giver, SaidCommands

GIVER = Giver(1, Raise(2))
GIVEN = GivenCommand(Raise(2), (GIVER,))


def test_a_number_is_taken_once_and_one_that_was_never_used_is_nobodys() -> None:
    said = SaidCommands()
    said.put(7, GIVEN)
    assert said.take(8) == said.take(-1) == said.take(1 << 70) == ()
    assert said.take(7) == (GIVER,)
    assert said.take(7) == ()


def test_what_the_host_gave_itself_is_not_remembered() -> None:
    said = SaidCommands()
    said.put(1, GivenCommand(Raise(2, 0)))
    assert len(said) == 0


def test_the_oldest_are_forgotten_and_all_of_them_with_the_session() -> None:
    said = SaidCommands()
    for number in range(1, MOST_SAID + 3):
        said.put(number, GIVEN)
    assert len(said) == MOST_SAID
    assert said.take(2) == ()
    assert said.take(3) == (GIVER,)
    said.clear()
    assert said.take(MOST_SAID) == ()
