"""Schedulers by name, as a policy's command brings them."""

from __future__ import annotations

from typing import Any

import pytest

from hats.disciplines import registry
from hats.disciplines.bandwidth_shares import BandwidthShares
from hats.disciplines.fifo import Fifo
from hats.disciplines.low_fidelity_first import LowFidelityFirst
from hats.disciplines.text_first import TextFirst
from hats.tree.errors import SchedulerError
from hats.tree.hierarchy import Hierarchy


@pytest.mark.parametrize("name", registry.names())
def test_every_name_makes_a_scheduler_of_that_name(name: str) -> None:
    scheduler = registry.create(name)
    assert scheduler.name == name
    assert Hierarchy(root=scheduler).root.scheduler is scheduler


def test_each_call_makes_a_new_one() -> None:
    assert registry.create("fifo") is not registry.create("fifo", {})


def test_parameters() -> None:
    text_first = registry.create(
        "text_first", {"inner": "fifo", "text": ["text"], "held_back": ["image"]}
    )
    assert isinstance(text_first, TextFirst)
    assert isinstance(text_first.inner, Fifo)
    fine = registry.create("low_fidelity_first", {"order": "round_robin", "small": 0})
    assert isinstance(fine, LowFidelityFirst)
    assert fine.inner.name == "wf2q_plus"
    shares = registry.create("bandwidth_shares", {"needs": {"media": 9000}, "floor": 0.1})
    assert isinstance(shares, BandwidthShares)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("best", {}, "no scheduler 'best'; there are fifo, in_order"),
        ("fifo", {"x": 1}, "fifo: no parameter 'x'; it takes no parameters"),
        ("text_first", {"x": 1}, "no parameter 'x'; it takes inner, text, held_back"),
        ("text_first", {"inner": "text_first"}, "inner='text_first' is not one of fifo"),
        ("text_first", {"inner": ["fifo"]}, "inner="),
        ("text_first", {"text": "text"}, "text='text' is not a list"),
        ("text_first", {"text": [1]}, "is not a list"),
        ("text_first", {"held_back": ["k"] * 33}, "at most 32 kinds"),
        ("low_fidelity_first", {"order": "random"}, "order 'random'"),
        ("low_fidelity_first", {"order": ["in_order"]}, "order"),
        ("low_fidelity_first", {"small": -1}, "small=-1 is not"),
        ("low_fidelity_first", {"small": True}, "small=True is not"),
        ("low_fidelity_first", {"small": 1 << 40}, "is not a number of bytes"),
        ("bandwidth_shares", {"inner": "fifo"}, "it takes needs, floor"),
        ("bandwidth_shares", {"needs": ["media"]}, "is not at most 32 names or kinds"),
        ("bandwidth_shares", {"needs": {"media": 0}}, "each with 1 to 1e.09 bytes/second"),
        ("bandwidth_shares", {"needs": {"media": True}}, "needs="),
        ("bandwidth_shares", {"needs": {"media": float("nan")}}, "needs="),
        ("bandwidth_shares", {"needs": {7: 1000}}, "needs="),
        ("bandwidth_shares", {"needs": {str(n): 1 for n in range(33)}}, "needs="),
        ("bandwidth_shares", {"floor": 0}, "floor=0 is not 0.01 to 0.5"),
        ("bandwidth_shares", {"floor": "low"}, "floor='low'"),
    ],
)
def test_what_is_wrong_is_named(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(SchedulerError, match=message):
        registry.create(name, params)
