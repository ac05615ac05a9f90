"""A picture is had by a time as the finest file there is, else as the first one after that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from emulation.memory.virtual_time import run
from local_proxy.export_drivers.browser.level_files import NoFile
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from local_proxy.requests.timely_pictures import TimelyPicture, finest_by
from tests.local_proxy.ends import DATA, JPEG, LEVELS
from wire.skeleton import Kind, Level, Use

DUE = 10.0
RECIPE = b"recipe"


class Files:
    """Makes files at once, or as slowly and as badly as it is told."""

    def __init__(self, *, slow: float = 0.0, bad: tuple[str, ...] = ()) -> None:
        self.slow = slow
        self.bad = bad
        self.made: list[str] = []

    async def file(self, component: Component, level: Level) -> bytes:
        await self._make(level.name)
        return component.file(level)

    async def original(self, component: Component) -> bytes:
        await self._make("origin")
        return DATA

    async def _make(self, name: str) -> None:
        self.made.append(name)
        await asyncio.sleep(self.slow)
        if name in self.bad:
            raise NoFile(name)


def picture(*, identical: bool = False, levels: tuple[Level, ...] = LEVELS) -> Component:
    one = Component(1, 0, "http://a.test/p.jpg", Kind.OTHER, Use.OTHER)
    one.head = OriginHead(200, [("content-type", JPEG)], None)
    one.levels, one.identical = levels, identical
    return one


def comes(one: Component, until: int, *, complete: bool = False) -> None:
    one.data += (DATA + RECIPE)[one.received : until]
    one.complete = complete
    one.notify()


def get(
    one: Component,
    files: Files,
    *events: tuple[float, Callable[[], None]],
    takes: Callable[[str], bool] = lambda _: True,
) -> tuple[TimelyPicture, float]:
    """What was had, and when, where these things happen."""

    async def go() -> tuple[TimelyPicture, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for after, event in events:
            loop.call_later(after, event)
        found = await finest_by(began + DUE, one, files, takes=takes)
        return found, round(loop.time() - began, 3)

    return run(go())


def test_at_the_time_it_is_the_finest_level_here() -> None:
    one = picture()
    found, at = get(
        one,
        Files(),
        (1, lambda: comes(one, 3)),
        (9, lambda: comes(one, 6)),
        (11, lambda: comes(one, 9)),
    )
    assert (found.name, found.file, at) == ("medium", DATA[:5] + b"\xff\xd9", DUE)


def test_the_origins_file_is_given_as_soon_as_it_is_here() -> None:
    one = picture(identical=True)
    found, at = get(one, Files(), (1, lambda: comes(one, 3)), (4, lambda: comes(one, 9)))
    assert (found.name, found.level, found.file, at) == ("original", None, DATA, 4)


def test_its_recipe_is_waited_for() -> None:
    one = picture()
    whole = len(DATA + RECIPE)
    found, at = get(
        one, Files(), (1, lambda: comes(one, 9)), (3, lambda: comes(one, whole, complete=True))
    )
    assert (found.name, at) == ("original", 3)


def test_the_same_pixels_in_other_bytes_are_not_called_the_original() -> None:
    one = picture()
    found, at = get(one, Files(), (1, lambda: comes(one, 9, complete=True)))
    assert (found.name, at) == ("high", 1)
    assert found.level == LEVELS[-1]


def test_where_nothing_is_here_by_the_time_the_first_level_is_given_late() -> None:
    one = picture()
    found, at = get(one, Files(), (12, lambda: comes(one, 3)), (13, lambda: comes(one, 5)))
    assert (found.name, at) == ("low", 12)


def test_a_file_that_is_being_made_at_the_time_is_not_waited_for() -> None:
    one, files = picture(), Files(slow=2.0)
    found, at = get(one, files, (1, lambda: comes(one, 3)), (9, lambda: comes(one, 5)))
    assert (found.name, at) == ("low", DUE)
    assert files.made == ["low", "medium"]


def test_the_first_file_is_waited_for() -> None:
    one = picture()
    found, at = get(one, Files(slow=3.0), (9, lambda: comes(one, 3)))
    assert (found.name, at) == ("low", 12)


def test_a_picture_that_a_plan_stops_is_given_as_far_as_it_comes() -> None:
    one = picture(levels=LEVELS[:1])
    found, at = get(one, Files(), (2, lambda: comes(one, 3, complete=True)))
    assert (found.name, at) == ("low", 2)


def test_a_level_of_another_type_than_the_client_takes_is_passed_over() -> None:
    one = picture(levels=(Level("low", 0, 3, "image/webp"), *LEVELS[1:]))
    jpeg_alone = get(
        one, Files(), (1, lambda: comes(one, 3)), (12, lambda: comes(one, 5)), takes=JPEG.__eq__
    )
    assert (jpeg_alone[0].name, jpeg_alone[1]) == ("medium", 12)


def test_what_no_file_can_be_made_of_is_passed_over() -> None:
    one = picture(identical=True)
    files = Files(bad=("low", "origin"))
    found, at = get(
        one, files, (1, lambda: comes(one, 3)), (2, lambda: comes(one, 9, complete=True))
    )
    assert (found.name, at) == ("high", 2)
    assert files.made == ["low", "origin", "original"]


def test_where_no_file_can_be_made_at_all_that_is_said() -> None:
    one = picture()
    files = Files(bad=("low", "medium", "original"))
    with pytest.raises(NoFile):
        get(one, files, (1, lambda: comes(one, 9, complete=True)))


def test_where_it_breaks_off_what_is_here_is_given() -> None:
    one = picture()
    broken = ComponentFailed(502, "the origin broke off")
    found, at = get(one, Files(), (1, lambda: comes(one, 3)), (2, lambda: one.fail(broken)))
    assert (found.name, at) == ("low", 2)
    empty = picture()
    with pytest.raises(ComponentFailed):
        get(empty, Files(), (2, lambda: empty.fail(broken)))
