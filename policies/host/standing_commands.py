"""Keeps what policies have set and still stands: whose it is, and what holds if its owner goes.

The command given last holds, whoever gave it. Each policy's own last word is kept beside it, so a
policy that is switched off takes its settings along: the next one's word holds again, or what held
before any policy spoke. Plans are not rivals; they are read one after the other.

Pure. Also keeps the link quiet: a command that changes nothing is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hats.disciplines.registry import INITIAL
from policies.api.commands import (
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
from policies.api.plan import Rule

Key = tuple[str, Path | int]
T = TypeVar("T")
_DOCUMENT: Final = 2
"""Names of a document's path."""
_OF_COMPONENTS: Final = ("deferred", "urgency")
"""What is said of components by their id."""


class StandingCommands:
    """The standing commands of all policies. An owner is the policy's place in the order."""

    def __init__(self) -> None:
        self._words: dict[Key, dict[int, Command]] = {}
        """Each owner's last word; the one given last stands last, and holds."""
        self._plans: dict[int, tuple[Rule, ...]] = {}
        self._below: dict[Path, set[Key]] = {}
        """By document: what was said of its node and those below."""
        self._schedulers: dict[Path, str] = {}
        self._weights: dict[Path, float] = {}
        self._deferred: set[int] = set()
        self._told: dict[str, Mapping[Path, Any]] = {}
        """Frozen copies of the two above, until they change."""
        self._told_deferred: frozenset[int] | None = frozenset()
        self.rules: tuple[Rule, ...] = ()
        """The plans of all policies, in their order."""

    @property
    def schedulers(self) -> Mapping[Path, str]:
        """Names of those that policies have set, as it is now."""
        return self._frozen("schedulers", self._schedulers)

    @property
    def weights(self) -> Mapping[Path, float]:
        """The weights that policies have set, as it is now."""
        return self._frozen("weights", self._weights)

    @property
    def deferred(self) -> frozenset[int]:
        """Components that a policy holds back, as it is now."""
        if self._told_deferred is None:
            self._told_deferred = frozenset(self._deferred)
        return self._told_deferred

    def put(self, owner: int, command: Command) -> list[Command]:
        """Take a command; what is to be sent: it, or nothing when it changes nothing."""
        if isinstance(command, SetPlan):
            before = self.rules
            self._plan(owner, command.rules)
            return [SetPlan(self.rules)] if self.rules != before else []
        key = _key(command)
        if key is None:
            return [command]
        words = self._words.setdefault(key, {})
        if isinstance(key[1], tuple) and len(key[1]) >= _DOCUMENT:
            self._below.setdefault(key[1][:_DOCUMENT], set()).add(key)
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
        if self._plans.get(owner):
            self._plan(owner, None)
            undo.append(SetPlan(self.rules))
        return undo

    def forget(self, *, document: Path, components: Iterable[int]) -> None:
        """A document is gone, with its node and all below."""
        for key in self._below.pop(document, ()):
            self._words.pop(key, None)
            if isinstance(key[1], tuple):
                self._schedulers.pop(key[1], None)
                self._weights.pop(key[1], None)
                self._told.clear()
        for component in components:
            for about in _OF_COMPONENTS:
                self._words.pop((about, component), None)
            if component in self._deferred:
                self._deferred.discard(component)
                self._told_deferred = None

    def standing(self) -> list[Command]:
        """Everything that holds, for a remote proxy that knows nothing of it."""
        commands = [held for words in self._words.values() if (held := _last(words)) is not None]
        return [*commands, SetPlan(self.rules)] if self._plans else commands

    def _note(self, command: Command) -> None:
        if isinstance(command, SetScheduler):
            self._schedulers[command.path] = command.name
            self._told.pop("schedulers", None)
        elif isinstance(command, SetWeight):
            self._weights[command.path] = command.weight
            self._told.pop("weights", None)
        elif isinstance(command, Defer):
            self._deferred.add(command.component)
            self._told_deferred = None
        elif isinstance(command, Resume) and command.component in self._deferred:
            self._deferred.discard(command.component)
            self._told_deferred = None

    def _plan(self, owner: int, rules: tuple[Rule, ...] | None) -> None:
        if rules is None:
            del self._plans[owner]
        else:
            self._plans[owner] = rules
        self.rules = tuple(rule for one in sorted(self._plans) for rule in self._plans[one])

    def _frozen(self, name: str, now: dict[Path, T]) -> Mapping[Path, T]:
        if name not in self._told:
            self._told[name] = MappingProxyType(dict(now))
        return self._told[name]


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
            return SetScheduler(path, INITIAL)
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
