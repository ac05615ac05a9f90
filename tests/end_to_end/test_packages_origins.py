"""Documents in parts from origins that are slow, break off, or change their minds."""

from __future__ import annotations

import asyncio

import pytest

from local_proxy.documents.incoming_document import IncomingDocument
from local_proxy.link.components import ComponentFailed
from tests.end_to_end.packages import TYPE, content, ended
from tests.end_to_end.pair import (
    Asked,
    all_three,
    run,
    until,
)
from tests.office_files import DECK, LARGE


def test_a_document_whose_length_nobody_told() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):

            async def handler(asked: Asked) -> None:
                head = f"HTTP/1.1 200 X\r\ncontent-type: {TYPE}\r\ntransfer-encoding: chunked\r\n"
                body = b"%x\r\n" % len(DECK) + DECK + b"\r\n0\r\n\r\n"
                await asked.send(head.encode() + b"\r\n" + body)

            origin.paths["/deck.pptx"] = handler
            _, document = await both.local.packages.open(f"{origin.base}/deck.pptx")
            assert isinstance(document, IncomingDocument)
            await ended(document)
            assert content(document) == DECK

    run(main())


class Ranged:
    """An origin's handler that answers ranges at once, and the whole only as it is let."""

    def __init__(self, data: bytes, *, tag: str = '"1"') -> None:
        self.data = data
        self.tag = tag
        self.tag_of_ranges = tag
        self.go = asyncio.Event()
        self.ranges: list[str] = []

    async def __call__(self, asked: Asked) -> None:
        wanted = asked.header("range")
        if not wanted:
            fields = [("etag", self.tag), ("accept-ranges", "bytes")]
            head = f"HTTP/1.1 200 X\r\ncontent-length: {len(self.data)}\r\ncontent-type: {TYPE}\r\n"
            lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
            await asked.send((head + lines + "\r\n").encode() + self.data[:1000])
            await self.go.wait()
            await asked.send(self.data[1000:])
            return
        self.ranges.append(wanted)
        assert asked.header("if-range") == self.tag
        first, last = map(int, wanted.removeprefix("bytes=").split("-"))
        if self.tag_of_ranges != self.tag:
            await asked.answer(self.data, TYPE, headers=[("etag", self.tag_of_ranges)])
            return
        place = ("content-range", f"bytes {first}-{last}/{len(self.data)}")
        fields = [place, ("etag", self.tag)]
        await asked.answer(self.data[first : last + 1], TYPE, status=206, headers=fields)


def test_a_slow_origin_is_asked_for_what_is_needed_first() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            handler = origin.paths["/large.pptx"] = Ranged(LARGE)
            _, document = await both.local.packages.open(f"{origin.base}/large.pptx")
            assert isinstance(document, IncomingDocument)
            await until(lambda: all(map(document.present, document.outline.pages[0].entries)))
            assert handler.ranges
            assert document.received < len(LARGE) // 2
            handler.go.set()
            await ended(document)
            assert content(document) == LARGE

    run(main())


def test_an_origin_whose_ranges_are_of_another_version_is_read_to_its_end() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            handler = origin.paths["/large.pptx"] = Ranged(LARGE)
            handler.tag_of_ranges = '"2"'
            opening = asyncio.ensure_future(both.local.packages.open(f"{origin.base}/large.pptx"))
            await until(lambda: len(handler.ranges) == 1)
            handler.go.set()
            _, document = await opening
            await ended(document)
            assert content(document) == LARGE
            assert len(handler.ranges) == 1

    run(main())


def test_an_origin_that_breaks_off_is_asked_for_the_rest() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            whole = Ranged(LARGE)

            async def handler(asked: Asked) -> None:
                if asked.header("range"):
                    await whole(asked)
                    return
                fields = f"content-length: {len(LARGE)}\r\ncontent-type: {TYPE}\r\n"
                fields += f"accept-ranges: bytes\r\netag: {whole.tag}\r\n"
                await asked.send(f"HTTP/1.1 200 X\r\n{fields}\r\n".encode() + LARGE[:300_000])
                await asked.reset()

            origin.paths["/large.pptx"] = handler
            _, document = await both.local.packages.open(f"{origin.base}/large.pptx")
            await ended(document)
            assert content(document) == LARGE

    run(main())


def test_bytes_that_come_twice_and_differ_end_it() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):
            handler = origin.paths["/large.pptx"] = Ranged(LARGE)
            _, document = await both.local.packages.open(f"{origin.base}/large.pptx")
            assert handler.ranges
            handler.data = LARGE[:-30] + bytes(30)
            handler.go.set()
            await ended(document)
            assert isinstance(document, IncomingDocument)
            assert "changed" in document.failure

    run(main())


def test_an_origin_that_breaks_off_is_told_of() -> None:
    async def main() -> None:
        async with all_three() as (origin, both):

            async def handler(asked: Asked) -> None:
                fields = f"content-length: {len(LARGE)}\r\ncontent-type: {TYPE}\r\n"
                if asked.header("range"):
                    await asked.answer(status=404)
                    return
                await asked.send(f"HTTP/1.1 200 X\r\n{fields}\r\n".encode() + LARGE[:-1])
                await asked.reset()

            origin.paths["/large.pptx"] = handler
            with pytest.raises(ComponentFailed, match="incomplete"):
                await both.local.packages.open(f"{origin.base}/large.pptx")
            await both.serves(origin)

    run(main())
