"""Tests of exact forms of a document's pictures: where the link is slow, and so many at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from emulation.memory import virtual_time
from office.outline import Media
from office.parts import PicturePart, RestParts
from remote_proxy.documents import exact_forms
from remote_proxy.documents.document import PackageDocument
from remote_proxy.documents.exact_forms import PATIENCE, SLOW, ExactForms
from tests.office_files import DECK
from tests.remote_proxy.document_world import FakeTranscoders, gathered
from transcoders.exact.coder import LEAST
from transcoders.exact.form import MAX_BYTES

PICTURE = Media("a.png", (1,))


def whole(start: int, end: int) -> PicturePart:
    return PicturePart(PICTURE, ((start, end),), True)


@pytest.mark.parametrize(
    ("size", "expected"),
    [(LEAST - 1, False), (LEAST, True), (MAX_BYTES, True), (MAX_BYTES + 1, False)],
)
def test_a_picture_may_have_a_form_if_it_is_neither_small_nor_huge(
    size: int, expected: bool
) -> None:
    part = whole(10, 10 + size)
    assert ExactForms.may_have(part, part.ranges) is expected


def test_half_a_picture_and_other_parts_have_none() -> None:
    part = whole(0, 100_000)
    assert not ExactForms.may_have(part, ((50_000, 100_000),))
    assert not ExactForms.may_have(part, ((0, 50_000), (60_000, 100_000)))
    assert not ExactForms.may_have(RestParts(part.ranges), part.ranges)


class World:
    """The forms of a deck, and the link that it is sent over."""

    def __init__(self, document: PackageDocument, *, form: bytes | None = b"form") -> None:
        self.transcoders = FakeTranscoders(form=form)
        self.rate: float | None = SLOW
        self.waiting = True
        self.forms = ExactForms(
            document,
            self.transcoders,
            whose="device",
            scans=True,
            rate=lambda: self.rate,
            waiting=lambda: self.waiting,
        )
        entry = document.directory.by_name[document.outline.media[0].entry]
        self.part = PicturePart(document.outline.media[0], ((entry.start, entry.end),), True)
        self.picture = entry

    async def made(self) -> bytes | None:
        async with self.forms.form(self.part) as form:
            return form


def run(work: Callable[[World], Awaitable[None]], *, form: bytes | None = b"form") -> None:
    async def main() -> None:
        async with gathered(DECK) as document:
            await document.gathering.everything()
            await work(World(document, form=form))

    virtual_time.run(main())


def test_over_a_slow_link_a_picture_has_its_form() -> None:
    async def go(world: World) -> None:
        assert await world.made() == b"form"
        ((start, length, _, scans),) = world.transcoders.asked
        name = world.picture.name
        assert (start, length, scans) == (30 + len(name), world.picture.compressed, True)

    run(go)


def test_a_picture_without_a_form_goes_as_it_is() -> None:
    async def go(world: World) -> None:
        assert await world.made() is None
        assert len(world.transcoders.asked) == 1

    run(go, form=None)


def test_over_a_fast_link_none_is_made() -> None:
    async def go(world: World) -> None:
        world.rate = SLOW + 1
        assert await world.made() is None
        assert not world.transcoders.asked

    run(go)


def test_the_rate_is_waited_for_while_something_waits_for_the_link() -> None:
    async def go(world: World) -> None:
        loop = asyncio.get_running_loop()
        world.rate, world.waiting = None, False
        assert await world.made() is None
        assert loop.time() == 0
        world.waiting = True
        assert await world.made() is None
        assert loop.time() == pytest.approx(PATIENCE)
        loop.call_later(PATIENCE / 2, setattr, world, "rate", SLOW)
        assert await world.made() == b"form"
        assert loop.time() == pytest.approx(1.5 * PATIENCE, abs=0.1)

    run(go)


def test_only_so_many_bytes_of_pictures_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go(world: World) -> None:
        size = world.picture.end - world.picture.start
        monkeypatch.setattr(exact_forms, "MAX_HELD", 2 * size)
        async with world.forms.form(world.part) as one, world.forms.form(world.part) as two:
            assert (one, two) == (b"form", b"form")
            assert await world.made() is None
        with pytest.raises(RuntimeError):
            async with world.forms.form(world.part):
                raise RuntimeError("the link is gone")
        assert await world.made() == b"form"

    run(go)
