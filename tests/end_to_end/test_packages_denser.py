"""Documents come in fewer bytes than they have: views of texts, exact forms of pictures."""

from __future__ import annotations

import asyncio
import io
import re
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from local_proxy.export_drivers.preview.window import Showing
from tests.end_to_end.packages import content, ended, opened
from tests.end_to_end.pair import (
    run,
    slow_three,
    until,
)
from tests.office.styled_deck import styled_deck
from transcoders.picture import Unfit
from transcoders.undo import exact_forms
from wire.abilities import Takes

DATA = Path(__file__).parents[1] / "data" / "office"


def test_a_restarted_remote_sends_a_view_of_the_text_once() -> None:
    async def main() -> None:
        async with slow_three(patience=20.0) as (origin, remote, both):
            data = styled_deck(90, noise=300_000)
            _, document = await opened(origin, both, data, "styled.odp")
            await until(lambda: document.text is not None and document.text.whole)
            text = document.text
            assert not document.present("content.xml")
            await remote.stop()
            await remote.start()
            await ended(document)
            assert document.text is text
            assert content(document) == data

    run(main())


def test_a_preview_shows_a_view_of_the_text_as_it_comes() -> None:
    async def main() -> None:
        async with slow_three() as (origin, _, both):
            data = styled_deck(90, noise=300_000)
            _, document = await opened(origin, both, data, "styled.odp")
            showing = Showing(document, now=asyncio.get_running_loop().time)
            told: list[object] = []
            async for events in showing.news():
                told += [event["p"] for event in events if "p" in event]
                if 90 in told:
                    break
            assert told[0] == 1
            assert not document.present("content.xml")
            await ended(document)

    run(main())


def with_pictures() -> bytes:
    """The deck, with two PNGs and two JPEGs for its first pictures, one of them deflated."""
    image = Image.radial_gradient("L").resize((300, 220))
    colours = Image.merge("RGB", (image, image.rotate(90), image.rotate(180)))
    out = io.BytesIO()
    with (
        zipfile.ZipFile(DATA / "deck_pictures.pptx") as before,
        zipfile.ZipFile(out, "w") as after,
    ):
        for name in before.namelist():
            data, method = before.read(name), zipfile.ZIP_STORED
            if re.search(r"image[1-4]\.", name):
                file = io.BytesIO()
                colours.save(file, "PNG" if name.endswith(".png") else "JPEG", quality=97)
                data, method = file.getvalue(), zipfile.ZIP_DEFLATED if "1" in name else method
            after.writestr(name, data, method)
    return out.getvalue()


@pytest.mark.alone  # on a busy machine they would be there later than the pictures as they are
def test_on_a_slow_link_pictures_come_in_exact_forms() -> None:
    async def main() -> None:
        async with slow_three() as (origin, _, both):
            data = with_pictures()
            _, document = await opened(origin, both, data, "pictures.pptx")
            await ended(document)
            assert content(document) == data
            savings = both.local.overview.snapshot().savings
            assert savings.link_bytes < 0.9 * len(data)
            assert savings.origin_bytes == len(data)  # what the savings are of

    run(main(), timeout=60)


ATTEMPTS = 5
"""Documents: where the machine is busy no form is ready in time, and pictures come as they are."""


def test_a_device_with_another_zlib_gets_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(*_: object, **__: object) -> bytes:
        raise Unfit("of another time")

    monkeypatch.setattr(exact_forms, "huffman_coded", other)

    async def main() -> None:
        async with slow_three() as (origin, _, both):
            data = with_pictures()
            for attempt in range(ATTEMPTS):
                _, document = await opened(origin, both, data, f"pictures{attempt}.pptx")
                await ended(document)
                assert content(document) == data
                if not both.local.packages.takes & Takes.EXACT:
                    break  # a form came, and could not be undone
            assert not both.local.packages.takes & Takes.EXACT

    run(main(), timeout=60 * ATTEMPTS)
