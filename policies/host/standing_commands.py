"""Keeps what policies have set and still stands: whose it is, and what holds if its owner goes.

The command given last holds, whoever gave it. Each policy's own last word is kept beside it, so a
policy that is switched off takes its settings along: the next one's word holds again, or what held
before any policy spoke. Plans are not rivals; they are read one after the other. A path with "*" in
it means many nodes: what is said of one of them alone, later, holds for that one.

What the remote proxy refused stands no more. Pure. Also keeps the link quiet: a command that
changes nothing is not sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from hats.disciplines.registry import INITIAL
from policies.api.commands import (
    Command,
    Defer,
    GiveWay,
    Path,
    Raise,
    Reserve,
    Resume,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetWeight,
)
from policies.api.plan import Rule

Key = tuple[str, Path | int]
T = TypeVar("T")
ANY: Final = "*"
"""In a path, stands for any one name."""
_DOCUMENT: Final = 2
"""Names of a document's path."""
MAX_DOUBTFUL: Final = 1_000
"""Settings of which a word was refused and none has been said since, that are remembered."""
_PLAN: Final[Key] = ("plan", ())
_AT_NODES: Final = (SetScheduler, SetWeight, SetQuantum, Reserve, GiveWay)
_OF_COMPONENTS: Final = ("deferred", "urgency")
"""What is said of components by their id."""


