"""Pages made to hold a proxy up: they come whole, and cost no more than any page of their size.

What is looked at is the processor's time of both proxies and the origin, which a busy machine does
not lengthen; each of these took from two seconds to minutes where a scan was not linear.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import pytest

from tests.end_to_end.client import Broken
from tests.end_to_end.origin import Asked
from tests.end_to_end.pair import all_three, run

MOST: Final = 2.0
"""Seconds of the processor, some five times what one of these pages takes."""
HTML = "text/html; charset=utf-8"
PAGES = {
    "a meta policy without an end": b"<meta " + b" content-security-policy" * 3000,
    "a width": b"<!doctype html><img src=a width='1" + b" " * 65_000 + b"x'>",
    "end tags that close nothing": b"<!doctype html>" + b"<div>" * 40_000 + b"</x>" * 40_000,
    "references below a long address": b"<!doctype html><base href='/"
    + b"%2F/" * 1900
    + b"'>"
    + b"<img src=a>" * 6000,
}
DRIPPED = {
    "attributes": b"<html " + b"a " * 30_000,
    "a sheet's address": b"<style>a{b:url(" + b";\\)" * 20_000,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_made_to_hold_the_proxies_up_does_not(name: str) -> None:
    async def go() -> None:
        async with all_three() as (origin, both):
            origin.serve("/p", PAGES[name], HTML)
            began = time.process_time()
            shown = await both.browser.navigate(origin.base + "/p")
            assert time.process_time() - began < MOST
            assert without_tag(shown.body) == PAGES[name]
            await both.serves(origin)

    run(go())


@pytest.mark.parametrize("name", DRIPPED)
def test_nor_does_one_that_comes_in_small_pieces(name: str) -> None:
    async def drip(asked: Asked) -> None:
        asked.writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {HTML}\r\n\r\n".encode())
        for piece in pieces(DRIPPED[name]):
            asked.writer.write(piece)
            await asked.writer.drain()
            await asyncio.sleep(0)
        asked.writer.close()

    async def go() -> None:
        async with all_three() as (origin, both):
            origin.paths["/p"] = drip
            began = time.process_time()
            shown = await both.browser.navigate(origin.base + "/p")
            assert time.process_time() - began < 2 * MOST
            assert without_tag(shown.body) == DRIPPED[name]
            await both.serves(origin)

    run(go())


def pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + 256] for at in range(0, len(data), 256))


def without_tag(shown: bytes) -> bytes:
    """The page as its origin has it."""
    start = shown.find(b'<script src="/.well-known/sluice')
    if start < 0:
        return shown
    return shown[:start] + shown[shown.index(b"</script>", start) + len(b"</script>") :]


def test_a_trailer_of_spaces_holds_nobody_up() -> None:
    """Its value was once looked at in as many ways as it has pairs of spaces, and more."""

    async def trailing(asked: Asked) -> None:
        await asked.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
            b"1\r\nx\r\n0\r\nX-A:" + b" " * 8000 + b"\x01\r\n\r\n"
        )

    async def go() -> None:
        async with all_three() as (origin, both):
            origin.paths["/p"] = trailing
            began = time.process_time()
            with suppress(Broken):  # who reads it strictly may call the answer garbled
                await both.client.get(origin.base + "/p", [("te", "trailers")])
            assert time.process_time() - began < MOST
            await both.serves(origin)

    run(go())
