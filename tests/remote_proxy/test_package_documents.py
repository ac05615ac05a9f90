"""Tests of what can be known of a document while it comes: sizes, pictures, its digest, a view."""

from __future__ import annotations

import hashlib
import io
import random
import zipfile

import brotli
import pytest

from office.outline import DocumentKind
from office.parts import PicturePart
from office.text_view.records import CONTENT, TextView
from remote_proxy.documents import view
from remote_proxy.documents.view import text_version
from remote_proxy.reach.failures import Failure, OriginError
from tests.office.styled_deck import page_text, styled_deck
from tests.office_files import DECK
from tests.remote_proxy.document_world import gathered
from tests.watched import run

BROKEN = OriginError(Failure.RESET, "the origin broke off")


def damaged(entry: str) -> bytes:
    """The deck, one byte of that entry another."""
    data = bytearray(DECK)
    with zipfile.ZipFile(io.BytesIO(DECK)) as archive:
        info = archive.getinfo(entry)
    data[info.header_offset + 30 + len(entry) + info.compress_size // 2] ^= 1
    return bytes(data)


def test_pictures_that_are_here_are_measured_and_nobody_waits_for_others() -> None:
    async def main() -> None:
        async with gathered(DECK) as document:
            assert {one.width for one in (await document.measured()).media} == {0}
            await document.gathering.everything()
            measured = (await document.measured()).media
            assert all(one.width > 0 and one.height > 0 for one in measured)
            assert [one.entry for one in measured] == [one.entry for one in document.outline.media]

    run(main())


def test_a_picture_is_waited_for_and_a_damaged_one_is_none() -> None:
    async def main() -> None:
        name = ""
        async with gathered(DECK) as document:
            media = document.outline.media[0]
            name = media.entry
            part = PicturePart(media, ((0, 1),), True)
            data = await document.picture(part)
            with zipfile.ZipFile(io.BytesIO(DECK)) as archive:
                assert data == archive.read(name)
        async with gathered(damaged(name)) as document:
            assert await document.picture(part) is None

    run(main())


def test_the_digest_is_of_the_whole_file_or_there_is_none() -> None:
    async def main() -> None:
        async with gathered(DECK) as document:
            assert await document.sha256() == hashlib.sha256(DECK).digest()
        async with gathered(DECK, breaks=BROKEN) as document:
            with pytest.raises(OriginError, match="broke off"):
                await document.sha256()

    run(main())


def test_a_view_is_all_that_can_be_read_its_first_page_first() -> None:
    async def main() -> None:
        async with gathered(styled_deck(60)) as document:
            await document.gathering.everything()
            version = text_version(document)
            assert version is not None
            decoder = brotli.Decompressor()
            first = decoder.process(version.first)
            rest = decoder.process(version.rest())
            assert len(first) + len(rest) == version.size
            pages = len(document.outline.pages)
            seen = TextView(DocumentKind.ODP, pages)
            seen.add(first)
            assert seen.pages == 1
            seen.add(rest)
            seen.end()
            assert page_text(1).split()[-1].encode() in seen.parts()[CONTENT]

    run(main())


def test_a_view_that_does_not_pay_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async def versions() -> list[bool]:
        async with gathered(styled_deck(60)) as document:
            await document.gathering.everything()
            found = [text_version(document) is not None]
            for name, value in (("LEAST", 1 << 30), ("GAIN", 10_000), ("SHARE", 100_000)):
                with monkeypatch.context() as patch:
                    patch.setattr(view, name, value)
                    found.append(text_version(document) is not None)
            return found

    assert run(versions()) == [True, False, False, False]


def test_a_document_of_another_family_has_no_view() -> None:
    async def main() -> None:
        async with gathered(DECK) as document:
            await document.gathering.everything()
            assert text_version(document) is None

    run(main())


def test_a_damaged_text_has_no_view() -> None:
    async def main() -> None:
        data = bytearray(styled_deck(60))
        with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
            info = archive.getinfo(CONTENT)
        async with gathered(bytes(data)) as document:
            at = info.header_offset + 30 + len(CONTENT) + info.compress_size // 2
            data[at : at + 40] = random.Random(1).randbytes(40)
            damaged_one = bytes(data)
            assert document.directory.length == len(damaged_one)
            document.gathering.spool.write(0, damaged_one)
            assert text_version(document) is None

    run(main())
