"""Pages over two paths at once, in virtual time: sooner than over the quicker one alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pytest

from bench.origins.synthetic import Shelf, page, prepared
from bench.pairs.pair import Pair
from bench.pairs.paths_pair import paths_pair
from bench.pairs.udp_pair import udp_pair
from emulation.lines.profiles import profile
from emulation.memory.virtual_time import run
from local_proxy.link import session
from policies.builtin.default import Default
from remote_proxy.jobs.services import Services
from wire import abilities

SMALL = [page(f"http://small{number}.test/", text=40_000, large=60_000) for number in range(6)]
MADE_SMALL = prepared(SMALL)
PAGES = [page(f"http://{number}.test/", text=40_000, large=400_000) for number in range(5)]
MADE = prepared(PAGES)
T = TypeVar("T")
REST = 6.0
"""Seconds between two loads."""


@dataclass(frozen=True, slots=True)
class PathsLoad:
    """One load: seconds until its text, all pictures coarse, and all of it was there."""

    text: float
    painted: float
    complete: float


async def _loads(
    names: Sequence[str],
    *,
    joins: str = "",
    longer: int | None = None,
    seconds: float = 0.5,
    dead: int | None = None,
    died: int | None = None,
) -> list[PathsLoad]:
    """A page after the other, each after a rest. `joins`: another path does, while the first page
    comes. `longer`: the path that takes so many seconds each way from the second page on. `dead`:
    the one that carries nothing from before the third page until before the fifth. `died`: the one
    that carries nothing from the rest before the third page on."""
    loads = []
    services = Services(Shelf(PAGES), MADE)
    async with paths_pair([profile(name) for name in names], services, [Default()]) as (
        pair,
        paths,
    ):
        for one in PAGES:
            if died is not None and one is PAGES[2]:
                paths.cut(died)
            await asyncio.sleep(REST)
            if longer is not None and one is PAGES[1]:
                paths.set_delay(longer, seconds)
            if dead is not None and one is PAGES[2]:
                paths.cut(dead)
            if dead is not None and one is PAGES[4]:
                paths.mend(dead)
            opens = partial(paths.open, profile(joins)) if joins and one is PAGES[0] else None
            loads.append(await _load(pair, one.url, meanwhile=opens))
    return loads


async def _load(
    pair: Pair, url: str, *, meanwhile: Callable[[], object] | None = None
) -> PathsLoad:
    """`meanwhile`: done once the text is there."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    document = await pair.load(url)
    text = loop.time() - began
    if meanwhile is not None:
        meanwhile()
    await pair.complete(document)
    painted, complete = (pair.witness.when(document, name) for name in ("low", "original"))
    assert painted is not None
    assert complete is not None
    return PathsLoad(text, painted - began, complete - began)


def ordered(loads: Coroutine[Any, Any, T]) -> T:
    """As older devices have it, for which the stream keeps its order."""
    known = tuple(one for one in session.ACCEPTS if one != abilities.APART)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "ACCEPTS", known)
        return run(loads)


@pytest.mark.parametrize(
    ("other", "first", "painted"), [("384k", 0.75, 0.6), ("satellite", 1.0, 0.65)]
)
def test_two_paths_show_a_page_sooner_than_the_quicker_one_and_complete_it_sooner(
    other: str, first: float, painted: float
) -> None:
    """The first load finds paths whose rates nobody knows."""
    alone, both = ordered(_loads(["384k"])), run(_loads(["384k", other]))
    for load, (one, two) in enumerate(zip(alone, both, strict=True)):
        assert two.text <= one.text * (0.85 if load else 1.0)
        assert two.painted <= one.painted * (painted if load else first)
        assert two.complete < 0.56 * one.complete


async def _pushed(name: str) -> list[PathsLoad]:
    """The same pages over a link of one path, whose remote end decides."""
    loads = []
    async with udp_pair(profile(name), Services(Shelf(PAGES), MADE), [Default()]) as (pair, _):
        for one in PAGES:
            await asyncio.sleep(REST)
            loads.append(await _load(pair, one.url))
    return loads


