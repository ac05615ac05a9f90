"""The policies on a real tree: the experiments of HATS, section 4.1, in virtual time."""

from __future__ import annotations

import pytest

from policies.api import (
    Defer,
    Fetch,
    FocusChanged,
    Kind,
    Policy,
    Resume,
    Rule,
    ScrolledInView,
    SessionOpened,
    SetPlan,
    SetScheduler,
    SkeletonGrew,
    TimerExpired,
)
from policies.builtin.default import Default
from policies.builtin.equal import Equal
from policies.builtin.focus import Focus
from policies.builtin.low_fidelity_first import LowFidelityFirst
from policies.builtin.original import Original
from policies.builtin.text_first import TextFirst
from policies.testing.simulation import Item, SimulatedPage, simulate

MODEM = 56_000 / 8


def pictures(first: int, *sizes: int) -> tuple[Item, ...]:
    return tuple(Item(first + 2 * n, size) for n, size in enumerate(sizes))


def test_text_first_halves_the_wait_for_the_slides() -> None:
    """Figure 5: a page full of pictures and a deck, whose text the reader waits for."""
    page = SimulatedPage(1, (Item(2, 8_000, Kind.TEXT), *pictures(4, *[33_000] * 20)))
    text = (Item(102, 470_000, Kind.TEXT),)
    deck = SimulatedPage(101, (*text, *pictures(104, *[60_000] * 9)), package=True)
    plain = simulate(Equal(), [page, deck], rate=MODEM).reached(text)
    hats = simulate(TextFirst(), [page, deck], rate=MODEM).reached(text)
    assert plain is not None
    assert hats is not None
    assert hats == pytest.approx(478_000 / MODEM, rel=0.01)  # both texts and nothing else
    assert hats < 0.55 * plain


def test_low_fidelity_first_brings_both_pages_to_low_sooner() -> None:
    """Figure 6: once page A is coarse, page B gets the link until it is coarse too."""
    a = SimulatedPage(1, pictures(2, *[32_000] * 12))
    b = SimulatedPage(101, pictures(102, *[3_900] * 40, *[37_000] * 4))
    plain = simulate(LowFidelityFirst(), [a, b], rate=MODEM)
    hats = simulate(LowFidelityFirst(together=True), [a, b], rate=MODEM)
    slow, fast = plain.reached(b.items, "low"), hats.reached(b.items, "low")
    assert slow is not None
    assert fast is not None
    assert fast < 0.8 * slow
    assert plain.reached(a.items, "low") == pytest.approx(hats.reached(a.items, "low"), rel=0.02)


def test_focus_moves_four_fifths_of_the_link() -> None:
    """Figure 7: B is opened in front, A is selected at 8 s, and B again at 14 s."""
    a = SimulatedPage(1, pictures(2, *[67_000] * 20))
    b = SimulatedPage(101, pictures(102, *[60_000] * 20), at=2.0)
    done = simulate(
        Focus(),
        [a, b],
        rate=48_000,
        round_trip=0.1,
        events=[(8.0, FocusChanged(1)), (14.0, FocusChanged(101))],
    )
    assert done.share(1, 0.0, 2.0) == 1.0
    assert done.share(101, 2.1, 8.0) == pytest.approx(0.8, abs=0.01)
    assert done.share(1, 8.1, 14.0) == pytest.approx(0.8, abs=0.01)
    assert done.share(101, 14.1, 20.0) == pytest.approx(0.8, abs=0.01)
    # The new shares hold half a round trip, and the quantum under way, after the user's choice.
    settled = 8.0 + 0.05 + 2 * 256 / 48_000
    assert done.share(1, settled, settled + 0.2) == pytest.approx(0.8, abs=0.05)


def test_focus_is_work_conserving() -> None:
    a = SimulatedPage(1, pictures(2, *[50_000] * 4))
    b = SimulatedPage(101, pictures(102, 10_000))
    done = simulate(Focus(), [a, b], rate=10_000)
    assert done.reached((*a.items, *b.items)) == pytest.approx(210_000 / 10_000)
    assert done.share(1, 2.0, 21.0) == 1.0


