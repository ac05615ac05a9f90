"""A real LibreOffice shows the beginning of a long text until all of it is here."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from local_proxy.export_drivers.libreoffice.events import EventKind
from tests.local_proxy.office_desk import desk, difference, needs_libreoffice
from tests.office.long_text import long_text

pytestmark = [needs_libreoffice, pytest.mark.usefixtures("at_a_desk")]
SIZE = 12_000
SAME = 0.1
"""Of 255: what two exports of the same pages may differ by."""


@pytest.mark.parametrize("suffix", [".docx", ".odt"])
def test_the_first_pages_are_read_while_the_others_come(suffix: str, tmp_path: Path) -> None:
    document = long_text(tmp_path, suffix)

    async def scenario() -> None:
        async with desk(document.name, tmp_path, tmp_path) as at:
            source = at.source
            source.feed_beginning(SIZE)
            await at.until(EventKind.OPENED)
            state = await at.person("state")
            assert state["readonly"]
            assert state["title"] == f"{document.name} (loading: text)"
            begun = await at.person("prose")
            assert "Line 100: " in begun
            assert "Line 599: " not in begun
            assert at.count(EventKind.TEXT) == 0
            await at.text_shown()
            assert at.count(EventKind.TEXT) == at.count(EventKind.OPENED) == 1
            whole = await at.person("prose")
            assert "Line 599: " in whole
            assert whole.startswith(begun.rstrip())
            assert not (await at.person("state"))["readonly"]
            source.feed_rest()
            await at.until(EventKind.COMPLETE)
            await at.person("pdf", path=str(tmp_path / "live.pdf"))
            await at.person(
                "reference", original=str(document), path=str(tmp_path / "original.pdf")
            )
            await at.close()

    asyncio.run(scenario())
    assert difference(tmp_path / "live.pdf", tmp_path / "original.pdf") <= SAME


def test_a_beginning_that_can_t_be_read_is_waited_for(tmp_path: Path) -> None:
    """All of it is in one box, which ends where the text does."""
    document = long_text(tmp_path, ".docx", boxed=True)

    async def scenario() -> None:
        async with desk(document.name, tmp_path, tmp_path) as at:
            source = at.source
            source.feed_beginning(SIZE)
            await at.until(EventKind.STARTED)
            await asyncio.sleep(0.5)  # it would have been opened by now
            assert at.count(EventKind.OPENED) == 0
            await at.text_shown()
            assert at.count(EventKind.OPENED) == 1
            await at.close()

    asyncio.run(scenario())