@pytest.mark.parametrize(
    ("name", "text", "painted"),
    [
        ("384k", 1.1, 1.0),
        ("satellite", 1.02, 1.02),
        ("satellite-50M", 1.02, 1.02),
        ("5M", 1.0, 1.1),
    ],
)
def test_one_path_alone_shows_a_page_as_soon_as_push_does(
    name: str, text: float, painted: float
) -> None:
    """A ship's, far from land: its pulls stand. In order a page took .6 s longer by satellite."""
    alone, pushed = run(_loads([name])), run(_pushed(name))
    for one, push in zip(alone[1:], pushed[1:], strict=True):
        assert one.text <= text * push.text
        assert one.painted <= painted * push.painted
        assert one.complete <= 1.15 * push.complete


@pytest.mark.parametrize(
    ("other", "text", "painted"), [("384k", 0.8, 0.65), ("satellite", 1.0, 0.65)]
)
def test_two_paths_show_a_page_sooner_than_one_by_push(
    other: str, text: float, painted: float
) -> None:
    pushed, both = run(_pushed("384k")), run(_loads(["384k", other]))
    for one, two in zip(pushed[1:], both[1:], strict=True):
        assert two.text <= text * one.text + 0.01
        assert two.painted <= painted * one.painted
        assert two.complete < 0.56 * one.complete


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["384k", "128k"], 1.0),
        (["384k", "384k"], 0.75),
        (["384k", "satellite"], 1.0),
        (["1.6M", "satellite"], 1.0),
        (["5M", "satellite"], 1.75),
        (["satellite"], 1.05),
    ],
)
def test_the_first_page_of_a_session_comes_about_as_soon_as_by_push(
    names: Sequence[str], text: float
) -> None:
    """Paths are padded while nobody asks for anything, or text would have gone by satellite, and
    would have begun with ten cells by each: it took 1.3 to 4.5 times as long."""
    pushed, both = run(_pushed(names[0])), run(_loads(names))
    assert both[0].text <= text * pushed[0].text + 0.01
    assert both[0].painted <= 1.6 * pushed[0].painted
    assert both[0].complete <= 1.1 * pushed[0].complete


@pytest.mark.parametrize(("quick", "complete"), [("384k", 0.07), ("1.6M", 0.65)])
def test_a_fat_satellite_takes_no_places_from_the_quick_path(quick: str, complete: float) -> None:
    """A ship's own, near land: its window is larger than the buffer. Text waited for it, and took
    .9 s for .5."""
    pushed, both = run(_pushed(quick)), run(_loads([quick, "satellite-50M"]))
    for one, two in zip(pushed[1:], both[1:], strict=True):
        assert two.text <= 1.1 * one.text + 0.01
        assert two.painted <= 1.1 * one.painted + 0.01
        assert two.complete <= complete * one.complete


@pytest.mark.parametrize("quick", ["384k", "1.6M"])
def test_a_fat_satellite_that_died_at_rest_costs_the_next_page_nothing(quick: str) -> None:
    """Its sender never heard that others were asked for what it kept, filled that with all pictures
    and the rest of the text, and the quick path brought it as it was: text after 15 s for .5."""
    pushed, both = run(_pushed(quick)), run(_loads([quick, "satellite-50M"], died=1))
    for one, two in zip(pushed[2:], both[2:], strict=True):
        assert two.text <= 1.15 * one.text + 0.02
        assert two.painted <= 1.1 * one.painted + 0.02
        assert two.complete <= 1.4 * one.complete


@pytest.mark.parametrize("other", ["384k", "satellite"])
def test_a_path_that_joins_in_the_middle_of_a_page_helps_as_much_as_one_from_the_start(
    other: str,
) -> None:
    alone, both = ordered(_loads(["384k"])), run(_loads(["384k"], joins=other))
    assert both[0].complete < 0.8 * alone[0].complete
    for one, two in zip(alone[1:], both[1:], strict=True):
        assert two.text <= one.text * 0.85
        assert two.painted <= one.painted * 0.65
        assert two.complete < 0.56 * one.complete