@pytest.mark.parametrize("policy", [Default(), Original(), Equal(), Focus(), TextFirst()])
def test_every_byte_arrives_with_every_policy_in_the_same_time(policy: Policy) -> None:
    pages = [
        SimulatedPage(1, (Item(2, 9_000, Kind.TEXT), *pictures(4, 20_000, 3_000))),
        SimulatedPage(101, pictures(102, 70_000), at=1.0),
    ]
    items = [item for page in pages for item in page.items]
    done = simulate(policy, pages, rate=10_000, round_trip=0.5)
    assert done.reached(items) == pytest.approx(10.2)
    assert done.replay.refused == []


def test_default_text_then_coarse_then_fine_and_the_screen_first() -> None:
    page = SimulatedPage(1, (*pictures(2, *[40_000] * 10), Item(100, 12_000, Kind.TEXT)))
    on_screen = page.items[6:8]
    plain = simulate(Default(), [page], rate=10_000)
    looked = simulate(Default(), [page], rate=10_000, events=[(0.0, ScrolledInView(1, (14, 16)))])
    for done in (plain, looked):
        assert done.reached(page.items[-1:]) == pytest.approx(1.2, abs=0.1)
        low, complete = done.reached(page.items, "low"), done.reached(page.items)
        assert low == pytest.approx((12_000 + 400_000 / 7) / 10_000, rel=0.02)
        assert complete == pytest.approx(41.2, rel=0.001)
    sooner, later = looked.reached(on_screen, "high"), plain.reached(on_screen, "high")
    assert sooner is not None
    assert later is not None
    assert sooner < 0.9 * later


class Script:
    """Gives these commands at these times."""

    name = "script"

    def __init__(self, *commands: tuple[float, object]) -> None:
        self._commands = commands

    def react(self, event: object, view: object) -> object:
        from policies.api import SetTimer

        if event == SessionOpened():
            return [SetTimer(str(n), at=at) for n, (at, _) in enumerate(self._commands)]
        if isinstance(event, TimerExpired):
            return [self._commands[int(event.name)][1]]
        return []


def test_what_is_deferred_waits_and_what_is_capped_stops() -> None:
    page = SimulatedPage(1, pictures(2, 20_000, 20_000))
    script = Script((0.5, Defer(2)), (3.0, Resume(2)))
    done = simulate(script, [page], rate=10_000)  # type: ignore[arg-type]
    # Equal shares of the first half second; then one alone, nothing, and the other.
    assert done.components[4].complete == pytest.approx(0.5 + 1.75, abs=0.05)
    assert done.components[2].complete == pytest.approx(3.0 + 1.75, abs=0.05)

    page = SimulatedPage(1, page.items, at=0.1)  # the plan is there before it
    low, full = Rule(kind=Kind.IMAGE, level="low"), SetPlan(())
    capped = simulate(Script((0.0, SetPlan((low,)))), [page], rate=10_000)  # type: ignore[arg-type]
    assert capped.reached(page.items, "low") == pytest.approx(0.1 + 40_000 / 7 / 10_000, rel=0.01)
    assert capped.reached(page.items, "medium") is None
    full_from_then = Script((0.0, SetPlan((low,))), (5.0, full))
    later = SimulatedPage(101, pictures(102, 20_000), at=6.0)
    lifted = simulate(full_from_then, [page, later], rate=10_000)  # type: ignore[arg-type]
    assert lifted.reached(page.items, "medium") is None  # it was made as it was wanted then
    assert lifted.reached(later.items) == pytest.approx(8.0)


def test_a_fetch_that_can_not_be_in_time_gives_way_to_the_next() -> None:
    """ATP, 3.3: both have four seconds; the link carries one of them in that time."""
    page = SimulatedPage(1, pictures(2, 30_000, 30_000))
    both = [
        SetScheduler(("browser", "1"), "priority"),
        Fetch(2, "original", 2, 4.0),
        Fetch(4, "original", 1, 4.0),
    ]
    told: list[TimerExpired] = []

    class Wanting:
        name = "wanting"

        def react(self, event: object, view: object) -> object:
            if isinstance(event, SkeletonGrew):
                return both
            if isinstance(event, TimerExpired):
                told.append(event)
            return []

    done = simulate(Wanting(), [page], rate=10_000)  # type: ignore[arg-type]
    assert done.components[2].complete == pytest.approx(3.0, abs=0.1)
    assert told == [TimerExpired("fetch:4", refused=True, level="medium", within=6.0)]
    assert done.components[4].complete == pytest.approx(6.0, abs=0.1)  # as if nobody had asked
