"""Remembers who gave which command, so that a refusal of the remote proxy finds its way back.

Both ends of a session count its commands (wire.messages.COMMANDS), and a refusal names one by its
number. The number comes from the other end, so any may come, and none is taken twice. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from policies.api.commands import Command

MOST_SAID: Final = 10_000
"""Commands of a session that are remembered: as many as one reaction may give."""


@dataclass(frozen=True, slots=True)
class Giver:
    """Names who gave a command."""

    owner: int
    """The policy's place in the order."""
    command: Command
    """As the policy gave it."""
    answers_refusal: bool = False
    """It was given in answer to `CommandRefused`."""


@dataclass(frozen=True, slots=True)
class GivenCommand:
    """Is a command on its way to the remote proxy, with those who gave it."""

    command: Command
    """As the remote proxy gets it: a plan has the rules of all policies."""
    givers: tuple[Giver, ...] = ()
    """None: the host gave it, to undo what a policy had set."""


class SaidCommands:
    """Keeps what was said lately in one session, by number."""

    def __init__(self) -> None:
        self._givers: dict[int, tuple[Giver, ...]] = {}

    def __len__(self) -> int:
        return len(self._givers)

    def put(self, number: int, given: GivenCommand) -> None:
        """Remember who gave a command; numbers only rise within a session."""
        if given.givers:
            self._givers[number] = given.givers
            if len(self._givers) > MOST_SAID:
                del self._givers[next(iter(self._givers))]

    def take(self, number: int) -> tuple[Giver, ...]:
        """Whose command has that number; nobody's if it was never used, or long ago."""
        return self._givers.pop(number, ())

    def clear(self) -> None:
        """Forget all: another session counts anew."""
        self._givers.clear()
