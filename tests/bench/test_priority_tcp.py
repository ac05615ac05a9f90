"""The question of `priority` over real TCP, in small."""

import asyncio
from dataclasses import replace

import pytest

from bench.scenarios.links import priority, priority_tcp
from transport.link.quantum import Chunks

LEAST = 0.1
"""Of the link's rate, in a second and a half"""
TRIES = 3
"""of so many, each with a link of its own."""


def test_every_link_but_those_of_tls_is_known_by_its_name() -> None:
    assert priority.LINKS == ("56k", "384k", "5M", "5M-1M", "satellite", "lte")
    assert [case.name for case in priority.cases("lte")] == ["lte, 20M, queue 64 KB of 150"]
    with pytest.raises(ValueError, match="there are 56k"):
        priority.cases("57k")


def test_an_urgent_quantum_over_kernel_tcp_behind_a_hidden_buffer() -> None:
    case = next(one for one in priority.cases("5M") if not one.model.droptail)
    rows = (
        asyncio.run(priority_tcp.measure(replace(case, warm_up=0.6), seconds=1.5))
        for _ in range(TRIES)
    )
    row = next((one for one in rows if one["goodput"] > LEAST), {"goodput": 0.0})
    # How much is the bench's matter: others may want the processors, all of them now and then.
    assert row["goodput"] > LEAST
    assert row["over"] == "relay"
    assert row["chunks"] == 3
    # A machine that is busy measures less than the link has, and fits to that.
    assert row["quantum"] == Chunks(segment=row["segment"]).quantum(row["fitted_to"])
    assert 0.1 < row["fitted_to"] / case.model.rate_down < 1.3
    assert 0.04 < row["median_s"] < 0.4  # without a gate 256 KB take half a second
