"""Tests of the default models: delivered bytes, and an application's."""

from __future__ import annotations

import pytest

from monitor.observer.model import (
    APP_SURE,
    LIMITED_SURE,
    ROUNDS,
    AppModel,
    ConnectionModel,
    DeliveredModel,
)
from monitor.samples import ProgressSample, SensorKind
from tests.monitor.facts import transport


def test_what_is_acknowledged_is_the_rate_and_the_surer_the_more_rounds_it_covers() -> None:
    model: ConnectionModel = DeliveredModel()
    assert model.estimate(transport(acked=0), at=100.0, now=7.0) is None
    found = model.estimate(transport(acked=10_000), at=100.1, now=7.2)
    assert found is not None
    assert (found.rate, found.at, found.source) == (pytest.approx(100_000), 7.2, "transport")
    assert found.confidence == pytest.approx(0.1 / (ROUNDS * 0.05))
    sure = model.estimate(transport(acked=110_000), at=101.1, now=8.2)
    assert sure is not None and sure.confidence == 1.0


@pytest.mark.parametrize("said", [{"limited": 1}, {"unacked": 0}])
def test_a_sender_with_little_to_say_raises_the_estimate_only(said: dict[str, int]) -> None:
    model = DeliveredModel()
    for second in range(4):
        model.estimate(transport(acked=100_000 * second), at=float(second), now=0.0)
    found = model.estimate(transport(acked=300_010, **said), at=4.0, now=0.0)
    assert found is not None
    assert found.rate == pytest.approx(100_000)
    assert found.confidence == LIMITED_SURE
    fell = model.estimate(transport(acked=300_020), at=5.0, now=0.0)
    assert fell is not None and fell.rate < 60_000


@pytest.mark.parametrize("kind", [SensorKind.APP_SND, SensorKind.APP_RCV])
def test_an_application_is_half_sure_at_most(kind: SensorKind) -> None:
    model = AppModel(kind)
    assert model.estimate(ProgressSample(1, 0), at=0.0, now=3.0) is None
    early = model.estimate(ProgressSample(1, 5_000), at=0.1, now=3.1)
    late = model.estimate(ProgressSample(1, 5_000_000), at=100.0, now=103.0)
    assert early is not None and late is not None
    assert (early.rate, early.source) == (pytest.approx(50_000), kind.name.lower())
    assert early.confidence < late.confidence == APP_SURE
