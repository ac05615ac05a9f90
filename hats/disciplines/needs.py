"""Reckons weights that give some children of a node the bandwidth they need (HATS, 3.2.2).

    the rate carries all needs    who would get less than it needs by its weight gets its need, and
                                  the rest shares by weight what is left
    it does not                   needs are met in order of importance while they last; who comes
                                  too late, and all that need nothing, share a floor by weight

A need is a floor, not a ceiling. Must not know nodes: what needs what is bandwidth_shares.py's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hats.tree.node import MAX_WEIGHT, MIN_WEIGHT

FLOOR: Final = 0.05
"""Of the rate, that is left to who is not served by need: a page goes on while a film plays."""


class Claim(NamedTuple):
    """What one child needs, and its share where needs don't decide."""

    need: float
    """Bytes/second."""
    weight: float


def weights(
    claims: Sequence[Claim], *, others: float, rate: float, floor: float = FLOOR
) -> list[float]:
    """Weights of the claims, the most important of which is first, beside `others`: the sum of the
    weights of who needs nothing, 0 if there are none."""
    if rate <= 0 or not claims:
        return [claim.weight for claim in claims]
    needed = sum(claim.need for claim in claims)
    if needed <= rate * (1 - floor if others else 1):
        raised = _guaranteed(claims, others, rate)
    else:
        raised = _by_importance(claims, others, rate, floor)
    return [min(max(weight, MIN_WEIGHT), MAX_WEIGHT) for weight in raised]


def _guaranteed(claims: Sequence[Claim], others: float, rate: float) -> list[float]:
    """All needs are met; `rate` and the weights are those of who shares what is left."""
    shared = others + sum(claim.weight for claim in claims)
    short: set[int] = set()
    by_need = sorted(range(len(claims)), key=lambda n: -claims[n].need / claims[n].weight)
    for n in by_need[: None if others else -1]:  # somebody is left to take the rest
        need, weight = claims[n]
        if need * shared <= weight * rate:
            break
        short.add(n)
        rate -= need
        shared -= weight
    unit = rate / shared
    return [claim.need / unit if n in short else claim.weight for n, claim in enumerate(claims)]


def _by_importance(
    claims: Sequence[Claim], others: float, rate: float, floor: float
) -> list[float]:
    """The first are served as far as the rate goes, the rest shares the floor."""
    left = rate * (1 - floor)
    given = []
    for claim in claims:
        given.append(min(claim.need, left))
        left -= given[-1]
    short = [one < claim.need for one, claim in zip(given, claims, strict=True)]
    late = sum(claim.weight for claim, lacks in zip(claims, short, strict=True) if lacks)
    unit = rate * floor / (others + late)
    return [
        one / unit + (claim.weight if lacks else 0.0)
        for one, claim, lacks in zip(given, claims, short, strict=True)
    ]
