"""A level is where a picture stops, and where it goes on from: through both proxies."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_proxy.link.components import Component
from tests.end_to_end.pair import Pair, all_three, run, slow_three, until
from tests.local_proxy.site import progressive

PHOTO = progressive(7, size=(1600, 1200), grain=(200, 150))[0]
PAGE = b"<!doctype html><title>t</title><body><img src=/a.jpg width=640 height=480>"
POLICY = """
from policies.api import *


class Levels:
    name = "levels"
    told = False

    def react(self, event, view):
        if isinstance(event, SessionOpened):
            yield SetPlan({plan})
        elif isinstance(event, SkeletonGrew):
            for part in event.parts:
                if part.kind is Kind.IMAGE:
                    {found}
        elif isinstance(event, Progress) and event.level == "low" and not self.told:
            self.told = True
            yield SetTimer(f"{{event.component}}", after={after})
        elif isinstance(event, TimerExpired):
            {later}
"""
NOTHING = "pass"
TO_LOW = 'yield Fetch(part.component, "low")'
ALL_OF_IT = "yield Fetch(int(event.name))"
STOPS = '(Rule(kind=Kind.IMAGE, level="low"),)'


def policy(
    folder: Path,
    *,
    plan: str = "()",
    found: str = NOTHING,
    later: str = ALL_OF_IT,
    after: float = 0.4,
) -> list[str]:
    path = folder / "levels.py"
    path.write_text(POLICY.format(plan=plan, found=found, later=later, after=after))
    return ["default", str(path)]


async def shown(both: Pair, base: str) -> Component:
    """The page's picture, once its page is here."""
    assert (await both.browser.navigate(base + "/")).status == 200
    await until(lambda: both.local.components.find(1, base + "/a.jpg") is not None)
    component = both.local.components.find(1, base + "/a.jpg")
    assert component is not None
    await until(lambda: component.reached() is not None)
    return component


def all_of_it(component: Component) -> bool:
    return component.complete and component.levels[-1].name == "original"


def test_a_picture_that_a_plan_stopped_goes_on_from_there(tmp_path: Path) -> None:
    async def go() -> None:
        names = policy(tmp_path, plan=STOPS)
        async with all_three(policy=names) as (origin, both):
            await until(lambda: len(both.local.runtime.rules) > 0)
            origin.serve("/", PAGE)
            origin.serve("/a.jpg", PHOTO, "image/jpeg")
            component = await shown(both, origin.base)
            await until(lambda: component.complete)
            low = component.received
            assert [level.name for level in component.levels] == ["low"]
            await until(lambda: all_of_it(component))
            assert component.received > 5 * low
            assert component.carried == component.received  # no byte twice
            assert component.failure is None

    run(go())


def test_a_fetch_stops_at_its_level_and_another_goes_on(tmp_path: Path) -> None:
    async def go() -> None:
        names = policy(tmp_path, found=TO_LOW)
        async with slow_three(policy=names, rate=200_000) as (origin, _, both):
            origin.serve("/", PAGE)
            origin.serve("/a.jpg", PHOTO, "image/jpeg")
            component = await shown(both, origin.base)
            low = component.received
            assert low < len(PHOTO) / 4
            await until(lambda: all_of_it(component))
            assert component.carried == component.received > 5 * low

    run(go())


@pytest.mark.parametrize("found", [TO_LOW, NOTHING], ids=["fetch", "plan"])
def test_it_stays_at_its_level_while_nobody_asks(tmp_path: Path, found: str) -> None:
    async def go() -> None:
        plan = "()" if found == TO_LOW else STOPS
        names = policy(tmp_path, plan=plan, found=found, later=NOTHING)
        async with slow_three(policy=names, rate=200_000) as (origin, _, both):
            await until(lambda: found == TO_LOW or len(both.local.runtime.rules) > 0)
            origin.serve("/", PAGE)
            origin.serve("/a.jpg", PHOTO, "image/jpeg")
            origin.serve("/text", b"x" * 200_000, "text/plain")
            component = await shown(both, origin.base)
            low = component.received
            await both.client.get(origin.base + "/text")  # the link has nothing else to do
            await both.client.get(origin.base + "/text")
            assert component.received == low

    run(go())


def test_a_picture_that_has_changed_meanwhile_is_not_mixed(tmp_path: Path) -> None:
    async def go() -> None:
        names = policy(tmp_path, plan=STOPS)
        async with all_three(policy=names) as (origin, both):
            await until(lambda: len(both.local.runtime.rules) > 0)
            origin.serve("/", PAGE)
            origin.serve("/a.jpg", PHOTO, "image/jpeg")
            component = await shown(both, origin.base)
            await until(lambda: component.complete)
            origin.serve(
                "/a.jpg", progressive(8, size=(1600, 1200), grain=(200, 150))[0], "image/jpeg"
            )
            await until(lambda: component.failure is not None)
            assert not all_of_it(component)

    run(go())