@pytest.mark.parametrize("longer", [0, 1])
def test_a_path_that_becomes_ten_times_as_long_is_used_as_what_it_is(longer: int) -> None:
    """As where a modem goes from LTE to EDGE, or from one satellite to another: not for what is
    urgent, and for what it carries."""
    alone = ordered(_loads(["384k"]))
    both = run(_loads(["384k", "384k"], longer=longer))
    for one, two in zip(alone[2:], both[2:], strict=True):
        assert two.text <= one.text * 0.95
        assert two.painted <= one.painted * 0.9
    assert both[3].complete < 0.8 * alone[3].complete


def test_a_path_that_becomes_short_is_used_at_once() -> None:
    was = run(_loads(["384k", "384k"]))
    now = run(_loads(["384k", "384k"], longer=0, seconds=0.005))
    for one, two in zip(was[2:], now[2:], strict=True):
        assert two.text < one.text - 0.05


@pytest.mark.parametrize(("other", "place"), [("384k", 0), ("384k", 1), ("satellite", 1)])
def test_a_path_that_dies_at_rest_costs_the_next_page_a_second_at_most(
    other: str, place: int
) -> None:
    """What its standing pulls were given is lost, and so is the word of that."""
    alone, both = ordered(_loads(["384k"])), run(_loads(["384k", other], dead=place))
    for one, two in zip(alone[2:3], both[2:3], strict=True):
        assert two.text <= one.text + 1.0
        assert two.complete <= one.complete + 1.0
    assert both[3].text <= alone[3].text
    assert both[3].complete <= alone[3].complete + 0.3
    assert both[4].complete <= alone[4].complete + 0.3  # it has come back


async def _fading(
    names: Sequence[str], *, fades: int | None = None, late: float = 0.0
) -> list[PathsLoad]:
    """Small pages. `fades`: the path that carries a tenth from the third page on, `late` seconds
    after that was asked for, and all again from the fifth on."""
    loop, loads = asyncio.get_running_loop(), []
    async with paths_pair(
        [profile(name) for name in names], Services(Shelf(SMALL), MADE_SMALL), [Default()]
    ) as (pair, paths):
        for one in SMALL:
            await asyncio.sleep(REST)
            if fades is not None and one is SMALL[2]:
                loop.call_later(late, paths.set_rate, fades, 0.1)
            if fades is not None and one is SMALL[4]:
                paths.set_rate(fades, 1.0)
            loads.append(await _load(pair, one.url))
    return loads


@pytest.mark.parametrize(
    ("names", "fades", "back"),
    [
        (["384k", "384k"], 0, 1.25),
        (["384k", "384k"], 1, 1.25),
        (["384k", "satellite"], 1, 1.45),
        (["5M", "384k"], 0, 1.25),
        (["384k", "384k", "384k"], 1, 1.25),
    ],
)
def test_a_path_that_fades_to_a_tenth_at_rest_costs_little_of_what_the_others_bring(
    names: Sequence[str], fades: int, back: float
) -> None:
    """As where who walks away from a mast: a window of what was asked for before would take ten
    times as long, and hold up what is in it."""
    alone, both = ordered(_fading(["384k"])), run(_fading(names, fades=fades))
    assert both[2].text <= alone[2].text + 0.3
    assert both[2].complete <= alone[2].complete + 0.3
    for one, two in zip(alone[3:], both[3:], strict=True):
        assert two.text <= one.text * 0.95
        assert two.complete <= one.complete + 0.1
    assert both[5].complete <= both[1].complete * back


def test_a_path_that_fades_in_the_middle_of_a_page_costs_little() -> None:
    alone = ordered(_fading(["384k"]))
    both = run(_fading(["384k", "384k"], fades=1, late=0.25))
    assert both[2].text <= alone[2].text + 0.3
    assert both[2].complete <= alone[2].complete + 0.1
    for one, two in zip(alone[3:], both[3:], strict=True):
        assert two.text <= one.text * 0.95
        assert two.complete <= one.complete + 0.1


def test_a_slow_path_beside_a_fast_one_costs_a_small_page_nothing() -> None:
    """What goes over it is there no later than all else."""
    alone, both = ordered(_fading(["5M"])), run(_fading(["5M", "384k"]))
    for one, two in zip(alone[1:], both[1:], strict=True):
        assert two.text <= one.text
        assert two.complete <= one.complete + 0.03
