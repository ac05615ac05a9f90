"""Spare paths of an R2CP engine bring nothing while another answers, and all when none does."""

from __future__ import annotations

import random

import pytest

from tests.transport.test_r2cp_engine import QUICK, SLOW, Download
from transport.r2cp.path import PathTable, PipePath
from transport.rcp.pipe_requests import PipeRequests
from transport.rcp.settings import RcpSettings


def with_a_spare(spare: int, *, seed: int = 1) -> Download:
    download = Download(QUICK, SLOW, size=2_000_000, seed=seed)
    download.flow.engine.spare(spare, spare=True)
    return download


@pytest.mark.parametrize("spare", [0, 1])
def test_a_spare_path_brings_nothing_while_the_other_answers(spare: int) -> None:
    download = with_a_spare(spare)
    download.run(60)
    assert download.whole
    # The quick one is there before the other, and then the only one.
    assert download.flow.engine.carried(spare) <= (100_000, 0)[spare]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spare", [0, 1])
def test_it_brings_the_rest_where_the_other_is_pulled_out(spare: int, seed: int) -> None:
    download = with_a_spare(spare, seed=seed)
    download.run(random.Random(seed).uniform(0.5, 2.5))
    download.flow.close(1 - spare)
    download.run(60)
    assert download.whole
    assert download.flow.engine.carried(spare) > 100_000


@pytest.mark.parametrize("seed", range(8))
def test_it_brings_the_rest_where_the_other_swallows_all_and_rests_once_that_answers(
    seed: int,
) -> None:
    download = with_a_spare(1, seed=seed)
    flow = download.flow
    download.run(random.Random(seed).uniform(0.5, 1.5))
    flow.cut(0)
    at = download.run(download.events.now + 3.0)
    assert flow.engine.carried(1) > 100_000
    assert flow.longest_gap <= 1.0, "it is doubted, and three round trips of the other one"
    flow.mend(0)
    download.run(at + 1.0)
    before = flow.engine.carried(1)
    download.run(60)
    assert bytes(flow.got) == download.data
    assert flow.engine.carried(1) - before < 40_000, "what was under way"


def test_of_spare_ones_alone_all_are_asked() -> None:
    download = with_a_spare(0)
    download.flow.engine.spare(1, spare=True)
    download.run(60)
    assert download.whole
    assert min(download.flow.engine.carried(one) for one in (0, 1)) > 100_000


def test_the_quickest_is_one_that_is_asked() -> None:
    table = PathTable()
    for number, trip in enumerate((0.03, 0.1, 0.2)):
        table[number] = path = PipePath(PipeRequests(RcpSettings(), None), established=True)
        path.asking.begin(size=1_160, round_trip=trip)
    table[0].spare = True
    assert table.rests(table[0]) and not table.rests(table[1])
    assert table.quickest() is table[1]
    table[1].doubtful = True
    assert table.quickest() is table[2]
    assert table.replaced(table[2]), "the spare one answers"
    table[2].frozen = True
    assert table.quickest() is table[0]
    assert not table.replaced(table[0])
