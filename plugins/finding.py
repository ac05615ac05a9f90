"""Finds a plug-in by what a person calls it.

In this order: `path/to/file.py` or `path/to/file.py:name`; `module:name`; the name of a built-in
one; the name of an entry point in the sort's group. A plug-in sees all that is browsed, so a file
is run only if nobody else can have written it (ownership.py). It must not know what any sort of
plug-in does.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from ownership import NotOwn, read_own


class LoadError(ValueError):
    """No plug-in is to be had under that name; the message says what was looked for, and where."""


@dataclass(frozen=True, slots=True)
class PluginSort:
    """What tells plug-ins of one sort from anything else."""

    noun: str
    """Names one in messages: "policy"."""
    group: str
    """Of entry points."""
    method: str
    """Which every one has."""
    plural: str


def suggest(name: str, known: tuple[str, ...]) -> str:
    """A tail for an error message: the name that was probably meant, and all there are."""
    close = get_close_matches(name, known, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"{meant} (there are: {', '.join(known)})"


def installed(sort: PluginSort, built_in: Collection[str] = ()) -> tuple[str, ...]:
    """Names of the built-in ones, then of those of installed packages."""
    others = {entry.name for entry in entry_points(group=sort.group)}
    return (*built_in, *sorted(others.difference(built_in)))


def find(
    what: str, sort: PluginSort, built_in: Mapping[str, object] | None = None
) -> tuple[object, str]:
    """The object meant, and where it was found. Raises LoadError."""
    known = built_in or {}
    head, _, attribute = what.rpartition(":")
    if what.endswith(".py"):
        return _only_one(_run(Path(what), sort), what, sort), what
    if head.endswith(".py"):
        return _attribute(_run(Path(head), sort), attribute, what, sort), what
    if head:
        with _told(f"{sort.noun} {what!r}: can't import {head!r}"):
            module = importlib.import_module(head)
        return _attribute(module, attribute, what, sort), what
    if what in known:
        return known[what], f"built-in {sort.noun} {what!r}"
    for entry in entry_points(group=sort.group):
        if entry.name == what:
            where = f"{sort.noun} {what!r} ({entry.value})"
            with _told(where):
                return entry.load(), where
    raise LoadError(
        f"no {sort.noun} is called {what!r}{suggest(what, installed(sort, tuple(known)))}; "
        "or give module:name, or the path of a .py file"
    )


def make(found: object, where: str, params: Mapping[str, Any], sort: PluginSort) -> object:
    """The plug-in itself: what was found, or what a call of that gives. Raises LoadError."""
    if inspect.isclass(found) or (callable(found) and not hasattr(found, sort.method)):
        with _told(where):
            return found(**params)
    if params:
        raise LoadError(f"{where}: is made already, so it takes no parameters")
    return found


@contextmanager
def _told(where: str) -> Iterator[None]:
    """Whatever a package does when it is imported or called is told as one LoadError."""
    try:
        yield
    except Exception as error:
        raise LoadError(f"{where}: {type(error).__name__}: {error}") from error


def _run(path: Path, sort: PluginSort) -> ModuleType:
    if not path.is_file():
        beside = tuple(sorted(other.name for other in path.parent.glob("*.py")))
        there = suggest(path.name, beside) if beside else " (no .py file is there)"
        raise LoadError(f"no file {path}{there}")
    module = ModuleType(f"sluice_{sort.noun.replace(' ', '_')}_{path.stem}")
    module.__file__ = str(path)
    try:
        code = read_own(path)
    except NotOwn as error:
        raise LoadError(f"{sort.noun} file {path} is not run: {error}") from error
    with _told(f"{sort.noun} file {path}"):
        # Never from __pycache__, which lies beside it and may be somebody else's.
        exec(compile(code, str(path), "exec"), vars(module))
    return module


def _attribute(module: ModuleType, name: str, what: str, sort: PluginSort) -> object:
    try:
        return getattr(module, name)
    except AttributeError:
        public = tuple(known for known in vars(module) if not known.startswith("_"))
        raise LoadError(
            f"{sort.noun} {what!r}: nothing is called {name!r}{suggest(name, public)}"
        ) from None


def _only_one(module: ModuleType, what: str, sort: PluginSort) -> object:
    """The object called as the sort is, else the one class of the file with its method."""
    named = sort.noun.replace(" ", "_")
    if hasattr(module, named):
        return getattr(module, named)
    classes = [
        found
        for found in vars(module).values()
        if inspect.isclass(found)
        and found.__module__ == module.__name__
        and hasattr(found, sort.method)
    ]
    if len(classes) == 1:
        return classes[0]
    if not classes:
        raise LoadError(f"{what}: no class in it has a method `{sort.method}`")
    choice = ", ".join(f"{what}:{found.__name__}" for found in classes)
    raise LoadError(f"{what}: which of its {sort.plural}? Say one of {choice}")
