"""A preview's window in tests: what it sees and hears."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from tests.end_to_end.client import Answer
from tests.end_to_end.pair import (
    FakeOrigin,
    Pair,
)
from tests.office_files import DECK

TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def served(origin: FakeOrigin, data: bytes = DECK, **more: Any) -> str:
    origin.serve("/deck.pptx", data, TYPE, **more)
    return origin.base + "/deck.pptx"


def base_of(page: Answer) -> str:
    """The path below which a preview asks."""
    found = re.search(rb'data-base="([^"]+)"', page.body)
    assert found, page
    return found[1].decode()


async def events(both: Pair, address: str) -> AsyncIterator[dict[str, Any]]:
    """What a window hears, until nothing more comes of the document."""
    async with both.client.open(address + "events") as answer:
        assert answer.status == 200, answer
        rest = b""
        async for chunk in answer.stream:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.startswith(b"data: "):
                    said = json.loads(line[6:])
                    yield said
                    if "end" in said:
                        return


async def shown(both: Pair, address: str) -> tuple[dict[int, str], dict[int, str], str]:
    """Pages and pictures at the end, and the last word."""
    pages: dict[int, list[str]] = {}
    pictures: dict[int, str] = {}
    word = ""
    async for said in events(both, address):
        word = said.get("s", word)
        if "m" in said:
            pictures.update(dict.fromkeys(said["m"], said["l"]))
        if "p" in said:
            pages[said["p"]] = [*pages.get(said["p"], [])[: said["k"]], said["h"]]
    return {number: "".join(blocks) for number, blocks in pages.items()}, pictures, word
