"""Tests of the low level that goes in front of all the rest of a picture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from transcoders.make.low import Low, as_it_is, in_front
from transcoders.picture import Picture
from wire.skeleton import Level

SKETCH = Low(b"sketch", Level("low", 0, 6, "image/jpeg", b"", 640, 480), 640, 480)
VERSION = Low(b"version", Level("low", 0, 7, "image/webp"), 640, 480)
STEPS = Picture(
    b"a picture in steps",
    (
        Level("low", 0, 4, "image/jpeg", b"end"),
        Level("medium", 0, 9, "image/jpeg", b"end"),
        Level("original", 0, 18, "image/jpeg"),
    ),
    640,
    480,
    lossless=True,
    identical=False,
)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def test_a_picture_of_which_nothing_finer_is_made_is_its_low_level() -> None:
    alone = VERSION.alone()
    assert (alone.data, alone.levels) == (b"version", (VERSION.level,))
    assert not alone.lossless and not alone.identical
    assert (alone.width, alone.height) == (640, 480)


@pytest.mark.parametrize("low", [SKETCH, VERSION])
def test_the_low_level_takes_the_place_of_the_pictures_own(low: Low) -> None:
    made = in_front(low, STEPS)
    size = len(low.data)
    assert made.data == low.data + STEPS.data
    assert made.levels == (
        low.level,
        Level("medium", size, size + 9, "image/jpeg", b"end"),
        Level("original", size, size + 18, "image/jpeg"),
    )
    for level in made.levels[1:]:
        assert made.data[level.start : level.end] == STEPS.data[: level.end - size]
    assert (made.lossless, made.identical) == (STEPS.lossless, STEPS.identical)


def test_behind_a_sketch_a_picture_shows_something_where_its_own_low_level_ended() -> None:
    assert in_front(SKETCH, STEPS).first_step == len(SKETCH.data) + 4
    assert in_front(VERSION, STEPS).first_step == 0
    whole = replace(STEPS, levels=STEPS.levels[-1:])
    assert in_front(SKETCH, whole).first_step == 0


def test_of_a_coding_that_is_not_sound_the_first_level_is_the_first_step() -> None:
    coded = replace(STEPS, coding="arithmetic")
    assert in_front(SKETCH, coded).first_step == len(SKETCH.data) + 4


def test_the_origins_bytes_can_always_follow() -> None:
    made = as_it_is(PNG, SKETCH)
    assert made.data == b"sketch" + PNG
    assert made.levels == (SKETCH.level, Level("original", 6, 6 + len(PNG), "image/png"))
    assert made.lossless and made.identical
    assert (made.width, made.height) == (640, 480)
