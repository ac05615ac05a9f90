"""Transcoders of others: what they make is checked, and whatever fails leaves the picture alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from plugins.switch import PluginSwitch
from transcoders.make.plugged import PluggedTranscoders
from transcoders.make.registry import Transcoders
from transcoders.picture import Picture, PictureOptions

DATA = b"x" * 9000
GOOD = [("low", "image/jpeg", b"ab"), ("high", "image/png", b"cde")]


class Maker:
    """Gives what it is told to."""

    name = "maker"

    def __init__(self, made: Callable[[], object]) -> None:
        self.made = made
        self.asked = 0

    def wants(self, content_type: str, head: bytes) -> bool:
        return content_type == "image/odd"

    def make(self, data: bytes, content_type: str) -> object:
        self.asked += 1
        return self.made()


def plugged(maker: object) -> tuple[list[tuple[object, PluginSwitch]], PluginSwitch]:
    switch = PluginSwitch("maker", tell=lambda *told: None, clock=time.thread_time)
    return [(maker, switch)], switch


def make(maker: object, *, timeout: float = 5.0) -> tuple[Picture | Exception | None, PluginSwitch]:
    """What becomes of one picture, asked of the plug-ins alone."""
    makers, switch = plugged(maker)

    async def go() -> Picture | Exception | None:
        one = PluggedTranscoders(makers, max_bytes=1000, timeout=timeout)  # type: ignore[arg-type]
        try:
            return await one.picture(DATA, "image/odd", "phone")
        except Exception as error:
            return error
        finally:
            await one.close()

    return asyncio.run(go()), switch


def test_levels_are_put_one_behind_the_other() -> None:
    made, switch = make(Maker(lambda: GOOD))
    assert isinstance(made, Picture)
    assert made.data == b"abcde"
    assert [(one.name, one.start, one.end) for one in made.levels] == [
        ("low", 0, 2),
        ("high", 2, 5),
    ]
    assert not made.lossless
    assert not made.identical
    assert switch.on


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("levels", "is no list of levels"),
        ([], "is no list of levels"),
        ([GOOD[0]] * 5, "is no list of levels"),
        ([("low", b"ab")], "is not (level, content type, bytes)"),
        ([GOOD[1], GOOD[0]], "level 'low' is not one of"),
        ([("original", "image/png", b"a")], "level 'original' is not one of"),
        ([(["low"], "image/png", b"a")], "is not one of"),
        ([("low", "image/png", b"")], "has no bytes"),
        ([("low", "image/png", "text")], "has no bytes"),
        ([("low", "text/html", b"a")], "is no type of a picture"),
        ([("low", "image/png\r\nx: y", b"a")], "is no type of a picture"),
        ([("low", "image/png", b"a" * 1001)], "1001 bytes; at most 1000"),
    ],
)
def test_nonsense_switches_it_off(made: object, why: str) -> None:
    outcome, switch = make(Maker(lambda: made))
    assert isinstance(outcome, Exception)
    assert why in switch.why_off


def test_one_that_dawdles_is_switched_off() -> None:
    outcome, switch = make(Maker(lambda: time.sleep(0.3)), timeout=0.05)
    assert isinstance(outcome, TimeoutError)
    assert "more than 0.05 s" in switch.why_off


def test_one_that_leaves_it_stays_on() -> None:
    outcome, switch = make(Maker(lambda: None))
    assert outcome is None
    assert switch.on


def test_behind_the_door_a_failure_yields_the_origins_bytes_and_is_the_last() -> None:
    maker = Maker(lambda: 1 / 0)
    makers, switch = plugged(maker)

    async def go() -> list[Picture | None]:
        all_of_them = Transcoders(workers=1, jpegtran=None, plugged=makers)  # type: ignore[arg-type]
        assert all_of_them.wants("image/odd", DATA, len(DATA))
        assert not all_of_them.wants("image/odd", DATA, 10)
        found = [await all_of_them.picture(DATA, "image/odd", PictureOptions()) for _ in range(3)]
        assert not all_of_them.wants("image/odd", DATA, len(DATA))
        assert all_of_them.statistics().left_alone == {"failed": 1}
        await all_of_them.close()
        return found

    assert asyncio.run(go()) == [None, None, None]
    assert maker.asked == 1
    assert "ZeroDivisionError" in switch.why_off


def test_a_policy_that_stops_at_a_level_gets_no_more() -> None:
    makers, _ = plugged(Maker(lambda: GOOD))

    async def go() -> Picture | None:
        all_of_them = Transcoders(workers=1, jpegtran=None, plugged=makers)  # type: ignore[arg-type]
        made = await all_of_them.picture(DATA, "image/odd", PictureOptions(stop="low"))
        await all_of_them.close()
        return made

    made = asyncio.run(go())
    assert made is not None
    assert made.data == b"ab"
