"""Scripts' texts tell what they can do with pictures and requests."""

from __future__ import annotations

import asyncio

import pytest

from emulation.memory.virtual_time import run as run_virtually
from local_proxy.export_drivers.markup.script_powers import ScriptPowers
from local_proxy.http.model import Request
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from tests.local_proxy.export_world import (
    DATA,
    IMAGE,
    PREFIXES,
    URL,
    World,
    advance,
    component,
    run,
    text_of,
    turns,
)
from web.script_names import READERS
from wire.skeleton import Kind

ORIGIN = "https://a.test"


def text(kind: Kind = Kind.OTHER, content_type: str = "text/javascript") -> Component:
    head = OriginHead(200, [("content-type", content_type)], None)
    return Component(1, 1, f"{ORIGIN}/x", kind, head=head)


def come(powers: ScriptPowers, one: Component, data: bytes, *, last: bool = False) -> None:
    one.data += data
    one.complete = last
    powers.look(one, ORIGIN)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_name_is_found_however_the_text_is_cut(name: bytes, size: int) -> None:
    powers, one = ScriptPowers(), text()
    script = b"let a = 1;\n" * 20 + b"x." + name
    for at in range(0, len(script), size):
        assert not powers.read_pixels(ORIGIN)
        come(powers, one, script[at : at + size])
        if at % 2:  # its reader has had that
            one.trimmed, one.data = one.received, bytearray()
    assert powers.read_pixels(ORIGIN)
    assert not powers.read_pixels("https://b.test")


@pytest.mark.parametrize(
    ("kind", "content_type", "found"),
    [
        (Kind.TEXT, "text/html; charset=utf-8", True),
        (Kind.SCRIPT, "text/plain", True),
        (Kind.OTHER, "application/javascript", True),
        (Kind.OTHER, "image/svg+xml", True),
        (Kind.OTHER, "application/json", False),
        (Kind.IMAGE, "text/javascript", False),
        (Kind.STYLE, "text/css", False),
    ],
)
def test_only_what_runs_is_looked_at(kind: Kind, content_type: str, found: bool) -> None:
    powers = ScriptPowers()
    come(powers, text(kind, content_type), b"a.drawImage(b)")
    assert powers.read_pixels(ORIGIN) is found


def script(number: int = 21, **what: bool) -> Component:
    """One that the page's markup names, nothing of it here yet."""
    return Component(number, 1, f"http://a.test/{number}.js", Kind.SCRIPT, promised=True, **what)


def here(world: World, one: Component, data: bytes, *, last: bool = True) -> None:
    one.head = OriginHead(200, [("content-type", "text/javascript")], None)
    one.data += data
    one.complete = last
    world.export.look(one)


@pytest.mark.parametrize(
    ("text", "answer"), [(b"let a = 1", b"abc!"), (b"brush.drawImage(a)", DATA)]
)
def test_a_coarse_picture_waits_for_scripts_that_are_named(text: bytes, answer: bytes) -> None:
    async def main() -> None:
        world = World()
        await world.page()
        first, second, picture = script(21), script(22), component(*PREFIXES, received=3)
        world.export.look(first)
        world.export.look(second)
        asked = asyncio.create_task(world.export.picture(picture, Request("GET", URL, IMAGE)))
        await turns()
        here(world, first, b"let b = 2")
        await turns()
        assert not asked.done()
        here(world, second, text)
        await turns()
        if answer is DATA:
            advance(picture, len(DATA))
        assert await text_of(await asked) == answer

    run(main())


@pytest.mark.parametrize(("reads", "answer"), [(False, b"abc!"), (True, DATA)])
def test_what_a_script_can_do_may_be_told_before_it_comes(reads: bool, answer: bytes) -> None:
    async def main() -> None:
        world = World()
        await world.page()
        late, picture = script(), component(*PREFIXES, received=3)
        world.export.look(late)
        asked = asyncio.create_task(world.export.picture(picture, Request("GET", URL, IMAGE)))
        await turns()
        assert not asked.done()
        late.reads_pixels = reads
        world.export.look(late)
        await turns()
        if answer is DATA:
            advance(picture, len(DATA))
        assert await text_of(await asked) == answer

    run(main())


def test_no_coarse_picture_waits_for_what_will_not_come() -> None:
    async def main() -> None:
        world = World()
        await world.page()
        gone = script(21)
        world.export.look(gone)
        world.export.look(script(22, withheld=True))
        gone.failure = ComponentFailed(502, "refused")
        world.export.look(gone)
        response = await world.export.picture(
            component(*PREFIXES, received=3), Request("GET", URL, IMAGE)
        )
        assert response.body == b"abc!"

    run(main())


def test_a_page_waits_for_its_scripts_once() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        world = World()
        await world.page()
        late = script()
        world.export.look(late)
        start = now()
        for _ in range(2):
            picture = component(*PREFIXES, received=3)
            response = await world.export.picture(picture, Request("GET", URL, IMAGE))
            assert not isinstance(response.body, bytes)  # it ends when all is here
            assert now() - start == pytest.approx(1.0)
            advance(picture, len(DATA))
            assert await text_of(response) == DATA
        here(world, late, b"let a = 1")
        response = await world.export.picture(
            component(*PREFIXES, received=3), Request("GET", URL, IMAGE)
        )
        assert response.body == b"abc!"

    run_virtually(main())
