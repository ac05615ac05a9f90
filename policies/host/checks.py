"""Is a command possible? Asked before it leaves the device, so that a policy's slip costs no trip.

Pure. A command that is refused is reported with the policy's name; the policy goes on, because the
component it speaks of may just have gone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from math import isfinite
from typing import Any, Final, Protocol, get_args

import msgspec

from hats import reservations
from hats.disciplines import catalogue, registry
from hats.tree.errors import SchedulerError
from hats.tree.node import MAX_WEIGHT, MIN_WEIGHT
from plugins.finding import suggest
from policies.api.commands import (
    Cancel,
    Command,
    Defer,
    Fetch,
    GiveWay,
    Path,
    Raise,
    Reserve,
    Resume,
    SetPlan,
    SetQuantum,
    SetScheduler,
    SetTimer,
    SetWeight,
    WatchBandwidth,
)
from policies.api.plan import PlanError, Rule, from_wire, to_wire
from policies.api.view import ComponentView, DocumentView
from policies.host.standing_commands import ANY
from policies.host.to_wire import message_for
from wire.applications import NODES, TUNNELS, Application
from wire.frames import MAX_PAYLOAD
from wire.messages import BACKGROUND, UNATTRIBUTED, encode
from wire.skeleton import LEVELS

MIN_QUANTUM: Final = 64
"""Bytes; below, headers take more than a sixteenth of the link."""
MAX_URGENCY: Final = 255
MAX_RULES: Final = 256
MAX_COMMAND: Final = 48 * 1024
"""Bytes of a command's message: what one may have, less room for the numbers that "front" and
"back" become in a plan (wire.messages.MAX_MESSAGE)."""
MAX_DEPTH: Final = 3
"""Nodes below the root on a path: application, document, component."""
_ALWAYS: Final = (
    (Application.BACKGROUND.node, str(BACKGROUND)),
    (Application.OTHER.node, str(UNATTRIBUTED)),
    (Application.BROWSER.node, str(UNATTRIBUTED)),
)
"""Documents that are always open."""
COMMANDS: Final = get_args(Command)


class KnownComponents(Container[int], Protocol):
    """Components that are there now."""

    def get(self, component: int, /) -> ComponentView | None: ...


class KnownView(Protocol):
    """What is there now: a view, or who makes views."""

    @property
    def documents(self) -> Mapping[int, DocumentView]: ...
    @property
    def components(self) -> KnownComponents: ...


def problem(command: Command, view: KnownView) -> str:
    """Why the command can't be carried out, for people; "" if it can."""
    match command:
        case SetScheduler(path, name, params):
            if len(path) == MAX_DEPTH:
                return "a component has no scheduler"
            return _scheduler_problem(name, params) or _path_problem(path, view)
        case SetWeight(path, weight):
            if not path:
                return "the root has no siblings, so no weight"
            if not MIN_WEIGHT <= weight <= MAX_WEIGHT:
                return f"weight {weight}: must be {MIN_WEIGHT:g} to {MAX_WEIGHT:g}"
            return _path_problem(path, view)
        case SetQuantum(path, quantum):
            if quantum != 0 and not MIN_QUANTUM <= quantum <= MAX_PAYLOAD:
                return f"quantum of {quantum} bytes: must be {MIN_QUANTUM} to {MAX_PAYLOAD}, or 0"
            return _path_problem(path, view)
        case Reserve(path, rate, delay):
            if not path or ANY in path:
                return "a rate is guaranteed to one application, document or component"
            wrong = reservations.problem(rate, delay) if rate else ""
            return wrong or _path_problem(path, view)
        case GiveWay(path):
            if len(path) == MAX_DEPTH:
                return "a component gives way with its document"
            return _path_problem(path, view)
        case SetPlan(rules):
            return _plan_problem(rules)
        case Fetch(component, level, priority, timer):
            if level not in LEVELS:
                return f"no level is called {level!r}{suggest(level, LEVELS)}"
            if timer is not None and not (isfinite(timer) and timer > 0):
                return f"timer of {timer} seconds"
            return _urgency_problem(priority) or _component_problem(component, view)
        case Raise(component, urgency):
            return _urgency_problem(urgency) or _component_problem(component, view)
        case Cancel(component) | Defer(component) | Resume(component):
            return _component_problem(component, view)
        case WatchBandwidth(low, high):
            return "" if 0 <= low < high else f"range of {low} to {high} bytes/second is empty"
        case SetTimer(name, after, at):
            if after is not None and at is not None:
                return f"timer {name!r}: either after or at"
            when = after if after is not None else at
            return "" if when is None or isfinite(when) else f"timer {name!r} at {when}"


def size_problem(command: Command) -> str:
    """Why the command can't cross the link; "" if it can. Of a plan, with the rules of others."""
    message = message_for(command)
    size = 0 if message is None else len(encode(message))
    name = type(command).__name__
    return f"{name} of {size} bytes in all: at most {MAX_COMMAND}" if size > MAX_COMMAND else ""


def _scheduler_problem(name: str, params: Mapping[str, Any]) -> str:
    if catalogue.is_plugin(name):
        return ""  # only the remote proxy knows whether it has that
    known = registry.names()
    if name not in known:
        return f"no scheduler is called {name!r}{suggest(name, known)}"
    try:
        registry.create(name, params)
    except SchedulerError as error:
        return str(error)
    return ""


def _component_problem(component: int, view: KnownView) -> str:
    return "" if component in view.components else f"component {component} is not there"


def _urgency_problem(urgency: int) -> str:
    return "" if 0 <= urgency <= MAX_URGENCY else f"urgency {urgency}: must be 0 to {MAX_URGENCY}"


def _path_problem(path: Path, view: KnownView) -> str:
    if len(path) > MAX_DEPTH or not all(isinstance(name, str) and name for name in path):
        return f"{path!r} is not the path of a node"
    if path[:1] == (TUNNELS,) and len(path) > 1:
        return "single tunnels can't be set"
    if path and path[0] not in (*NODES, ANY):
        return f"no application is called {path[0]!r}{suggest(path[0], NODES)}"
    if ANY in path and len(path) == MAX_DEPTH:
        return f"{path!r}: components are set one by one"
    if path[1:] == (ANY,):
        return ""
    if len(path) >= 2 and path[:2] not in _ALWAYS and not _is_open(path[:2], view):
        return f"document {'/'.join(path[:2])} is not open"
    if len(path) == MAX_DEPTH and not _has(path, view):
        return f"component {'/'.join(path)} is not there"
    return ""


def _is_open(path: Path, view: KnownView) -> bool:
    found = view.documents.get(int(path[1])) if path[1].isdecimal() else None
    return found is not None and found.path == path


def _has(path: Path, view: KnownView) -> bool:
    found = view.documents.get(int(path[1]))
    return found is not None and path[2].isdecimal() and int(path[2]) in found.components


def _plan_problem(rules: tuple[Rule, ...]) -> str:
    if len(rules) > MAX_RULES:
        return f"a plan of {len(rules)} rules: at most {MAX_RULES}"
    try:
        from_wire(to_wire(rules))  # the types of a Rule are only checked here
    except (PlanError, TypeError, msgspec.ValidationError) as error:
        return str(error)
    return ""
