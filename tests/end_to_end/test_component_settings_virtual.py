"""Settings of single components in a running pair, in virtual time: they change what is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from bench.origins.synthetic import Prepared, Shelf, page
from bench.pairs.pair import CONTROL, memory_pair
from emulation.memory.memory import LinkModel
from emulation.memory.virtual_time import run
from policies.api import (
    Command,
    DocumentOpened,
    Event,
    Kind,
    SessionView,
    SetQuantum,
    SetScheduler,
    SetWeight,
    SkeletonGrew,
    document_path,
)
from remote_proxy.jobs.services import Services

LINK = LinkModel(rate_up=20_000, rate_down=20_000, delay=0.05)
PAGE = page("http://page.test/", text=2_000, large=600_000)


class Sets:
    """Sets one thing at the path of each page's last picture."""

    name = "sets"

    def __init__(self, *, weight: float = 1.0, quantum: int = 0) -> None:
        self._weight, self._quantum = weight, quantum
        self.last = 0

    def react(self, event: Event, view: SessionView) -> Iterable[Command]:
        if isinstance(event, DocumentOpened):
            yield SetScheduler(document_path("browser", event.document), "wf2q_plus")
        if isinstance(event, SkeletonGrew):
            pictures = [part.component for part in event.parts if part.kind is Kind.IMAGE]
            if pictures:
                self.last = pictures[-1]
                path = (*document_path("browser", event.document), str(self.last))
                yield SetWeight(path, self._weight)
                yield SetQuantum(path, self._quantum)


def shared(policy: Sets) -> tuple[float, float]:
    """The last picture's bytes for one byte of an average one, while all are under way; and the
    mean of its frames' sizes for that of the others."""
    frames: list[tuple[int, int]] = []

    async def go() -> None:
        services = Services(Shelf([PAGE]), Prepared({}))
        async with memory_pair(LINK, services, [policy]) as pair:
            document = await pair.load(PAGE.url)
            await pair.complete(document)
            pictures = [p.component for p in pair.witness.parts.values() if p.kind is Kind.IMAGE]
            ends = [pair.witness.reached[one, "original"] for one in pictures]
            frames.extend(
                (one.component, one.size)
                for one in pair.tap.arrivals
                if one.component in pictures and one.at < min(ends)
            )

    run(go())
    amounts, counts = Counter[int](), Counter(component for component, _ in frames)
    for component, size in frames:
        amounts[component] += size
    assert CONTROL not in counts
    others = [one for one in counts if one != policy.last]
    assert len(others) >= 3
    average = sum(amounts[one] for one in others) / len(others)
    usual = sum(amounts[one] for one in others) / sum(counts[one] for one in others)
    return amounts[policy.last] / average, amounts[policy.last] / counts[policy.last] / usual


def test_a_weight_at_a_components_path_gives_it_that_share() -> None:
    assert shared(Sets())[0] == pytest.approx(1.0, abs=0.2)
    assert shared(Sets(weight=4.0))[0] == pytest.approx(4.0, rel=0.2)


def test_a_quantum_at_a_components_path_is_the_size_of_its_frames() -> None:
    policy = Sets(quantum=64)
    assert shared(policy)[1] < 0.4
