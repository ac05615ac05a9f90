"""Weights by need: the rates that come of them are compared, since only ratios mean anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hats.disciplines.needs import Claim, weights
from hats.tree.node import MAX_WEIGHT, MIN_WEIGHT


def rates(
    claims: list[Claim], *, others: float, rate: float, floor: float = 0.1
) -> tuple[list[float], float]:
    """Bytes/second of each claim and of all others, if everybody has data."""
    found = weights(claims, others=others, rate=rate, floor=floor)
    total = sum(found) + others
    return [rate * weight / total for weight in found], rate * others / total


def test_who_gets_enough_by_weight_keeps_its_weight() -> None:
    assert weights([Claim(100, 1.0), Claim(50, 3.0)], others=1.0, rate=1000) == [1.0, 3.0]


def test_who_gets_too_little_is_given_its_need_and_the_rest_shares() -> None:
    claims, others = rates([Claim(600, 1.0), Claim(50, 1.0)], others=1.0, rate=1000)
    assert claims == pytest.approx([600, 200])
    assert others == pytest.approx(200)


def test_too_little_for_all_serves_the_first_and_leaves_a_floor() -> None:
    claims, others = rates([Claim(600, 1.0), Claim(500, 2.0), Claim(90, 1.0)], others=1.0, rate=800)
    assert claims == pytest.approx([600, 120 + 40, 20])
    assert others == pytest.approx(20)


def test_without_others_needs_may_take_all() -> None:
    claims, others = rates([Claim(600, 1.0), Claim(400, 9.0)], others=0.0, rate=1000)
    assert claims == pytest.approx([600, 400])
    assert others == 0


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_rate_of_nothing_leaves_weights_alone(rate: float) -> None:
    assert weights([Claim(600, 2.0)], others=1.0, rate=rate) == [2.0]
    assert weights([], others=1.0, rate=rate) == []


@given(
    st.lists(st.tuples(st.floats(1, 1e6), st.floats(0.5, 20)), min_size=1, max_size=6),
    st.floats(0.5, 20),
    st.floats(1e3, 1e7),
)
def test_needs_are_met_in_order_of_importance_as_far_as_the_rate_goes(
    given_claims: list[tuple[float, float]], others: float, rate: float
) -> None:
    claims = [Claim(*one) for one in given_claims]
    found = weights(claims, others=others, rate=rate, floor=0.1)
    assert all(MIN_WEIGHT <= weight <= MAX_WEIGHT for weight in found)
    if any(weight in (MIN_WEIGHT, MAX_WEIGHT) for weight in found):
        return
    got, rest = rates(claims, others=others, rate=rate)
    left = 0.9 * rate
    for claim, one in zip(claims, got, strict=True):
        assert one >= min(claim.need, max(left, 0.0)) * (1 - 1e-6) - 1e-6
        left -= claim.need
    assert rest > 0
