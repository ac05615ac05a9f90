"""Documents in which no driver runs: other marks for their pictures, and for nobody else's."""

from __future__ import annotations

from scheduling.tree import Tree

LEVELS, STEPS = (10, 400, 1000), (100, 400, 1000)
ENDS = {"low": 10, "medium": 400, "original": 1000}


def tree() -> Tree:
    made = Tree(quantum=100)
    for document, component in ((1, 2), (1, 4), (3, 6)):
        made.promise(document, component, kind="image", order=component)
    made.set_marks(1, 2, LEVELS, STEPS, ends=ENDS)
    made.set_marks(3, 6, LEVELS, STEPS, ends=ENDS)
    return made


def marks(made: Tree, component: int) -> tuple[int, ...]:
    leaf = made.find_leaf(component)
    assert leaf is not None
    return leaf.marks


def test_its_pictures_have_their_first_step_now_and_later() -> None:
    made = tree()
    assert marks(made, 2) == LEVELS
    made.grow(1)
    assert marks(made, 2) == STEPS
    made.set_marks(1, 4, LEVELS, STEPS, ends=ENDS)
    assert marks(made, 4) == STEPS
    assert marks(made, 6) == LEVELS


def test_a_document_that_is_not_there_changes_nothing_and_is_not_remembered() -> None:
    made = tree()
    for document in (0, 99, -1, 2**70):
        made.grow(document)
        made.set_marks(document, 2, LEVELS, STEPS, ends=ENDS)
        assert marks(made, 2) == LEVELS


def test_what_left_is_forgotten() -> None:
    made = tree()
    made.grow(1)
    made.forget(2)
    made.grow(1)
    assert made.find_leaf(2) is None
    made.close_document(1)
    made.promise(1, 8, kind="image", order=8)
    made.set_marks(1, 8, LEVELS, STEPS, ends=ENDS)
    assert marks(made, 8) == LEVELS
    made.sweep({6, 8})
    made.grow(3)
    assert (marks(made, 6), marks(made, 8)) == (STEPS, LEVELS)
