"""The built-in schedulers by the name that policies call them (SetScheduler on the wire).

Parameters come from the peer, so each is checked here; the schedulers themselves take Python
objects. A wrapper's inner scheduler must be a static one, which bounds the nesting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, cast

from hats.disciplines.bandwidth_shares import BandwidthShares
from hats.disciplines.edf import EarliestDeadlineFirst
from hats.disciplines.fifo import Fifo
from hats.disciplines.in_order import InOrder
from hats.disciplines.low_fidelity_first import LowFidelityFirst, Order
from hats.disciplines.needs import FLOOR
from hats.disciplines.priority import Priority
from hats.disciplines.round_robin import RoundRobin
from hats.disciplines.text_first import TEXT, TextFirst
from hats.disciplines.tiers import DEFAULT, SMALL
from hats.disciplines.wf2q_plus import WF2QPlus
from hats.tree.errors import SchedulerError
from hats.tree.scheduler import Scheduler

MAX_KINDS: Final = 32
"""Names in one parameter."""
MAX_SMALL: Final = 1 << 30
"""Bytes."""
MAX_NEED: Final = 1e9
"""Bytes/second."""
MIN_FLOOR: Final = 0.01
MAX_FLOOR: Final = 0.5
"""Of the link, for who is not served by need: nobody starves, and needs count for something."""

Parameters = Mapping[str, Any]

STATIC: Final[Mapping[str, type[Scheduler]]] = MappingProxyType(
    {
        scheduler.name: scheduler
        for scheduler in (
            Fifo,
            InOrder,
            RoundRobin,
            Priority,
            EarliestDeadlineFirst,
            WF2QPlus,
        )
    }
)
"""They take no parameters: weights, orders, priorities and deadlines belong to the nodes."""


def _text_first(params: Parameters) -> Scheduler:
    """inner: a static scheduler; text, held_back: lists of kinds."""
    _only(TextFirst.name, params, "inner", "text", "held_back")
    held_back = params.get("held_back")
    return TextFirst(
        _inner(TextFirst.name, params),
        text=_kinds(TextFirst.name, "text", params.get("text", TEXT)),
        held_back=None if held_back is None else _kinds(TextFirst.name, "held_back", held_back),
    )


def _low_fidelity_first(params: Parameters) -> Scheduler:
    """inner: a static scheduler; order: in_order or round_robin; small: bytes."""
    name = LowFidelityFirst.name
    _only(name, params, "inner", "order", "small")
    small = params.get("small", SMALL)
    if type(small) is not int or not 0 <= small <= MAX_SMALL:
        raise SchedulerError(f"{name}: small={small!r} is not a number of bytes")
    order = cast(Order, params.get("order", "in_order"))
    return LowFidelityFirst(_inner(name, params), order=order, tiers=replace(DEFAULT, small=small))


def _bandwidth_shares(params: Parameters) -> Scheduler:
    """needs: bytes/second by name or kind; floor: part of the link for the others."""
    name = BandwidthShares.name
    _only(name, params, "needs", "floor")
    needs = params.get("needs", {})
    if (
        not isinstance(needs, Mapping)
        or len(needs) > MAX_KINDS
        or not all(isinstance(of, str) and _within(n, 1, MAX_NEED) for of, n in needs.items())
    ):
        allowed = f"at most {MAX_KINDS} names or kinds, each with 1 to {MAX_NEED:g} bytes/second"
        raise SchedulerError(f"{name}: needs={needs!r} is not {allowed}")
    floor = params.get("floor", FLOOR)
    if not _within(floor, MIN_FLOOR, MAX_FLOOR):
        raise SchedulerError(f"{name}: floor={floor!r} is not {MIN_FLOOR} to {MAX_FLOOR}")
    return BandwidthShares(needs, floor=floor)


def _within(value: object, least: float, most: float) -> bool:
    return type(value) in (int, float) and least <= cast(float, value) <= most


DYNAMIC: Final[Mapping[str, Callable[[Parameters], Scheduler]]] = MappingProxyType(
    {
        TextFirst.name: _text_first,
        LowFidelityFirst.name: _low_fidelity_first,
        BandwidthShares.name: _bandwidth_shares,
    }
)


INITIAL: Final = "wf2q_plus"
"""What every interior node begins with, and goes back to when nobody orders it otherwise: equal
shares of bytes."""


def names() -> tuple[str, ...]:
    """What `create` knows."""
    return (*STATIC, *DYNAMIC)


def create(name: str, params: Parameters | None = None) -> Scheduler:
    """A new scheduler. Raises SchedulerError that names what was wrong."""
    params = params or {}
    static = STATIC.get(name)
    if static is not None:
        _only(name, params)
        return static()
    dynamic = DYNAMIC.get(name)
    if dynamic is None:
        raise SchedulerError(f"no scheduler {name!r}; there are {', '.join(names())}")
    return dynamic(params)


def _only(name: str, params: Parameters, *known: str) -> None:
    for key in params:
        if key not in known:
            takes = f"takes {', '.join(known)}" if known else "takes no parameters"
            raise SchedulerError(f"{name}: no parameter {key!r}; it {takes}")


def _inner(name: str, params: Parameters) -> Scheduler:
    inner = params.get("inner", WF2QPlus.name)
    static = STATIC.get(inner) if isinstance(inner, str) else None
    if static is None:
        raise SchedulerError(f"{name}: inner={inner!r} is not one of {', '.join(STATIC)}")
    return static()


def _kinds(name: str, key: str, value: object) -> tuple[str, ...]:
    if (
        not isinstance(value, list | tuple)
        or len(value) > MAX_KINDS
        or not all(isinstance(kind, str) for kind in value)
    ):
        raise SchedulerError(f"{name}: {key}={value!r} is not a list of at most {MAX_KINDS} kinds")
    return tuple(value)
