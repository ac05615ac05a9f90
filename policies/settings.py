"""What policies have set and still stands: whose it is, and what holds if its owner goes.

The command given last holds, whoever gave it. Each policy's own last word is kept beside it, so a
policy that is switched off takes its settings along: the next one's word holds again, or what held
before any policy spoke. Plans are not rivals; they are read one after the other.

Pure. Also keeps the link quiet: a command that changes nothing is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from policies.commands import (
    Command,
    Defer,
    Path,
    Raise,
    Resume,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetWeight,
)
from policies.plan import Rule

Key = tuple[str, Path | int]
DEFAULT_SCHEDULERS: Final = ("round_robin", "round_robin", "in_order")
"""Of the root, of applications, of documents: what the hierarchy starts with (HATS 4.1.1)."""


class Settings:
    """The standing commands of all policies. An owner is the policy's place in the order."""

    def __init__(self) -> None:
        self._words: dict[Key, dict[int, Command]] = {}
        """Each owner's last word; the one given last stands last, and holds."""
        self._plans: dict[int, tuple[Rule, ...]] = {}
        self.schedulers: dict[Path, str] = {}
        self.weights: dict[Path, float] = {}
        self.deferred: frozenset[int] = frozenset()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The plans of all policies, in their order."""
        return tuple(rule for owner in sorted(self._plans) for rule in self._plans[owner])

    def put(self, owner: int, command: Command) -> list[Command]:
        """Take a command; what is to be sent: it, or nothing when it changes nothing."""
        if isinstance(command, SetPlan):
            before = self.rules
            self._plans[owner] = command.rules
            return [SetPlan(self.rules)] if self.rules != before else []
        key = _key(command)
        if key is None:
            return [command]
        words = self._words.setdefault(key, {})
        held = _last(words)
        if held is None and not isinstance(command, SetScheduler):
            held = _neutral(command)  # of schedulers, the remote proxy's usual one is not relied on
        words.pop(owner, None)
        words[owner] = command
        self._note(command)
        return [command] if command != held else []

    def withdraw(self, owner: int) -> list[Command]:
        """Forget what a policy has set; the commands that undo it."""
        undo: list[Command] = []
        for key in list(self._words):
            words = self._words[key]
            held = _last(words)
            mine = words.pop(owner, None)
            if mine is None or held is None:
                continue
            holds = _last(words)
            if holds is None:
                del self._words[key]
                holds = _neutral(mine)
            self._note(holds)
            if holds != held:
                undo.append(holds)
        if self._plans.pop(owner, ()):
            undo.append(SetPlan(self.rules))
        return undo

    def forget(self, *, document: Path, components: Iterable[int]) -> None:
        """A document is gone, with its node and all below."""
        gone = set(components)
        for key in list(self._words):
            node = key[1]
            if node in gone if isinstance(node, int) else node[: len(document)] == document:
                del self._words[key]
        self.deferred -= gone
        self.schedulers = _without(self.schedulers, document)
        self.weights = _without(self.weights, document)

    def standing(self) -> list[Command]:
        """Everything that holds, for a remote proxy that knows nothing of it."""
        commands = [held for words in self._words.values() if (held := _last(words)) is not None]
        return [*commands, SetPlan(self.rules)] if self._plans else commands

    def _note(self, command: Command) -> None:
        if isinstance(command, SetScheduler):
            self.schedulers[command.path] = command.name
        elif isinstance(command, SetWeight):
            self.weights[command.path] = command.weight
        elif isinstance(command, Defer):
            self.deferred |= {command.component}
        elif isinstance(command, Resume):
            self.deferred -= {command.component}


T = TypeVar("T")


def _without(known: Mapping[Path, T], document: Path) -> dict[Path, T]:
    return {path: told for path, told in known.items() if path[: len(document)] != document}


def _last(words: dict[int, Command]) -> Command | None:
    return words[next(reversed(words))] if words else None


def _key(command: Command) -> Key | None:
    """What the command sets; None: it sets nothing that lasts."""
    match command:
        case SetScheduler(path):
            return ("scheduler", path)
        case SetWeight(path):
            return ("weight", path)
        case SetQuantum(path):
            return ("quantum", path)
        case Defer(component) | Resume(component):
            return ("deferred", component)
        case Raise(component):
            return ("urgency", component)
        case _:
            return None


def _neutral(command: Command) -> Command:
    """What holds where no policy has said otherwise."""
    match command:
        case SetScheduler(path):
            return SetScheduler(path, DEFAULT_SCHEDULERS[min(len(path), 2)])
        case SetWeight(path):
            return SetWeight(path, 1.0)
        case SetQuantum(path):
            return SetQuantum(path, 0)
        case Defer(component) | Resume(component):
            return Resume(component)
        case Raise(component):
            return Raise(component, 0)
        case _:
            raise AssertionError(f"{command} sets nothing that lasts")
