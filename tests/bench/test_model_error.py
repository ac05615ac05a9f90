"""Models of TCP are tried on random paths: how paths are drawn, and one over the kernel's TCP."""

from __future__ import annotations

import asyncio

import pytest

from bench.scenarios.monitor import model_error
from bench.scenarios.monitor.modelled_transfers import side_by_side
from bench.scenarios.monitor.random_paths import LEAST_QUEUE, draw
from emulation.worlds.cables import NoBackend
from monitor.models import model


def test_paths_are_those_of_the_seed_and_every_kind_is_among_them() -> None:
    paths = draw(50, seed=3)
    assert paths == draw(50, seed=3) != draw(50, seed=4)
    assert draw(5, seed=3) == paths[:5]
    kinds = [path.kind for path in paths]
    counts = [kinds.count(kind) for kind in ("loss", "runs", "link", "window")]
    assert counts == [20, 10, 10, 10]
    assert {path.delays_acks for path in paths} == {True, False}


def test_paths_stay_within_what_is_asked_of_them() -> None:
    for path in draw(200, seed=1):
        profile = path.profile
        assert 0.01 <= profile.delay <= 0.15
        assert profile.loss == 0 if path.kind == "link" else 0.001 <= profile.loss <= 0.05
        assert (profile.loss_run > 1) == (path.kind == "runs")
        assert profile.queue >= LEAST_QUEUE
        assert (path.receive_buffer is not None) == (path.kind == "window")


def test_a_connection_of_which_nothing_is_said_is_an_error_without_bound() -> None:
    rows = [{"error_percent": error} for error in (5.0, -19.0, 40.0, None)]
    narrow, wide = model_error.checks_of(rows).values()
    assert (narrow.value, narrow.ok) == (50.0, False)
    assert (wide.value, wide.ok) == (75.0, False)
    good = model_error.checks_of([{"error_percent": 3.0}] * 19 + [{"error_percent": -60.0}])
    assert [check.ok for check in good.values()] == [True, True]
    assert [check.ok for check in model_error.checks_of([]).values()] == [False, False]


@pytest.mark.alone
def test_the_model_comes_near_what_kernel_tcp_gets_over_a_lossy_path() -> None:
    paths = [path for path in draw(40, seed=7) if path.profile.loss > 0.02][:2]
    try:
        made = side_by_side(paths, seconds=6.0, events=model.ENOUGH, seed=5)
        transfers, _ = asyncio.run(made)
    except NoBackend as error:
        pytest.skip(str(error))
    for transfer in transfers:
        facts = transfer.facts
        assert facts is not None
        assert facts.loss_events >= 2
        assert facts.retransmitted >= facts.loss_events - 1
        assert facts.rtt >= 2 * transfer.path.profile.delay
        estimate = model.estimate(facts)
        assert estimate is not None
        assert transfer.rate / 2 < estimate.rate < transfer.rate * 2
