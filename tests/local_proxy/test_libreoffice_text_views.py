"""A real LibreOffice shows a view of a text until the text is here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from local_proxy.export_drivers.libreoffice.events import EventKind
from office.text_view.records import VIEWED
from tests.local_proxy.office_desk import (
    DATA,
    Desk,
    desk,
    difference,
    needs_libreoffice,
)

pytestmark = [needs_libreoffice, pytest.mark.usefixtures("at_a_desk")]
DECK = "deck_pictures.odp"


async def texts(at: Desk) -> list[str]:
    count = len(at.source.outline.pages)
    return [await at.person("text_on", page=number) for number in range(1, count + 1)]


def test_a_view_is_read_slide_by_slide_and_the_text_takes_its_place_once(tmp_path: Path) -> None:
    """The texts of all slides are the original's from the view on; the slide in view stays."""

    async def scenario() -> None:
        async with desk(DECK, tmp_path) as at:
            source = at.source
            source.hold_back_texts()
            source.feed_page(1)
            await at.until(EventKind.STARTED)
            await asyncio.sleep(0)  # it looks for what could be shown
            source.feed_view(1)
            await at.until(EventKind.OPENED)
            shown = await texts(at)
            assert "A river in nine slides" in shown[0]
            assert not any(text.strip() for text in shown[1:])
            source.feed_view()
            await at.until(EventKind.TEXT)
            assert (await at.person("state"))["readonly"]
            await at.person("go", page=4)
            viewed = await texts(at)
            source.feed_pictures()
            await at.until(EventKind.PICTURE, 1)
            source.feed([VIEWED[0]])  # not before both are here
            source.feed_rest()
            await at.until(EventKind.COMPLETE)
            assert at.count(EventKind.EDITABLE) == at.count(EventKind.TEXT) == 1
            assert not (await at.person("state"))["readonly"]
            assert viewed == await texts(at)
            assert await at.person("page") == 4
            await at.person("pdf", path=str(tmp_path / "live.pdf"))
            await at.person(
                "reference", original=str(DATA / DECK), path=str(tmp_path / "original.pdf")
            )
            await at.close()

    asyncio.run(scenario())
    assert difference(tmp_path / "live.pdf", tmp_path / "original.pdf") <= 0.1


def test_where_the_rest_does_not_come_the_view_stays(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with desk(DECK, tmp_path) as at:
            at.source.hold_back_texts()
            at.source.feed_page(1)
            at.source.feed_view()
            await at.until(EventKind.TEXT)
            at.source.fail("the server has gone")
            assert (await at.until(EventKind.FAILED)).text == "the server has gone"
            assert "Edit me" in (await texts(at))[1]
            await at.close()

    asyncio.run(scenario())
