"""A coding crosses the link only where this end said that it takes it."""

from __future__ import annotations

import pytest

from emulation.memory.memory import LinkModel, memory_links
from emulation.memory.virtual_time import run as run_virtually
from local_proxy.link.resumption import Memory
from local_proxy.link.session import LocalSession
from tests.local_proxy.ends import LEVELS, URL, Ear, Remote
from wire import abilities
from wire import messages as m
from wire.skeleton import Kind, Part, Use

HEAD = m.Head(2, 200, b"")
CODED = m.Levels(2, list(LEVELS), 9, abilities.ARITHMETIC)


@pytest.mark.parametrize(
    ("accepts", "said", "taken"),
    [
        ((abilities.ARITHMETIC,), [CODED, HEAD], True),
        ((), [CODED, HEAD], False),
        ((abilities.ARITHMETIC,), [m.Head(2, 200, b"", coding=abilities.ARITHMETIC)], False),
        (("other",), [CODED, HEAD], False),
    ],
    ids=["said", "not said", "without levels", "another said"],
)
def test_only_a_coding_that_was_said_to_be_accepted_is(
    accepts: tuple[str, ...], said: list[m.Message], taken: bool
) -> None:
    async def go() -> None:
        near, far = memory_links(LinkModel(rate_up=1e5, rate_down=1e5, delay=0.01))
        part = Part(2, URL, Kind.IMAGE, Use.ELEMENT, 1)
        Remote(far, [m.Hello([1], "test"), m.Skeleton(1, [part], True), *said])
        ear = Ear()
        session = LocalSession(near, ear, Memory(), device="test", accepts=accepts)
        session.start()
        if taken:
            await ear.heads.wait()
            assert [one.coding for one in ear.promised] == [abilities.ARITHMETIC]
            session.close()
        else:
            error = await session.closed
            assert error is not None
            assert "unknown coding" in str(error)

    run_virtually(go())