class StandingCommands:
    """The standing commands of all policies. An owner is the policy's place in the order."""

    def __init__(self) -> None:
        self._words: dict[Key, dict[int, Command]] = {}
        """Each owner's last word; the one given last stands last, and holds."""
        self._plans: dict[int, tuple[Rule, ...]] = {}
        self._patterns: dict[Key, None] = {}
        """Those whose paths mean many nodes, in the order in which they were first said."""
        self._below: dict[Path, set[Key]] = {}
        """By document: what was said of its node and those below."""
        self._schedulers: dict[Path, str] = {}
        self._weights: dict[Path, float] = {}
        self._deferred: set[int] = set()
        self._doubtful: dict[Key, tuple[int, Command]] = {}
        """What was refused, and whose it was: the remote proxy still goes by an earlier word."""
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
            doubtful = self._doubtful.pop(_PLAN, None) is not None
            return [SetPlan(self.rules)] if self.rules != before or doubtful else []
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
        doubtful = self._doubtful.pop(key, None) is not None
        if _means_many(key):
            self._patterns[key] = None
        elif not doubtful and not any(self._covering(key)):
            return [command] if command != held else []
        return [command]

    def refused(self, owner: int, command: Command) -> None:
        """The remote proxy can't carry this out: it stands no more, unless another came since."""
        key = _PLAN if isinstance(command, SetPlan) else _key(command)
        if key is None or not self._take_back(owner, key, command):
            return
        self._doubtful[key] = owner, command
        if len(self._doubtful) > MAX_DOUBTFUL:
            del self._doubtful[next(iter(self._doubtful))]

    def _take_back(self, owner: int, key: Key, command: Command) -> bool:
        """Whether it was the owner's last word, which it is no more."""
        if isinstance(command, SetPlan):
            if self._plans.get(owner) != command.rules:
                return False
            self._plan(owner, None)
            return True
        words = self._words.get(key, {})
        if words.get(owner) != command:
            return False
        del words[owner]
        holds = _last(words)
        self._note(self._otherwise(key, command) if holds is None else holds)
        if holds is None:
            del self._words[key]
            self._patterns.pop(key, None)
            self._unnote(key)
        return True

    def withdraw(self, owner: int) -> list[Command]:
        """Forget what a policy has set; the commands that undo it."""
        undo: list[Command] = []
        over: list[Key] = []
        for key in list(self._words):
            words = self._words[key]
            held = _last(words)
            mine = words.pop(owner, None)
            if mine is None or held is None:
                continue
            holds = _last(words)
            if holds is None:
                del self._words[key]
                self._patterns.pop(key, None)
                holds = self._otherwise(key, mine)
            self._note(holds)
            if holds != held:
                undo.append(holds)
                over += [key] if _means_many(key) else []
        undo += self._once_more(over)
        for key in [key for key, (whose, _) in self._doubtful.items() if whose == owner]:
            _, refused = self._doubtful.pop(key)
            if key != _PLAN:
                undo.append(_last(self._words.get(key, {})) or self._otherwise(key, refused))
        if self._plans.get(owner):
            self._plan(owner, None)
            undo.append(SetPlan(self.rules))
        return undo

    def forget(self, *, document: Path, components: Iterable[int]) -> None:
        """A document is gone, with its node and all below."""
        for key in self._below.pop(document, ()):
            self._words.pop(key, None)
            self._doubtful.pop(key, None)
            self._unnote(key)
        for component in components:
            for about in _OF_COMPONENTS:
                self._words.pop((about, component), None)
                self._doubtful.pop((about, component), None)
            if component in self._deferred:
                self._deferred.discard(component)
                self._told_deferred = None

    def standing(self) -> list[Command]:
        """Everything that holds, for a remote proxy that knows nothing of it."""
        commands = [command for _, command in self.held()]
        return [*commands, SetPlan(self.rules)] if self._plans else commands

    def held(self) -> list[tuple[int, Command]]:
        """What holds, but for plans, and whose word it is."""
        return [next(reversed(words.items())) for words in self._words.values() if words]

    def rules_with(self, owner: int, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The plans of all policies, if the owner's were this one."""
        plans = {**self._plans, owner: rules}
        return tuple(rule for one in sorted(plans) for rule in plans[one])

    def rules_of(self, owner: int) -> tuple[Rule, ...]:
        """One policy's plan, as it said it."""
        return self._plans.get(owner, ())

    def plans(self) -> list[tuple[int, SetPlan]]:
        """Each policy's plan, and whose it is."""
        return [(owner, SetPlan(self._plans[owner])) for owner in sorted(self._plans)]

    def _covering(self, key: Key) -> Iterator[Command]:
        """What holds by the paths that mean this node among others, the latest last."""
        for pattern in self._patterns:
            held = _last(self._words[pattern])
            if held is not None and pattern != key and _covers(pattern, key):
                yield held

    def _otherwise(self, key: Key, command: Command) -> Command:
        """What holds of these nodes once nobody says anything of them by this path."""
        covering = [*self._covering(key)]
        held = covering[-1] if covering else None
        if isinstance(held, _AT_NODES) and isinstance(command, _AT_NODES):
            return replace(held, path=command.path)
        return _neutral(command)

    def _once_more(self, over: list[Key]) -> list[Command]:
        """What holds of single nodes by their own paths, after patterns that mean them too."""
        return [
            held
            for key, words in self._words.items()
            if any(_covers(pattern, key) for pattern in over if pattern != key)
            if (held := _last(words)) is not None
        ]

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

    def _unnote(self, key: Key) -> None:
        """No policy says anything of this node any more."""
        name, path = key
        if isinstance(path, tuple):
            for about, now in (("scheduler", self._schedulers), ("weight", self._weights)):
                if name == about:
                    now.pop(path, None)
            self._told.clear()

    def _plan(self, owner: int, rules: tuple[Rule, ...] | None) -> None:
        self.rules = self.rules_with(owner, rules or ())
        if rules is None:
            del self._plans[owner]
        else:
            self._plans[owner] = rules

    def _frozen(self, name: str, now: dict[Path, T]) -> Mapping[Path, T]:
        if name not in self._told:
            self._told[name] = MappingProxyType(dict(now))
        return self._told[name]


def _last(words: dict[int, Command]) -> Command | None:
    return words[next(reversed(words))] if words else None


def _means_many(key: Key) -> bool:
    """Whether the path has "*" in it."""
    return isinstance(key[1], tuple) and ANY in key[1]


def _covers(pattern: Key, key: Key) -> bool:
    """Whether the nodes that one path means are among those of the other, for the same sort of
    command."""
    wanted, path = pattern[1], key[1]
    if pattern[0] != key[0] or not isinstance(wanted, tuple) or not isinstance(path, tuple):
        return False
    return len(wanted) == len(path) and all(
        want in (ANY, name) for want, name in zip(wanted, path, strict=True)
    )


def _key(command: Command) -> Key | None:
    """What the command sets; None: it sets nothing that lasts."""
    match command:
        case SetScheduler(path):
            return ("scheduler", path)
        case SetWeight(path):
            return ("weight", path)
        case SetQuantum(path):
            return ("quantum", path)
        case Reserve(path):
            return ("rate", path)
        case GiveWay(path):
            return ("way", path)
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
        case Reserve(path):
            return Reserve(path, 0.0)
        case GiveWay(path):
            return GiveWay(path, False)
        case Defer(component) | Resume(component):
            return Resume(component)
        case Raise(component):
            return Raise(component, 0)
        case _:
            raise AssertionError(f"{command} sets nothing that lasts")
