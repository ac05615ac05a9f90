"""Policies at work on both proxies: what they command is what happens."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.end_to_end.pair import Asked, FakeOrigin, Pair, all_three, run, until
from tests.end_to_end.test_page_load import PHOTO, same_pixels, site_of

DOCS = Path(__file__).parents[2] / "docs" / "policies.md"


def policy_file(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text)
    return str(path)


def standing(rules: str) -> str:
    """A policy with one standing plan."""
    return (
        "from policies.api import Kind, Rule, SessionOpened, SetPlan\n\n\n"
        "class Mine:\n"
        '    name = "mine"\n\n'
        "    def react(self, event, view):\n"
        "        if isinstance(event, SessionOpened):\n"
        f"            yield SetPlan(({rules},))\n"
    )


async def settled(both: Pair, rules: int = 1) -> None:
    """Until the remote has the plan."""
    await until(lambda: len(both.session.plan.rules) >= rules)


async def load(origin: FakeOrigin, both: Pair) -> str:
    page = site_of(origin)
    assert (await both.browser.navigate(page)).status == 200
    return page


def test_the_policy_of_the_documentation_holds_pictures_back(tmp_path: Path) -> None:
    text = DOCS.read_text().split("```python file=patience.py\n")[1].split("```")[0]
    path = policy_file(tmp_path, text)

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            await settled(both)
            page = await load(origin, both)
            browser, base = both.browser, origin.base
            picture = asyncio.ensure_future(browser.image(base + "/a.jpg", page))
            assert (await browser.style(base + "/s.css", page)).status == 200
            await asyncio.sleep(0.1)
            assert not picture.done()
            # The link turns out to be good: the estimate comes by the same way as in life.
            both.local.runtime.measured(20_000, confidence=1.0)
            assert same_pixels((await picture).body, PHOTO.read_bytes())
            assert origin.counts()["/a.jpg"] == 1

    run(go())


def test_a_policy_that_raises_is_switched_off_and_the_page_loads(tmp_path: Path) -> None:
    path = policy_file(
        tmp_path,
        'class Bad:\n    name = "bad"\n\n'
        "    def react(self, event, view):\n        raise KeyError(event)\n",
    )

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            page = await load(origin, both)
            picture = await both.browser.image(origin.base + "/a.jpg", page)
            assert same_pixels(picture.body, PHOTO.read_bytes())
            status = {one.name: one for one in both.local.runtime.statistics()}
            assert not status["bad"].on
            assert "KeyError" in status["bad"].why_off
            assert status["default"].on

    run(go())


def test_a_plan_can_stop_pictures_at_low(tmp_path: Path) -> None:
    path = policy_file(tmp_path, standing('Rule(kind=Kind.IMAGE, level="low")'))

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            await settled(both)
            page = await load(origin, both)
            picture = await both.browser.image(origin.base + "/a.jpg", page)
            assert picture.status == 200
            assert not same_pixels(picture.body, PHOTO.read_bytes())
            document = both.local.documents.of(page)
            found = both.local.components.find(document, origin.base + "/a.jpg")
            assert found is not None
            assert 0 < found.carried < len(PHOTO.read_bytes()) / 4
            plain = await both.client.get(origin.base + "/a.jpg")
            assert plain.body == PHOTO.read_bytes()
            shown = json.loads((await both.client.get("http://sluice.local/status.json")).body)
            rules = {one["name"]: one["rules"] for one in shown["policies"]}
            assert rules["mine"] == ["kind=image: level=low"]

    run(go())


def test_who_saves_data_gets_coarser_pictures_and_the_original_when_asked_for() -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            page = site_of(origin)
            serve = origin.paths["/page"]

            async def page_once_the_plan_is_there(asked: Asked) -> None:
                await settled(both, rules=1 if asked.header("save-data") else 0)
                await serve(asked)

            origin.paths["/page"] = page_once_the_plan_is_there
            browser, whole = both.browser, PHOTO.read_bytes()
            saving = ("save-data", "on")
            await browser.get(page, [*browser.navigation(), saving])
            wanted = [*browser.picture(page), saving]
            coarse = await browser.get(origin.base + "/a.jpg", wanted)
            assert coarse.status == 200
            assert len(coarse.body) < 0.7 * len(whole)
            assert origin.asked[-1].header("save-data") == "on"
            by_script = await browser.get(
                origin.base + "/a.jpg?script", [*wanted, ("sec-fetch-dest", "empty")]
            )
            assert by_script.body == whole  # whoever handles bytes gets the origin's
            again = f"{origin.base}/a.jpg?sluice-level=gone.{1}.original"
            assert same_pixels((await browser.get(again, wanted)).body, whole)

    run(go())


def test_what_a_plan_leaves_to_asking_is_not_pushed(tmp_path: Path) -> None:
    path = policy_file(tmp_path, standing('Rule(kind=Kind.IMAGE, fetch="ask")'))

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            await settled(both)
            page = await load(origin, both)
            await both.browser.style(origin.base + "/s.css", page)
            assert set(origin.counts()) == {"/page", "/s.css", "/x.js"}
            picture = await both.browser.image(origin.base + "/a.jpg", page)
            assert same_pixels(picture.body, PHOTO.read_bytes())

    run(go())


def test_what_a_plan_never_fetches_is_answered_at_once(tmp_path: Path) -> None:
    path = policy_file(tmp_path, standing('Rule(kind=Kind.IMAGE, fetch="never")'))

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            await settled(both)
            page = await load(origin, both)
            assert (await both.browser.image(origin.base + "/a.jpg", page)).status == 403
            assert origin.counts()["/a.jpg"] == 0

    run(go())


def test_a_document_can_be_held_back_whole(tmp_path: Path) -> None:
    path = policy_file(tmp_path, standing('Rule(document=1, level="none")'))

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            await settled(both)
            page = site_of(origin)
            first = asyncio.ensure_future(both.browser.navigate(page))
            await until(lambda: origin.counts()["/page"])
            assert (await both.browser.navigate(page)).status == 200
            await asyncio.sleep(0.05)
            assert not first.done()
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    run(go())


def test_a_component_that_a_policy_cancels_ends_for_its_reader(tmp_path: Path) -> None:
    text = (
        "from policies.api import Cancel, Kind, SkeletonGrew\n\n\n"
        "class Mine:\n"
        '    name = "mine"\n\n'
        "    def react(self, event, view):\n"
        "        if isinstance(event, SkeletonGrew):\n"
        "            for part in event.parts:\n"
        "                if part.kind is Kind.IMAGE:\n"
        "                    yield Cancel(part.component)\n"
    )
    path = policy_file(tmp_path, text)

    async def go() -> None:
        async with all_three(policy=["default", path]) as (origin, both):
            gate = asyncio.Event()
            page = site_of(origin)

            async def slow(_: Asked) -> None:
                await gate.wait()

            origin.paths["/a.jpg"] = slow
            await both.browser.navigate(page)
            await until(lambda: both.local.runtime.statistics()[1].commands)
            async with asyncio.timeout(60):
                answer = await both.browser.image(origin.base + "/a.jpg", page)
            assert answer.status == 403
            gate.set()

    run(go())


@pytest.mark.parametrize("policy", ["equal", "text_first", "low_fidelity_first", "focus"])
def test_every_built_in_policy_loads_the_page(policy: str) -> None:
    async def go() -> None:
        async with all_three(policy=[policy]) as (origin, both):
            page = await load(origin, both)
            picture = await both.browser.image(origin.base + "/a.jpg", page)
            assert same_pixels(picture.body, PHOTO.read_bytes())

    run(go())
