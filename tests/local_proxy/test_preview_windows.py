"""Tests of documents that a browser previews: one document in one window, and its page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from emulation.memory.virtual_time import run
from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.export_drivers.preview.page import page, policy
from local_proxy.export_drivers.preview.window import Showing, Told
from tests.local_proxy.packages_at_work import (
    DIGEST,
    OUTLINE,
    URL,
    AtWork,
    documents,
    outlined,
    sliced,
)
from tests.local_proxy.scripted_remote import moment
from tests.office_files import DECK
from wire import messages as m


class Window:
    """A window on the deck, of which the test has the parts come."""

    def __init__(self, at: AtWork, incoming: IncomingDocument) -> None:
        self.at = at
        self.incoming = incoming
        self.showing = Showing(incoming, now=asyncio.get_running_loop().time)

    async def bring(self, *parts: int) -> None:
        """These slices, from 0: the texts of each page, then each picture, then the rest."""
        for part in parts:
            slices = sliced()
            data = b"".join(DECK[start:end] for start, end in slices[part][0])
            self.at.remote.send(2 + 2 * part, data)
        await moment()

    async def end(self) -> None:
        """All that is missing, and the digest."""
        count = len(sliced())
        await self.bring(*range(count))
        self.at.remote.send(2 + 2 * count, DIGEST)
        await moment()


@asynccontextmanager
async def window(folder: Path, url: str = URL) -> AsyncIterator[Window]:
    async with documents(folder / "kept", outlined) as at:
        _, incoming = await at.packages.open(url)
        assert isinstance(incoming, IncomingDocument)
        yield Window(at, incoming)


def pages(events: list[Told]) -> dict[object, str]:
    return {told["p"]: str(told["h"]) for told in events if "p" in told}


TEXTS = len(OUTLINE.pages)


def test_a_window_is_told_each_page_once_its_text_is_here(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            news = to.showing.news()
            first = await anext(news)
            assert first[0].keys() == {"w", "h"}
            assert pages(first) == {}
            await to.bring(0)
            second = await anext(news)
            assert list(pages(second)) == [1]
            assert "First of three slides" in pages(second)[1]
            assert second[-1]["s"] == "text 1 of 3 slides, pictures 0 of 2"
            await to.bring(1, 2)
            third = await anext(news)
            assert list(pages(third)) == [2, 3]
            assert not any("w" in told for told in third)
            assert isinstance(news, AsyncGenerator)
            await news.aclose()

    run(main())


def test_pictures_are_told_of_and_the_end_is_the_last_word(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            news = to.showing.news()
            await anext(news)
            await to.bring(0, 1, 2, TEXTS)
            told = await anext(news)
            assert {"m": [0], "l": "full"} in told
            assert "pictures 1 of 2" in str(told[-1]["s"])
            await to.end()
            last = await anext(news)
            assert {"m": [1], "l": "full"} in last
            assert last[-1] == {"s": "complete, 44 kB", "end": "complete", "done": 1}
            assert [told async for told in news] == []

    run(main())


def test_a_document_that_stops_says_so_and_keeps_what_is_here(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            news = to.showing.news()
            await anext(news)
            await to.bring(0)
            to.incoming.give_up("the disk is full")
            last = await anext(news)
            assert list(pages(last)) == [1]
            assert last[-1]["end"] == "failed"
            assert "the disk is full" in str(last[-1]["s"])

    run(main())


def test_only_a_picture_that_is_here_is_given(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            assert await to.showing.picture(0, "full") is None
            await to.bring(TEXTS)
            picture = await to.showing.picture(0, "full")
            assert picture is not None
            assert picture.startswith((b"\x89PNG", b"\xff\xd8"))
            assert await to.showing.picture(0, "low") is None
            for number, level in ((-1, "full"), (2, "full"), (1, "full"), (0, "huge"), (0, "")):
                assert await to.showing.picture(number, level) is None
            to.incoming.path.unlink()
            assert await to.showing.picture(0, "full") is None

    run(main())


def test_the_file_comes_as_it_is_here_and_its_last_byte_once_it_is_right(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            got = bytearray()

            async def read() -> None:
                async for piece in to.showing.file():
                    got.extend(piece)

            reading = asyncio.ensure_future(read())
            count = len(sliced())
            await to.bring(*range(count))
            assert bytes(got) == DECK[:-1]
            assert not reading.done()
            to.at.remote.send(2 + 2 * count, DIGEST)
            await reading
            assert bytes(got) == DECK

    run(main())


def test_a_file_that_will_never_be_whole_breaks_off(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            to.incoming.give_up("the origin is gone")
            with pytest.raises(ConnectionError, match="the origin is gone"):
                assert [piece async for piece in to.showing.file()] == []

    run(main())


def test_where_a_person_is_is_passed_on_if_there_is_such_a_page(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path) as to:
            for page_number in (0, -1, TEXTS + 1):
                to.showing.focus(page_number, [])
            await moment()
            assert to.at.remote.of(m.Raise) == []
            to.showing.focus(2, [0, 99, -1])
            await moment()
            assert 2 + 2 * 1 in [one.component for one in to.at.remote.of(m.Raise)]
            await to.end()
            before = len(to.at.heard)
            to.showing.focus(1, [])
            assert len(to.at.heard) == before

    run(main())


# -- the page --------------------------------------------------------------------------------------


def test_a_page_has_places_for_all_slides_and_nothing_of_the_document_runs(tmp_path: Path) -> None:
    async def main() -> None:
        async with window(tmp_path, "http://a.test/a%26b%22.pptx") as to:
            text = page(to.incoming, base="/base/", launch="", nonce="n0")
            assert text.count('<section class="slide"') == TEXTS
            assert 'data-base="/base/"' in text
            assert "a&amp;b_.pptx" in text
            assert 'nonce="n0"' in text
            assert "LibreOffice" not in text
            assert f"{len(DECK) / 1e6:.1f} MB" in text
            assert "$" not in text.partition("<script")[0]
            launched = page(to.incoming, base="/base/", launch="http://own/?a&b", nonce="n0")
            assert 'href="http://own/?a&amp;b"' in launched

    run(main())


def test_a_pages_policy_names_its_own_place_and_its_script_alone() -> None:
    told = dict(
        one.strip().partition(" ")[::2]
        for one in policy("https://a.test", "/base/", "n0").split(";")
    )
    assert told["default-src"] == "'none'"
    assert told["script-src"] == "'nonce-n0'"
    assert told["connect-src"] == told["img-src"] == "https://a.test/base/"
    assert "allow-same-origin" not in told["sandbox"]
    assert "connect-src 'self'" in policy("http://[::1]", "/base/", "n0")
