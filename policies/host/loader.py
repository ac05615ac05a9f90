"""Finds a policy by what a person calls it.

In this order: `path/to/file.py` or `path/to/file.py:name`; `module:name`; the name of a built-in
one; the name of an entry point in the group `sluice.policies`. What is found may be a policy or
something to call that makes one; parameters go to the call. A policy sees all that is browsed, so
a file is run only if nobody else can have written it (ownership.py).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ownership import NotOwn, read_own
from policies.api import Policy
from policies.builtin.attention import Attention
from policies.builtin.callback_priorities import CallbackPriorities
from policies.builtin.decks import DeckCurrentSlide, DeckInOrder, DeckInView, DeckText
from policies.builtin.default import Default
from policies.builtin.equal import Equal
from policies.builtin.focus import Focus
from policies.builtin.low_fidelity_first import LowFidelityFirst
from policies.builtin.modal import Modal
from policies.builtin.original import Original
from policies.builtin.save_data import SaveData
from policies.builtin.text_first import TextFirst
from policies.host.checks import suggest

GROUP: Final = "sluice.policies"
BUILT_IN: Final = (
    Default,
    Original,
    Equal,
    TextFirst,
    LowFidelityFirst,
    Focus,
    Attention,
    SaveData,
    Modal,
    CallbackPriorities,
    DeckText,
    DeckInOrder,
    DeckInView,
    DeckCurrentSlide,
)


class LoadError(ValueError):
    """No policy is to be had under that name; the message says what was looked for, and where."""


def names() -> tuple[str, ...]:
    """What `load` finds by name: the built-in ones, then those of installed packages."""
    installed = {entry.name for entry in entry_points(group=GROUP)}
    built_in = tuple(policy.name for policy in BUILT_IN)
    return (*built_in, *sorted(installed.difference(built_in)))


def load(what: str, params: Mapping[str, Any] | None = None) -> Policy:
    """The policy called `what`. Raises LoadError."""
    found, where = _find(what)
    return _make(found, where, dict(params or {}))


def load_all(
    specs: Iterable[str], params: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Policy]:
    """Several, in order: a later one may override an earlier one. `params` are keyed by spec."""
    given = params or {}
    specs = list(specs)
    stray = sorted(given.keys() - set(specs))
    if stray:
        raise LoadError(f"parameters for {stray[0]!r}, which is not among the policies: {specs}")
    return [load(spec, given.get(spec)) for spec in specs]


def _find(what: str) -> tuple[object, str]:
    """The object meant, and where it was found."""
    head, _, attribute = what.rpartition(":")
    if what.endswith(".py"):
        return _only_policy(_run(Path(what)), what), what
    if head.endswith(".py"):
        return _attribute(_run(Path(head)), attribute, what), what
    if head:
        return _attribute(_import(head, what), attribute, what), what
    for policy in BUILT_IN:
        if policy.name == what:
            return policy, f"built-in policy {what!r}"
    for entry in entry_points(group=GROUP):
        if entry.name == what:
            try:
                return entry.load(), f"policy {what!r} ({entry.value})"
            except Exception as error:  # whatever the package does when it is imported
                raise LoadError(f"policy {what!r} ({entry.value}): {_told(error)}") from error
    raise LoadError(
        f"no policy is called {what!r}{suggest(what, names())}; "
        "or give module:name, or the path of a .py file"
    )


def _import(module: str, what: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise LoadError(f"policy {what!r}: can't import {module!r}: {_told(error)}") from error


def _run(path: Path) -> ModuleType:
    if not path.is_file():
        beside = tuple(sorted(other.name for other in path.parent.glob("*.py")))
        there = suggest(path.name, beside) if beside else " (no .py file is there)"
        raise LoadError(f"no file {path}{there}")
    module = ModuleType(f"sluice_policy_{path.stem}")
    module.__file__ = str(path)
    try:
        # Never from __pycache__, which lies beside it and may be somebody else's.
        exec(compile(read_own(path), str(path), "exec"), vars(module))
    except NotOwn as error:
        raise LoadError(f"policy file {path} is not run: {error}") from error
    except Exception as error:
        raise LoadError(f"policy file {path}: {_told(error)}") from error
    return module


def _attribute(module: ModuleType, name: str, what: str) -> object:
    try:
        return getattr(module, name)
    except AttributeError:
        public = tuple(known for known in vars(module) if not known.startswith("_"))
        raise LoadError(
            f"policy {what!r}: nothing is called {name!r}{suggest(name, public)}"
        ) from None


def _only_policy(module: ModuleType, what: str) -> object:
    """The object called `policy`, else the one class of the file that can react."""
    if hasattr(module, "policy"):
        return module.policy
    classes = [
        found
        for found in vars(module).values()
        if inspect.isclass(found)
        and found.__module__ == module.__name__
        and hasattr(found, "react")
    ]
    if len(classes) == 1:
        return classes[0]
    if not classes:
        raise LoadError(f"{what}: no class in it has a method `react`")
    choice = ", ".join(f"{what}:{found.__name__}" for found in classes)
    raise LoadError(f"{what}: which of its policies? Say one of {choice}")


def _make(found: object, where: str, params: dict[str, Any]) -> Policy:
    made = found
    if inspect.isclass(found) or (callable(found) and not hasattr(found, "react")):
        try:
            made = found(**params)
        except Exception as error:
            raise LoadError(f"{where}: {_told(error)}") from error
    elif params:
        raise LoadError(f"{where}: is made already, so it takes no parameters")
    if not isinstance(made, Policy) or not callable(made.react):
        raise LoadError(f"{where}: {made!r:.100} is no policy: it needs `name` and `react`")
    return made


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
