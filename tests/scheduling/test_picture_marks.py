"""Marks of pictures depend on who takes them."""

from __future__ import annotations

from hats.tree.node import NO_MARK
from scheduling.picture_marks import PictureMarks

LEVELS, STEPS = (10, 400, 1000), (100, 400, 1000)


def test_what_is_wanted_whole_has_its_coarse_level_and_the_rest() -> None:
    marks = PictureMarks()
    marks.known(1, 2, LEVELS, STEPS)
    marks.known(1, 4, LEVELS, STEPS)
    assert marks.of(2) == LEVELS
    marks.want_whole(2)
    assert marks.of(2) == (10, NO_MARK)
    assert marks.of(4) == LEVELS
    assert marks.grow(1) == [2, 4]
    assert (marks.of(2), marks.of(4)) == ((100, NO_MARK), STEPS)


def test_it_may_be_wanted_before_its_marks_are_known() -> None:
    marks = PictureMarks()
    for component in (2, 4):
        marks.want_whole(component)
    assert marks.of(2) is None
    marks.known(1, 2, LEVELS, STEPS)
    marks.known(1, 4, (), ())
    assert marks.of(2) == (10, NO_MARK)
    assert marks.of(4) == ()


def test_what_has_left_is_forgotten() -> None:
    marks = PictureMarks()
    for component in (2, 4, 6):
        marks.want_whole(component)
        marks.known(1, component, LEVELS, STEPS)
    marks.forget(2)
    marks.sweep({4}, {8})
    assert set(marks) == {4}
    marks.known(1, 6, LEVELS, STEPS)
    assert marks.of(6) == LEVELS
    marks.want_whole(8)
    marks.sweep({4, 6}, {8})
    assert set(marks) == {4, 6, 8}
    marks.grow(1)
    marks.close_document(1)
    assert not marks.grows(1)
