"""The bench of time limits in Chromium: what counts as in time, and what it is held against."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace

import pytest
from PIL import Image

from bench.browsers.capture import Frame
from bench.browsers.cdp import find_chromium
from bench.browsers.visual import FrameBox, Scene
from bench.pairs.pair import Witness
from bench.scenarios.deadline import due_levels
from bench.scenarios.deadline.deadline_pages import checks_of, line, run
from bench.scenarios.deadline.timed_page import (
    NOTHING,
    WITHIN,
    FixedLevel,
    TimedPage,
    similarities,
)
from emulation.memory.virtual_time import run as run_virtually
from policies.api import Kind, Rule, SessionOpened, SessionView, SetPlan

LOAD = TimedPage(
    "384k", 5.0, WITHIN, text=1.0, came=4.9, late=0, levels={"low": 2}, ssim=0.9, worst=0.8
)


def frame(image: Image.Image, at: float) -> Frame:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=95)
    return Frame(at, out.getvalue())


@pytest.mark.parametrize(
    ("late", "text", "kept"),
    [(0, 5.0, True), (1, 1.0, False), (0, 5.1, False), (0, None, False)],
)
def test_a_load_is_in_time_with_all_text_and_all_pictures(
    late: int, text: float | None, *, kept: bool
) -> None:
    load = replace(LOAD, late=late, text=text)
    assert load.in_time == load.as_json()["in_time"] == kept
    assert ("in time" in line(load)) == kept


def test_a_line_says_what_a_page_takes_without_pictures() -> None:
    bare = replace(LOAD, link="trace:/some/where/fading.trace", way=NOTHING, came=1.4)
    assert line(bare) == "fading.trace: without pictures: text 1.0 s, all 1.4 s"


def test_ours_is_held_against_the_best_fixed_level_that_is_in_time() -> None:
    low = replace(LOAD, way="low", ssim=0.8)
    medium = replace(LOAD, way="medium", ssim=0.95, late=3)
    found = checks_of([LOAD, replace(LOAD, way=NOTHING, ssim=1.0), low, medium])
    assert [one.ok for one in found.values()] == [True, True]
    found = checks_of([LOAD, low, replace(medium, late=0)])
    assert [one.ok for one in found.values()] == [True, False]
    found = checks_of([*[LOAD] * 18, *[replace(LOAD, late=1)] * 2, medium])
    assert [(one.value, one.ok) for one in found.values()] == [(90.0, False)]
    assert checks_of([low]) == {}


def test_pictures_are_compared_as_they_were_at_the_last_frame() -> None:
    final = Image.effect_noise((64, 32), 60).convert("RGB")
    half = final.copy()
    half.paste("grey", (32, 0, 64, 32))
    boxes = [FrameBox(0, 0, 32, 32), FrameBox(32, 0, 64, 32)]
    scene = Scene(final=final, blank=Image.new("RGB", (64, 32), "white"), boxes=boxes)
    left, right = similarities(scene, [frame(final, 1.0), frame(half, 2.0)])
    assert left > 0.9
    assert right < 0.3
    assert similarities(scene, []) == [0.0, 0.0]
    short = frame(final.crop((0, 0, 64, 8)), 1.0)  # the page has not got its height yet
    assert max(similarities(scene, [short])) < 0.9


def test_a_fixed_level_is_a_plan_of_one_rule() -> None:
    policy = FixedLevel("medium")
    assert policy.react(SessionOpened(), SessionView()) == [
        SetPlan((Rule(kind=Kind.IMAGE, level="medium"),))
    ]


def test_what_is_due_is_waited_for_and_what_never_comes_has_the_last_moment() -> None:
    witness = Witness()
    witness.reached |= {(2, "low"): 1.0, (2, "medium"): 2.0}

    async def go() -> dict[int, float]:
        asyncio.get_running_loop().call_at(3.0, witness.reached.__setitem__, (4, "original"), 3.0)
        return await due_levels.arrivals(witness, {2: "medium", 4: "original", 6: "low"}, until=9.0)

    assert run_virtually(go()) == {2: 2.0, 4: 3.0, 6: 9.0}
    assert [due_levels.level_at(witness, 2, at) for at in (0.5, 1.5, 2.0)] == [
        "none", "low", "medium"
    ]  # fmt: skip
    assert due_levels.images(witness) == []


@pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")
def test_a_page_in_chromium_has_its_pictures_by_a_time_with_much_to_spare() -> None:
    found = asyncio.run(run(runs=1, cases=(("1.6M", 8.0),), levels=()))
    bare, load = found["runs"]
    assert bare["way"] == NOTHING and bare["levels"] == {}
    assert sum(load["levels"].values()) >= 15
    assert load["ssim"] > 0.7
    assert load["text_s"] < 8
