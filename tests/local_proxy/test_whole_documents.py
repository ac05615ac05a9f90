"""Tests of documents that come whole, and of the lines in which programs are told of documents."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import msgspec
import pytest

from emulation.memory.virtual_time import run
from local_proxy.documents.report import (
    AnyLine,
    Begun,
    DocumentRefused,
    Ended,
    FocusRequest,
    MediaLine,
    News,
    OpenRequest,
    WholeBegun,
    decoder,
    encoder,
)
from local_proxy.documents.sparse_file import SparseFile
from local_proxy.documents.whole import Whole
from local_proxy.link.components import Component, ComponentFailed, OriginHead
from office.outline import DocumentKind

URL = "http://a.test/notes.txt"


def coming(
    folder: Path, *, status: int = 200, length: int | None = None
) -> tuple[Whole, Component]:
    component = Component(1, 1, URL, head=OriginHead(status, [], length))
    return Whole(URL, "notes.txt", SparseFile(folder / "notes.txt"), component), component


def test_a_file_is_whole_with_its_last_byte_and_not_before(tmp_path: Path) -> None:
    async def main() -> None:
        whole, component = coming(tmp_path, length=6)
        told: list[tuple[int, bool]] = []
        whole.watch(lambda: told.append((whole.received, whole.complete)))
        assert (whole.length, whole.document) == (6, 1)
        for piece in (b"abc", b"def"):
            component.data += piece
            component.notify()
            await asyncio.sleep(0.1)
        assert told == [(3, False), (6, False)]
        component.complete = True
        component.notify()
        await asyncio.sleep(0.1)
        assert told[2:] == [(6, True)]
        assert whole.sha256 == hashlib.sha256(b"abcdef").digest()
        assert (whole.failure, whole.file.path.read_bytes()) == ("", b"abcdef")

    run(main())


def test_a_length_that_nobody_announced_is_known_at_the_end(tmp_path: Path) -> None:
    async def main() -> None:
        whole, component = coming(tmp_path)
        assert whole.length is None
        component.data, component.complete = bytearray(b"abc"), True
        component.notify()
        await asyncio.sleep(0.1)
        assert whole.length == 3

    run(main())


def test_what_a_server_says_of_a_missing_file_is_not_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        whole, component = coming(tmp_path, status=404)
        component.data, component.complete = bytearray(b"not found"), True
        component.notify()
        await asyncio.sleep(0.1)
        assert (whole.complete, whole.failure) == (False, "the server answered 404")

    run(main())


def test_a_file_that_stops_short_says_why(tmp_path: Path) -> None:
    async def main() -> None:
        whole, component = coming(tmp_path)
        told: list[str] = []
        whole.watch(lambda: told.append(whole.failure))
        component.data += b"abc"
        component.fail(ComponentFailed(502, "the origin is gone"))
        await asyncio.sleep(0.1)
        assert told[-1] == "the origin is gone"
        assert (whole.received, whole.complete, whole.sha256) == (3, False, b"")

    run(main())


def test_a_file_for_which_there_is_no_room_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        whole, component = coming(tmp_path)
        whole.file.close()
        component.data, component.complete = bytearray(b"abc"), True
        component.notify()
        await asyncio.sleep(0.1)
        assert whole.failure.startswith("it could not be kept: ")

    run(main())


def test_nobody_hears_of_a_file_that_was_closed_or_that_he_left(tmp_path: Path) -> None:
    async def main() -> None:
        whole, component = coming(tmp_path)
        told: list[str] = []
        leave = whole.watch(lambda: told.append("left"))
        whole.watch(lambda: told.append("closed"))
        leave()
        leave()
        component.data += b"abc"
        component.notify()
        await asyncio.sleep(0.1)
        whole.close()
        component.data += b"def"
        component.notify()
        await asyncio.sleep(0.1)
        assert told == ["closed"]
        assert whole.received == 3

    run(main())


# -- the lines -------------------------------------------------------------------------------------

LINES: list[tuple[AnyLine, str]] = [
    (
        Begun(
            *(3, URL, "d.pptx", "/d.pptx", 900, 800, DocumentKind.PPTX),
            *([["a", "b"], []], [MediaLine("m", [1, 2], 4, 3)], ["t"], ["o"]),
        ),
        "begun",
    ),
    (WholeBegun(4, URL, "notes.txt", "/notes.txt"), "whole"),
    (News(7, ["a"], {"m": b"\xff\x00"}, 5, b"\x1e", 2, True), "news"),
    (Ended("00ff"), "ended"),
    (DocumentRefused(504, "no link"), "refused"),
]


@pytest.mark.parametrize(("line", "event"), LINES)
def test_a_line_is_read_as_it_was_written_and_names_its_event(line: AnyLine, event: str) -> None:
    written = encoder.encode(line)
    assert b"\n" not in written
    assert decoder.decode(written) == line
    assert msgspec.json.decode(written)["event"] == event


def test_news_of_nothing_but_bytes_are_short() -> None:
    assert encoder.encode(News(7)) == b'{"event":"news","received":7}'


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b'{"event":"other"}', b'{"event":"news"}', b'{"event":"news","received":""}'],
)
def test_what_is_no_line_is_not_read_as_one(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decoder.decode(line)


def test_requests_with_fields_that_nobody_knows_are_refused() -> None:
    assert msgspec.json.decode(b'{"page":2}', type=FocusRequest) == FocusRequest(2, [])
    for body, kind in (
        (b'{"url":"x","force":1}', OpenRequest),
        (b'{"page":1,"zoom":2}', FocusRequest),
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(body, type=kind)
